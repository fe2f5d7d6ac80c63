"""The engine: a pure function from Snapshot to Plan."""
