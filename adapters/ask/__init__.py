"""Asking: what if, how many more, which nodes could go, and why a group waits; all by planning."""
