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


def last_of(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number below ``high`` of which it holds, as it does of ``low`` and below.

    Doubled from below, as it mostly is a small one, then bisected.
    """
    step = 1
    while low + step < high and holds(low + step):
        low, step = low + step, 2 * step
    high = min(high, low + step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
