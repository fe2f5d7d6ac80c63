"""Reach: which types of groups could have a right to anything that runs, in whatever plan."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...models import QueueName
from ...models.queue import ROOT
from ...policies.fairness import missing_of
from ...policies.ledger import Matrix
from ...policies.standing import MEASURES, Measure, StandingTable
from .beyond import Spot
from .claims import Claims
from .queues import Use
from .victims import Candidate
from .work import Shape, Starts, Type


class Reach:
    """Answers for each type, by its number, what it could have a right to."""

    def __init__(
        self,
        table: StandingTable,
        claims: Claims,
        starts: Starts,
        groups: Sequence[Candidate],
        use: Use,
    ) -> None:
        self.table, self._claims, self._use = table, claims, use
        self._tree = table.scene.tree
        self._starts = starts
        self._known: dict[tuple[QueueName, tuple[int, ...], Measure, QueueName], bool] = {}
        self._firsts: dict[int, tuple[int, ...]] = {}
        self._lowest: dict[QueueName, int] = {}
        """The lowest priority of what may leave a leaf."""
        zero = table.scene.ledger.zero()
        self._gone: dict[QueueName, np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = defaultdict(
            lambda: zero
        )
        """What may leave a queue in all."""
        held = table.scene.item_rows([c.able for c in groups])
        for c, row in zip(groups, held, strict=True):
            leaf, p = c.members.group.queue, c.priority
            self._lowest[leaf] = min(self._lowest.get(leaf, p), p)
            for q in self._tree.path(leaf):
                self._gone[q] = self._gone[q] + row
        self.given: Collection[Spot] = claims.spots
        """Where other branches may take something from."""

    def is_rightless(self, number: int) -> bool:
        """Say whether groups of the type have no right to anything, whatever starts and leaves."""
        g = self._starts.types[number].sample.group
        if not g.may_preempt:
            return True
        lowest = self._lowest.get(g.queue)
        if g.queue in self._claims.own and lowest is not None and lowest < g.priority:
            return False
        across = self._claims.across
        return not any(
            self._gives(g.queue, m, above) and self.could(number, m, above)
            for m in MEASURES
            for above in across.get((g.queue, m), ())
        )

    def _gives(self, leaf: QueueName, measure: Measure, above: QueueName) -> bool:
        """Say whether something of another branch could be taken below a common ancestor."""
        path = self._tree.path(leaf)
        branches = self._tree.children.get(above, ())
        return any(b not in path and (b, measure) in self.given for b in branches)

    def could(self, number: int, measure: Measure, above: QueueName) -> bool:
        """Say whether a group could be within the measure where its minimum starts.

        Beside what runs in its queues and can never be evicted.
        """
        first, queue = self._least(number), self._starts.types[number].sample.group.queue
        memo = (queue, first, measure, above)
        if memo not in self._known:
            path = (*self._tree.path(queue), ROOT)
            floors = self.table.floors[measure]
            self._known[memo] = all(
                first[r] <= floors[q][r] - int(self._use[q][r] - self._gone[q][r])
                for q in path[: path.index(above)]
                for r in self.table.columns
                if first[r]
            )
        return self._known[memo]

    def _least(self, number: int) -> tuple[int, ...]:
        """Return what a group of the type asks for at least where it starts anything."""
        if number not in self._firsts:
            t = self._starts.types[number]
            rows = [(self._starts.shapes[s].row.tolist(), n) for s, n in t.pods]
            need = max(1, missing_of(t.sample))
            if len(rows) == 1:
                self._firsts[number] = tuple(v * need for v in rows[0][0])
            else:
                columns = range(len(self.table.scene.ledger.resources))
                each = [sorted(v for row, n in rows for v in [row[r]] * n) for r in columns]
                self._firsts[number] = tuple(sum(values[:need]) for values in each)
        return self._firsts[number]


def most_started(starts: Starts, reach: Reach, free: Sequence[int]) -> dict[QueueName, Matrix]:
    """Return what could start in each queue, at most.

    ``free``: by shape, for how many pods there is free room.
    """
    scene = reach.table.scene
    out: dict[QueueName, Matrix] = {}
    for number, t in enumerate(starts.types):
        if lacks_places(t, number, reach, free):
            continue
        rows = [t.count * n * starts.shapes[s].row for s, n in t.pods]
        for q in scene.tree.path(t.sample.group.queue):
            out[q] = sum(rows, out.get(q, scene.ledger.zero()))
    return out


def lacks_places(t: Type, number: int, reach: Reach, free: Sequence[int]) -> bool:
    """Say whether a group can never start: it has no right, and free room is not enough."""
    able = sum(min(n, free[s]) for s, n in t.pods)
    return able < max(1, missing_of(t.sample)) and reach.is_rightless(number)


def told_apart(starts: Starts, reach: Reach) -> Starts:
    """Tell shapes of rightless groups from those of others: they stand in free room alone."""
    alone = [reach.is_rightless(n) for n in range(len(starts.types))]
    if not any(alone):
        return starts
    flags = np.array(alone, dtype=np.bool_)[starts.type]
    numbers: dict[tuple[int, bool], int] = {}
    shapes: list[Shape] = []
    of_entry = np.zeros(len(starts.shape), dtype=np.int64)
    for n, key in enumerate(zip(starts.shape.tolist(), flags.tolist(), strict=True)):
        if key not in numbers:
            numbers[key] = len(shapes)
            shapes.append(replace(starts.shapes[key[0]], is_rightless=key[1]))
        of_entry[n] = numbers[key]
    types = [_renamed(t, a, numbers) for t, a in zip(starts.types, alone, strict=True)]
    return replace(starts, shapes=shapes, types=types, shape=of_entry)


def _renamed(t: Type, alone: bool, numbers: Mapping[tuple[int, bool], int]) -> Type:
    # What cannot start at all has no columns, and so no shapes.
    pods = tuple((numbers[s, alone], n) for s, n in t.pods if (s, alone) in numbers)
    return replace(t, pods=pods)
