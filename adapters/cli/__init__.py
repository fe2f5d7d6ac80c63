"""The terminal: commands, the readable page, exit codes."""
