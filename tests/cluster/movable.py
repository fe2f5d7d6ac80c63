"""Run the scheduler by a wall clock that a test can move: `python movable.py FILE run ...`.

FILE says by how many seconds the clock is ahead; no file: by none. As on a real machine, the
clock that never goes back does not move with it.
"""

import sys
import time
from pathlib import Path

_REAL = time.time


def move(file: Path, ahead_s: float) -> None:
    """Set the clock, for whoever runs by this file; it is never seen half written."""
    new = file.with_suffix(".new")
    new.write_text(repr(ahead_s))
    new.replace(file)


def main() -> None:
    """Become the command, with another clock."""
    file = Path(sys.argv.pop(1))

    def moved() -> float:
        return _REAL() + (float(file.read_text()) if file.exists() else 0.0)

    time.time = moved
    # Only now: defaults of arguments keep the clock that they find.
    from apportion.adapters.cli.app import main as apportion

    apportion()


if __name__ == "__main__":
    main()
