"""Sets of NUMA cells as bit masks, and amounts by cell."""

from functools import lru_cache
from itertools import combinations

Mask = int
Vector = tuple[int, ...]
"""Amounts in the order of the node's aligned resources."""
Free = tuple[Vector, ...]
"""Amounts by cell, in the order of the cells' numbers."""
MOST_CELLS = 8
"""The kubelet takes no more cells under a policy; beyond, only single cells are looked at."""


@lru_cache(maxsize=1024)
def masks(cells: int, size: int) -> tuple[Mask, ...]:
    """Return all sets of so many cells, lowest number first."""
    if size > 1 and cells > MOST_CELLS:
        return ()
    return tuple(sorted(sum(1 << i for i in c) for c in combinations(range(cells), size)))


@lru_cache(maxsize=4096)
def bits(mask: Mask) -> tuple[int, ...]:
    """Return the cells of a set, by position."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def turn(mask: Mask) -> tuple[int, int, int]:
    """Return when pods that are meant for the set are to be started: see docs/design/numa.md."""
    return mask.bit_length(), mask.bit_count(), mask


def touches(one: Mask, other: Mask) -> bool:
    """Say whether a pod meant for one set may take of the other before the other's pods do."""
    lowest = (other & -other).bit_length()
    return turn(one) <= turn(other) and one.bit_length() >= lowest


def fits(asked: Vector, there: Vector) -> bool:
    """Say whether what is asked for is there; what is not asked for may be overdrawn."""
    return all(a <= t for a, t in zip(asked, there, strict=True) if a)


def within(amounts: Free, mask: Mask) -> Vector:
    """Return what the cells of the set have in all."""
    return total([amounts[i] for i in bits(mask)])


def total(vectors: list[Vector] | Free) -> Vector:
    return tuple(map(sum, zip(*vectors, strict=True)))


def less(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def more(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))
