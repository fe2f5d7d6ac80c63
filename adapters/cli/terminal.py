"""The terminal: a console that is calm when piped, and a progress line that comes late."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPED_WIDTH = 100
PATIENCE_S = 2.0
"""How long a plan may take before a progress line shows."""
_STEP_S = 0.5


def console() -> "Console":
    """Return a console on standard output; without colours, and of a fixed width, when piped."""
    from rich.console import Console

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, emoji=False, soft_wrap=False)


def print_all(parts: "Iterable[RenderableType]") -> None:
    """Print the parts of a page on standard output, without spaces at the ends of lines."""
    out = console()
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    lines = captured.get().splitlines()
    sys.stdout.write("\n".join(line.rstrip() for line in lines) + "\n")


class Progress:
    """One line on standard error that says what is being done, once it has taken a while."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._done = threading.Event()

    def run(self) -> None:
        started = time.monotonic()
        if self._done.wait(PATIENCE_S):
            return
        while True:
            spent = time.monotonic() - started
            print(f"\r\x1b[K{self.what} … {spent:.0f} s", end="", file=sys.stderr, flush=True)
            if self._done.wait(_STEP_S):
                break
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        self._done.set()


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show a progress line while the block runs, if standard error is a terminal."""
    line = Progress(what)
    if not sys.stderr.isatty():
        yield line
        return
    thread = threading.Thread(target=line.run, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        line.stop()
        thread.join()
