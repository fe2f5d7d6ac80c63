"""Programs for tests that look for some on the machine."""

from pathlib import Path


def executable(path: Path, text: str) -> Path:
    """Write a program of the shell's and return where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
