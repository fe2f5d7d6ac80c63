"""What a kubelet makes of requests that come to its cells: one pod alone, or several in turn.

How the kubelet shares a request out over several cells is its own affair: what is said here holds
however it does so. Of several pods each is meant for a set of cells and they are started in order
of :func:`.numa_masks.turn`; the kubelet may take a lower set than was meant, never a higher one, so
that a set is touched by those alone that are counted here. See docs/design/numa.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .numa_layout import Asks, Layout
from .numa_masks import Free, Mask, Vector, bits, fits, less, total, within

STEPS = 20_000
"""So many tries at packing; beyond, the answer is the safe one: no."""
MOST_SPLITS = 500
"""So many ways to share one request out over several cells are gone through."""
UNIT = 1000
"""A whole CPU or device, in canonical units."""


class Way(NamedTuple):
    """What is free of each cell, and of which set of cells its memory is in use (0: of none)."""

    free: Free
    groups: tuple[Mask, ...]


def admits_alone(layout: Layout, parts: Sequence[Vector], way: Way) -> bool:
    """Say whether the kubelet admits all the parts of a pod, one after the other."""
    if not parts:
        return True
    part, rest = parts[0], parts[1:]
    memory = layout.asks_memory(part)
    for m in layout.choices(part):
        if not fits(part, within(way.free, m)):
            continue
        if memory and any(way.groups[i] not in (0, m) for i in bits(m)):
            continue  # memory of a set of cells is in use by that set alone
        if not rest:
            return True
        groups = tuple(m if memory and m >> i & 1 else g for i, g in enumerate(way.groups))
        left = []
        for free in splits(layout, part, way.free, bits(m)):
            left.append(free)
            if len(left) > MOST_SPLITS:
                return False
        return all(admits_alone(layout, rest, Way(free, groups)) for free in left)
    return False


def admits_after(layout: Layout, first: Vector, whole: Vector, way: Way) -> bool:
    """Say whether a pod whose init container starts first is admitted with all of it.

    The init container gets the lowest cell that it fits, and what it held there is used again: the
    others have to fit the same. Several cells for one request are not looked at: no.
    """
    if layout.width(first) != 1 or layout.width(whole) != 1:
        return False
    memory, later = layout.asks_memory(first), layout.asks_memory(whole)
    for m in layout.choices(first):
        shared = any(way.groups[i] not in (0, m) for i in bits(m))
        if fits(first, within(way.free, m)) and not (memory and shared):
            return fits(whole, within(way.free, m)) and not (later and shared)
    return False


def splits(layout: Layout, part: Vector, free: Free, cells: Sequence[int]) -> Iterator[Free]:
    """Yield what is left of each cell for every way to share the part out, in whole units.

    Of memory one way is enough: only requests for the same cells may follow there, and for them
    the sum counts.
    """
    if len(cells) == 1:
        yield tuple(less(v, part) if i == cells[0] else v for i, v in enumerate(free))
        return
    left = [list(v) for v in free]
    units = [0] * len(part)
    for k, asked in enumerate(part):
        if layout.memory[k]:
            for i in cells:
                taken = min(asked, left[i][k])
                left[i][k] -= taken
                asked -= taken
        else:
            units[k] = asked // UNIT
    for shares in _shares(units, [[a // UNIT for a in free[i]] for i in cells]):
        after = [tuple(v) for v in left]
        for i, share in zip(cells, shares, strict=True):
            after[i] = less(after[i], tuple(UNIT * s for s in share))
        yield tuple(after)


def _shares(asked: list[int], free: list[list[int]]) -> Iterator[list[list[int]]]:
    """Yield by cell what it gives of each resource."""
    if len(free) == 1:
        yield [asked]
        return
    for first in _vectors(asked, free[0]):
        rest = [a - f for a, f in zip(asked, first, strict=True)]
        if all(r <= sum(f[k] for f in free[1:]) for k, r in enumerate(rest)):
            for others in _shares(rest, free[1:]):
                yield [first, *others]


def _vectors(asked: list[int], most: list[int]) -> Iterator[list[int]]:
    if not asked:
        yield []
        return
    for n in range(max(0, min(asked[0], most[0])) + 1):
        for rest in _vectors(asked[1:], most[1:]):
            yield [n, *rest]


class Packing:
    """Pods meant for sets of cells, so that each finds its set free enough in its turn."""

    def __init__(self, layout: Layout, free: Free) -> None:
        self.layout = layout
        self.free = free
        self.placed: list[tuple[Mask, Vector]] = []

    def takes(self, mask: Mask, asked: Vector) -> bool:
        """Say whether one more pod can be meant for the set."""
        placed = [*self.placed, (mask, asked)]
        wide = {m for m, _ in placed if m.bit_count() > 1}
        return all(
            fits(self._used(m, placed), within(self.free, m))
            for m in {mask, *wide}
            if self.layout.touches(mask, m)
        )

    def _used(self, mask: Mask, placed: Sequence[tuple[Mask, Vector]]) -> Vector:
        return total([v for m, v in placed if self.layout.touches(m, mask)])


def pack(
    layout: Layout, kinds: Sequence[tuple[Asks, Sequence[Mask], int]], free: Free
) -> Mapping[Asks, list[Mask]] | None:
    """Find a set of cells for every pod, kind by kind (asks, sets, number); None if there is none.

    Large requests first; equal pods in one order only.
    """
    jobs = [
        (asks, sets)
        for asks, sets, n in sorted(kinds, key=lambda k: (len(k[1]), [-a for a in k[0].total]))
        for _ in range(n)
    ]
    packing = Packing(layout, free)
    chosen: list[int] = []
    left = STEPS

    def go(j: int) -> bool:
        nonlocal left
        if j == len(jobs):
            return True
        asks, sets = jobs[j]
        first = chosen[-1] if j and jobs[j - 1][0] == asks else 0
        for i in range(first, len(sets)):
            left -= 1
            if left < 0:
                return False
            if not packing.takes(sets[i], asks.total):
                continue
            packing.placed.append((sets[i], asks.total))
            chosen.append(i)
            if go(j + 1):
                return True
            packing.placed.pop()
            chosen.pop()
        return False

    if not go(0):
        return None
    out: dict[Asks, list[Mask]] = {}
    for (asks, sets), i in zip(jobs, chosen, strict=True):
        out.setdefault(asks, []).append(sets[i])
    return out
