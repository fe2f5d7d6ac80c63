"""The smallest number with which a group starts: from a guess on, borne out by whole plans."""

from collections.abc import Callable, Iterator, Sequence
from math import isqrt
from typing import Protocol

from ...models.edits import Edit
from .fewest import last_of

Edits = Callable[[int], Sequence[Edit]]
"""The changes of each number; more of them is taken to help where less does."""


class Judge(Protocol):
    """Whoever says what edits lead to, from a guess to a whole plan; a trial."""

    @property
    def is_over(self) -> bool: ...
    def could(self, edits: Sequence[Edit]) -> bool: ...
    def has_room(self, edits: Sequence[Edit]) -> bool: ...
    def likely(self, edits: Sequence[Edit]) -> bool: ...
    def starts(self, edits: Sequence[Edit]) -> bool: ...


def number_that_does(trial: Judge, edits: Edits, most: int) -> int:
    """Return a small number with which the group starts; 0 where none was found.

    First what is likely is looked for, then what is so: upwards from there, by whole plans.
    """
    low, high = _guessed(trial, edits, most)
    if not high:
        return 0
    low, high = _upwards(trial, trial.likely, edits, low, high, most)
    high = _downwards(trial, trial.likely, edits, low, high)
    low, high = _upwards(trial, trial.starts, edits, high - 1, high, most)
    return _downwards(trial, trial.starts, edits, low, high)


def numbers_that_do(trial: Judge, edits: Edits, most: int, able: bool = False) -> Iterator[int]:
    """Yield numbers with which the group starts, each smaller than the one before.

    For where a plan takes long: the first is the one that surely does if any, and each is known as
    soon as it is yielded. The last is the smallest, if there was time. ``able``: it could run as
    things are, if it came first.
    """

    def does(n: int) -> bool:
        return trial.likely(edits(n)) and trial.starts(edits(n))

    if most < 1 or not (able or trial.could(edits(most))):
        return
    low = 0 if able else last_of(lambda n: not trial.could(edits(n)), 0, most)
    # What could not run with less has its room with just that, unless others come before it.
    high = next((n for n in dict.fromkeys((low + 1, most) if low else (most,)) if does(n)), 0)
    if not high:
        return
    yield high
    low += bool(low) and high > low + 1
    while high - low > 1:
        # Small numbers are as likely as large ones, so it is their size that is halved.
        middle = max(low + 1, isqrt(low * high))
        if does(middle):
            high = middle
            yield high
        elif trial.is_over:
            return
        else:
            low = middle


def _upwards(
    trial: Judge, does: Callable[[Sequence[Edit]], bool], edits: Edits, low: int, high: int,
    most: int,
) -> tuple[int, int]:  # fmt: skip
    """Return the last number tried that does not do, and one that does; 0 and 0 for none."""
    step = 1
    while high and not does(edits(high)):
        if high >= most or trial.is_over:
            return 0, 0
        low, high, step = high, min(most, high + step), 2 * step
    return low, high


def _downwards(
    trial: Judge, does: Callable[[Sequence[Edit]], bool], edits: Edits, low: int, high: int
) -> int:
    """Return the smallest number above ``low`` that does, as ``high`` does."""
    middle = high - 1  # mostly the guess is right
    while high - low > 1 and not trial.is_over:
        low, high = (low, middle) if does(edits(middle)) else (middle, high)
        middle = (low + high) // 2
    return high


def _guessed(trial: Judge, edits: Edits, most: int) -> tuple[int, int]:
    """Return a number that does not do, and the next that may; 0 and 0 where none does."""
    if most < 1 or not trial.could(edits(most)):
        return 0, 0
    low = last_of(lambda n: not trial.could(edits(n)), 0, most)
    if low:
        return low, low + 1
    room = last_of(lambda n: not trial.has_room(edits(n)), 0, most)
    return 0, min(most, room + 1)
