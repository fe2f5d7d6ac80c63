"""Cutting: the ways in which a device can be cut into the parts that are asked for."""

from collections.abc import Sequence
from functools import lru_cache

Pattern = tuple[int, ...]
"""How many parts of each size."""
MOST = 4_000
"""Patterns looked at for one device."""


@lru_cache(maxsize=256)
def patterns(room: int, sizes: tuple[int, ...], limits: tuple[int, ...]) -> tuple[Pattern, ...]:
    """Return the largest ways to cut: no further part of any size fits (sizes come descending).

    Beyond so many patterns the rest is left out; the fullest come first.
    """
    out: list[Pattern] = []
    now = [0] * len(sizes)

    def go(i: int, left: int) -> None:
        if len(out) >= MOST:
            return
        if i == len(sizes):
            more = any(
                s <= left and n < most for s, n, most in zip(sizes, now, limits, strict=True)
            )
            if not more and any(now):
                out.append(tuple(now))
            return
        for n in range(min(left // sizes[i], limits[i]), -1, -1):
            now[i] = n
            go(i + 1, left - n * sizes[i])
        now[i] = 0

    go(0, room)
    return tuple(sorted(out, key=lambda p: (room - filled(p, sizes), sum(p), p)))


def filled(pattern: Pattern, sizes: Sequence[int]) -> int:
    """Return how much of the device the parts take."""
    return sum(n * s for n, s in zip(pattern, sizes, strict=True))
