"""The heap of one cycle: the garbage collector looks at it less often, and not at what was before.

A cycle makes many small values and few cycles of them; a large snapshot would be walked over and
over again to find nothing. What other threads make meanwhile is looked at less often as well.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

THRESHOLDS = (1_000_000, 20, 20)
"""After so many new objects the youngest are looked at; the older after as many times that. A cycle
of 5,000 nodes makes 700,000 that last, and of garbage nearly none that only a collector finds."""


@contextmanager
def one_cycle() -> Iterator[None]:
    """Leave what exists alone until the end, and look for garbage less often."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    # Where somebody has frozen what lives long, that stays so: what is garbage by now, and has not
    # been found, would never be found any more.
    if not frozen:
        gc.freeze()
    if before[0]:  # 0: somebody has turned it off
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()


class Forgetful(Protocol):
    """What keeps much that follows from it, and knows it."""

    def forget(self) -> None:
        """Let go what was found out; who asks again has it found out again."""
        ...


@contextmanager
def let_go(thing: Forgetful | None) -> Iterator[None]:
    """Let something forget what was found out, at the end: hardly anybody asks for it any more.

    Without these rings the values of a cycle go as soon as nobody has them, and no collector has to
    walk through all of them for it.
    """
    try:
        yield
    finally:
        if thing is not None:
            thing.forget()
