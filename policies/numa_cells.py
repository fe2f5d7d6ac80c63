"""The cells of one node: what is free of them for certain, and whom a kubelet would admit there.

Where a running pod lies is often not known. The ways in which the pods that run may lie follow from
what they ask for and from what the node agent reported as free, as far as the two agree. What is
free of a cell in all of these ways is certain (``floor``).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..models import Pod, PodKey, PodSpec, PodState
from .numa_kubelet import Way, admits_after, admits_alone, pack
from .numa_layout import Asks, Layout
from .numa_masks import Free, Mask, Vector, fits, less, masks, more, total, turn, within

MOST_WAYS = 2_000
"""Beyond so many ways only sums are looked at."""
STEPS = 20_000
"""So many tries at finding them."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A pod that holds something of the node's cells."""

    key: PodKey
    asks: Asks
    held: Free | None
    """What it holds of each cell; None: not known."""


class NodeCells:
    """A node with cells and the pods that hold something of them."""

    def __init__(self, layout: Layout, pods: Iterable[Pod]) -> None:
        self.layout = layout
        self.size = layout.size
        residents = []
        ending = []
        promised = []
        coming = layout.nothing
        for p in pods:
            if p.state is PodState.PENDING:
                promised.append(p.key)
                coming = more(coming, total([layout.nothing, *layout.asks(p.spec).parts]))
                continue
            asks = layout.asks(p.spec)
            if asks.parts:
                residents.append(Resident(p.key, asks, self._held(p, asks)))
                if p.state is PodState.TERMINATING:
                    ending.append(p.key)
        self.residents = tuple(residents)
        self.everybody = frozenset(r.key for r in residents)
        self.ending = frozenset(ending)
        """Those that leave in any case."""
        self.promised = frozenset(promised)
        """Those that another scheduler has promised a place here; they may come to lie anywhere."""
        self._coming = coming
        self._answers: dict[object, bool] = {}

    # Where the pods that run lie

    def _held(self, pod: Pod, asks: Asks) -> Free | None:
        """Return what the pod is said to hold of each cell, if that is all of it."""
        shares = self.layout.held(pod)
        if self.size == 1 or len(shares) == 1:
            return self._at(next(iter(shares), 0), asks.total)
        held = tuple(shares.get(i, self.layout.nothing) for i in range(self.size))
        return held if shares and total(held) == asks.total else None

    def _at(self, cell: int, asked: Vector) -> Free:
        return tuple(asked if i == cell else self.layout.nothing for i in range(self.size))

    @cached_property
    def reported(self) -> Free | None:
        """What was reported as free, if that is just what the pods that run leave; else None."""
        free = self.layout.reported
        if free is None:
            return None
        used = total((self.layout.nothing, *(r.asks.total for r in self.residents)))
        there = total(self.layout.cells)
        return free if total(free) == less(there, used) else None

    @cached_property
    def _laid(self) -> tuple[tuple[Way, ...], dict[PodKey, Free]]:
        """Return all ways (none: they cannot be listed), and what is the same in all of them."""
        known = {r.key: r.held for r in self.residents if r.held is not None}
        unknown = [r for r in self.residents if r.held is None]
        if any(self.layout.width(p) != 1 for r in unknown for p in r.asks.parts):
            return (), known
        unknown.sort(key=lambda r: r.asks.parts)
        ways: dict[Way, None] = {}
        spots: dict[Asks, set[int]] = {}
        self._steps = STEPS
        for where, way in self._lays(unknown, self._without(known.values())):
            if len(ways) > MOST_WAYS:
                return (), known
            if self.reported in (None, way.free):
                ways[way] = None
                for r, cells in zip(unknown, where, strict=True):
                    spots.setdefault(r.asks, set()).update(cells)
        if self._steps < 0:
            return (), known
        for r in unknown:
            if len(spots.get(r.asks, ())) == 1:
                known[r.key] = self._at(next(iter(spots[r.asks])), r.asks.total)
        return tuple(ways), known

    def _without(self, held: Iterable[Free]) -> Way:
        """Return the cells with these taken out."""
        free, groups = self.layout.cells, (0,) * self.size
        for h in held:
            used = sum(1 << i for i, v in enumerate(h) if self.layout.asks_memory(v))
            free = tuple(map(less, free, h))
            groups = tuple(g | used if used >> i & 1 else g for i, g in enumerate(groups))
        return Way(free, groups)

    def _lays(
        self, pods: Sequence[Resident], way: Way, last: int = 0
    ) -> Iterator[tuple[list[tuple[int, ...]], Way]]:
        """Yield cells of the parts of each pod; equal pods of one part in one order only."""
        if not pods:
            yield [], way
            return
        pod, rest = pods[0], pods[1:]
        again = bool(rest) and rest[0].asks == pod.asks and len(pod.asks.parts) == 1
        for spots, after in self._parts(pod.asks.parts, way, last):
            for others, end in self._lays(rest, after, spots[0] if again else 0):
                yield [spots, *others], end

    def _parts(
        self, parts: Sequence[Vector], way: Way, first: int
    ) -> Iterator[tuple[tuple[int, ...], Way]]:
        if not parts:
            yield (), way
            return
        part = parts[0]
        memory = self.layout.asks_memory(part)
        for i in range(first, self.size):
            self._steps -= 1
            if self._steps >= 0 and fits(part, way.free[i]):
                free = tuple(less(v, part) if j == i else v for j, v in enumerate(way.free))
                groups = tuple(
                    g | 1 << i if j == i and memory else g for j, g in enumerate(way.groups)
                )
                for spots, after in self._parts(parts[1:], Way(free, groups), 0):
                    yield (i, *spots), after

    # What is free for certain

    def settled(self, key: PodKey) -> Free | None:
        """Return what a pod that runs holds of each cell; None: that is not certain."""
        return self._laid[1].get(key)

    @cached_property
    def uncertain(self) -> frozenset[PodKey]:
        """Pods of which it is not certain where they lie."""
        return self.everybody - self._laid[1].keys()

    @cached_property
    def floor_now(self) -> Free:
        """What is free of each cell for certain while everybody stays."""
        ways, known = self._laid
        if ways:
            free: Free = tuple(
                tuple(map(min, zip(*(w.free[i] for w in ways), strict=True)))
                for i in range(self.size)
            )
        elif self.reported is not None:
            free = self.reported
        else:
            doubtful = [r.asks.total for r in self.residents if r.key in self.uncertain]
            used = total([self.layout.nothing, *doubtful])
            free = tuple(less(v, used) for v in self._without(known.values()).free)
        return tuple(less(v, self._coming) for v in free)

    @cached_property
    def floor_cleared(self) -> Free:
        """What is free of each cell once all those have left of which it is not certain."""
        free = self._without(self._laid[1].values()).free
        return tuple(less(v, self._coming) for v in free)

    def floor(self, gone: frozenset[PodKey]) -> Free:
        """Return what is free of each cell for certain once these have left."""
        free = self.floor_now
        if self.uncertain <= gone:
            free = tuple(
                tuple(map(max, a, b)) for a, b in zip(free, self.floor_cleared, strict=True)
            )
        for key in gone:
            held = self.settled(key)
            if held is not None:
                free = tuple(map(more, free, held))
        return free

    # Whom a kubelet would admit

    def asks(self, spec: PodSpec) -> Asks:
        return self.layout.asks(spec)

    def sets(self, asks: Asks) -> tuple[Mask, ...]:
        """Return the sets of cells that may be meant for a pod beside others, all parts in one."""
        sizes = {self.layout.width(p) for p in asks.parts}
        if not asks.foreseeable or len(sizes) != 1 or 0 in sizes:
            return ()
        size = sizes.pop()
        memory = self.layout.asks_memory(asks.total)
        if memory and size > 1:
            return ()  # cells that share memory take no other's: such a pod starts alone or not
        held = self.layout.cells
        return tuple(
            m
            for m in masks(self.size, size)
            if fits(asks.total, within(held, m)) and not (memory and m & self._shared)
        )

    @cached_property
    def _shared(self) -> Mask:
        """Cells whose memory is, or may be, in use by pods that hold more than one cell."""
        known = self._laid[1]
        for r in self.residents:
            wide = any(self.layout.width(p) != 1 for p in r.asks.parts)
            if r.key not in known and wide and self.layout.asks_memory(r.asks.total):
                return (1 << self.size) - 1
        groups = self._without(known.values()).groups
        return sum(1 << i for i, g in enumerate(groups) if g & ~(1 << i))

    def alone(self, asks: Asks, gone: frozenset[PodKey]) -> bool:
        """Say whether the kubelet admits the pod, however others lie, if no other one comes."""
        if not (asks.foreseeable or asks.first) or any(self._coming) or self.layout.chosen:
            return False
        if gone == self.everybody:
            return self._admits(asks, self._without(()))
        ways = self._laid[0]
        if gone & self.uncertain or not ways:
            return False
        for way in ways:
            free = way.free
            for key in gone:
                free = tuple(map(more, free, self.settled(key) or ()))
            if not self._admits(asks, Way(free, way.groups)):
                return False
        return True

    def _admits(self, asks: Asks, way: Way) -> bool:
        if asks.first:
            return admits_after(self.layout, asks.first, asks.total, way)
        return admits_alone(self.layout, asks.parts, way)

    def admits_one(self, spec: PodSpec) -> bool:
        """Say whether a kubelet admits this one pod while everybody stays."""
        key = self.asks(spec)
        if key not in self._answers:
            self._answers[key] = self.admits([spec])
        return self._answers[key]

    def admits(self, specs: Iterable[PodSpec], leaving: Collection[PodKey] = ()) -> bool:
        """Say whether a kubelet admits all these pods in some order, once others have left."""
        asked = Counter(a for s in specs if (a := self.asks(s)).parts)
        if not asked:
            return True
        gone = self.everybody.intersection(leaving)
        key = (gone, frozenset(asked.items()))
        if key not in self._answers:
            self._answers[key] = self._lonely(asked, gone) or self.meant(asked, gone) is not None
        return self._answers[key]

    def _lonely(self, asked: Counter[Asks], gone: frozenset[PodKey]) -> bool:
        """Say whether there is but one, at a time when nobody is evicted, or everybody has left."""
        whole = gone in (frozenset(), self.ending, self.everybody)
        return whole and asked.total() == 1 and self.alone(next(iter(asked)), gone)

    def order(self, specs: Sequence[PodSpec]) -> list[int]:
        """Return which turn each of these pods has, so that a kubelet admits them all."""
        meant = self.sets_for(specs)
        if meant is None:
            return [0] * len(specs)
        out = [0] * len(specs)
        for place, n in enumerate(sorted(range(len(specs)), key=lambda n: turn(meant[n]))):
            out[n] = place
        return out

    def sets_for(
        self, specs: Sequence[PodSpec], leaving: Collection[PodKey] = ()
    ) -> list[Mask] | None:
        """Return the set of cells that each of these pods is meant for; 0: it asks for none."""
        asks = [self.asks(s) for s in specs]
        gone = self.everybody.intersection(leaving)
        meant = self.meant(Counter(a for a in asks if a.parts), gone)
        if meant is None:
            return None
        left = {a: sorted(ms, key=turn) for a, ms in meant.items()}
        return [left[a].pop(0) if a.parts else 0 for a in asks]

    def meant(self, asked: Counter[Asks], gone: frozenset[PodKey]) -> dict[Asks, list[Mask]] | None:
        """Return sets of cells for all these pods, so that a kubelet admits them in their turn."""
        kinds = [(a, self.sets(a), n) for a, n in asked.items()]
        if not all(sets for _, sets, _ in kinds):
            return None
        found = pack(self.layout, kinds, self.floor(gone))
        return None if found is None else dict(found)
