"""A plan as one self-contained HTML page: no script, no network, pictures with their tables."""
