"""Beside: an answer worked out in a copy of this process, on another core, while this one goes on.

Python's threads take turns; a forked copy has all that is known already, and only its answer, a
plain value, has to come back. Where there is no copy, or it does not answer, the work is done here.
"""

import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Self, TypeVar

T = TypeVar("T")

CORES = 2
"""From so many cores on there is one for the copy."""
PATIENCE, AT_LEAST_S = 3.0, 1.0
"""So many times as long as the copy has run when its answer is asked for, it is waited for; and
so many seconds at least. The work is not waited for longer than it would take here."""


class Beside(Generic[T]):
    """Work under way in a copy of this process; its answer is asked for once."""

    def __init__(self, work: Callable[[], T], apart: bool = True) -> None:
        """``apart``: the work is worth a copy; else it is done when somebody asks."""
        self._work = work
        self._began_s = time.monotonic()
        self.pid, self._from = 0, -1
        """The copy, 0 if there is none; and where its answer comes from."""
        if apart and _has_a_core():
            with suppress(OSError):  # no room for a copy: the work is done here
                self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _begin(self) -> None:
        self._from, to = os.pipe()
        try:
            with warnings.catch_warnings():
                # Other threads are not copied, and nothing in the work waits for any of them.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError:
            os.close(self._from)
            os.close(to)
            raise
        if self.pid == 0:
            _answer(self._work, to)
        os.close(to)

    def answer(self) -> T:
        """Return what the work comes to, waiting for the copy or doing it here."""
        data = self._read() if self.pid else b""
        self.end()
        if data:
            # An answer that was cut off is none.
            with suppress(EOFError, pickle.UnpicklingError):
                value: T = pickle.loads(data)
                return value
        return self._work()

    def _read(self) -> bytes:
        ran_s = time.monotonic() - self._began_s
        until_s = time.monotonic() + max(AT_LEAST_S, PATIENCE * ran_s)
        parts: list[bytes] = []
        while (left_s := until_s - time.monotonic()) > 0:
            ready, _, _ = select.select([self._from], [], [], left_s)
            if ready:
                part = os.read(self._from, 1 << 16)
                if not part:
                    return b"".join(parts)
                parts.append(part)
        return b""

    def end(self) -> None:
        """End the copy, if there is one; nobody wants its answer."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            os.close(self._from)
            self.pid = 0


def _has_a_core() -> bool:
    return hasattr(os, "fork") and len(os.sched_getaffinity(0)) >= CORES


def _answer(work: Callable[[], object], to: int) -> None:
    """Write the answer and end, whatever happens; of the copy nothing else may be seen."""
    code = 1
    try:
        # A signal to this copy is no news to the event loop of the process that it comes from.
        signal.set_wakeup_fd(-1)
        with os.fdopen(to, "wb") as out:
            out.write(pickle.dumps(work(), protocol=pickle.HIGHEST_PROTOCOL))
        code = 0
    finally:
        os._exit(code)
