"""Wait for what another process does: ask again until a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.02
DEADLINE_S = 90.0
"""What takes a second takes so long at most on a machine that is busy with other things."""


class PlaneError(RuntimeError):
    """The control plane does not do what it should; the message has the end of a log."""


def until(ask: Callable[[], T | None], what: str, deadline_s: float = DEADLINE_S) -> T:
    """Ask until the answer is true, and return it; the error says what did not come."""
    end = time.monotonic() + deadline_s
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise PlaneError(f"not within {deadline_s:g} s: {what}; last answer: {answer!r:.500}")
        time.sleep(PAUSE_S)


def stays(holds: Callable[[], bool], what: str, for_s: float) -> None:
    """Watch that something stays true for a time; the error says what did not."""
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        if not holds():
            raise PlaneError(f"did not last {for_s:g} s: {what}")
        time.sleep(PAUSE_S)
