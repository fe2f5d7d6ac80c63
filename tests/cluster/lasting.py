"""A command that lasts until Ctrl-C, in a folder of its own, which is gone with it."""

import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cluster.build import build
from cluster.installing import ROOT
from cluster.toolchain import BuildError
from cluster.waiting import PlaneError

FOLDER = ROOT / "build" / "cluster"


def until_interrupted(prefix: str, run: Callable[[Path], None]) -> int:
    """Build what is missing, run it, and return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        build()
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=FOLDER) as folder:
            run(Path(folder))
    except (BuildError, PlaneError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nthe cluster is gone")
    return 0
