"""The page for a browser, served on this machine alone, with search and questions."""
