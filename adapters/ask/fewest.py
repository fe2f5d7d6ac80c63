"""The fewest things that suffice: halves are left out before quarters, and so on."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(pool: Sequence[T], suffices: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a part of the pool of which nothing can be left out, one thing at a time.

    The last things are left out first. The whole pool has to suffice. Asks about 2·k·log(n / k)
    times, k of n being left.
    """
    kept = list(pool)
    chunk = len(kept)
    while chunk:
        end = len(kept)
        while end > 0:
            start = max(0, end - chunk)
            fewer = [*kept[:start], *kept[end:]]
            if suffices(fewer):
                kept = fewer
            end = start
        chunk //= 2
    return kept
