"""Returning victims: how many evicted pods are in again at least, whoever goes.

An evicted pod is out at its leaf only where what stays before it exceeds the entitlement with it.
Let v be the first that is out. What stays in all is the use U less what is evicted, more what
starts; what stays behind v does not come before it. So of pods behind v no more may stay than

    U − evicted + started + size(v) − e − 1,

that is: evicted elsewhere than in the tail from v on are no more than U + started + size − e − 1
less the tail itself. The longer the tail, the harder that is; the longest for which it is not
proven impossible is found by halving. Whoever goes and is not in it comes back.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from ...models import QueueName
from ...policies.items import leaf_key, resting_items
from ...policies.members import Standing
from ...policies.prefixes import turns_decide
from .branching import Branching
from .ground import Ground
from .leaving import Leaving
from .program import Index, Program, Real
from .solving import Solver


@dataclass(frozen=True)
class Tail:
    """The single pods of a leaf that may go, the last in its order first."""

    queue: QueueName
    resource: int
    """The only one in which anything there could be out."""
    pods: Sequence[int]
    """Numbers among the victims' pods."""
    amounts: Index

    @property
    def ones(self) -> Index:
        return np.ones(len(self.pods), dtype=np.int64)


def tails_of(ground: Ground, leaving: Leaving) -> list[Tail]:
    """Return the leaves in which who is out depends on one resource of the leaf alone."""
    scene, table = ground.parts.scene, ground.table
    if turns_decide(scene):
        return []
    ordered: dict[QueueName, list[tuple[object, int]]] = {}
    number = 0
    for t in ground.parts.victims.taken:
        m = t.of.members
        items = resting_items(scene, m)
        single = len(m.running) == 1 and not m.pending and m.standing is Standing.WHOLE
        if single and len(items) == 1 and m.key not in table.lost:
            ordered.setdefault(m.group.queue, []).append((leaf_key(items[0]), number))
        number += len(t.of.able)
    out: list[Tail] = []
    for q, found in ordered.items():
        spots = [
            (x, r)
            for x in scene.tree.path(q)
            for r in sorted(table.columns)
            if int(ground.use[x][r]) + _started(ground, x, r) > table.floors["entitlement"][x][r]
        ]
        if not spots:
            out.append(Tail(q, -1, [n for _, n in found], np.zeros(0, np.int64)))
        elif len(spots) == 1 and spots[0][0] == q:
            r = spots[0][1]
            pods = [n for _, n in sorted(found, reverse=True)]
            amounts = np.array([leaving.row_of(n)[r] for n in pods], dtype=np.int64)
            if (amounts > 0).all():
                out.append(Tail(q, r, pods, amounts))
    return out


def _started(ground: Ground, queue: QueueName, r: int) -> int:
    """Return how much could start in a queue, at most."""
    path = ground.parts.scene.tree.path
    return sum(
        t.count * n * int(ground.parts.starts.shapes[s].row[r])
        for t in ground.parts.starts.types
        if queue in path(t.sample.group.queue)
        for s, n in t.pods
    )


class Returning:
    """Bounds how many evicted pods come back, in the leaves of which that can be told."""

    def __init__(
        self, ground: Ground, leaving: Leaving, program: Program, solver: Solver, until: float
    ) -> None:
        self._ground, self._leaving, self._program = ground, leaving, program
        self._solver, self._until = solver, until
        self._tails: list[Tail] = []
        self._longest: list[int] = []
        self._least: list[int] = []
        for tail in tails_of(ground, leaving):
            if time.process_time() < until:
                longest = self._found(tail) if tail.resource >= 0 else 0
                self._tails.append(tail)
                self._longest.append(longest)
                self._least.append(max(0, ceil(self._outside(tail, longest))))

    def least(self) -> int:
        """Return how many come back at least."""
        return sum(self._least)

    def tell(self, most: int) -> None:
        """Tell what follows where no more than these come back.

        No more are evicted outside the longest tail. So many others have to be out, and are part
        of a tail as long; of that, too, no more may stay than the rest of the queue leaves.
        """
        for tail, longest, least in zip(self._tails, self._longest, self._least, strict=True):
            own = most - self.least() + least
            self._at_most(self._amounts_outside(tail, longest, tail.ones), own)
            if tail.resource < 0:
                continue
            out = max(0, ceil(self._outside(tail, 0)) - own)
            if out:
                goal = self._amounts_outside(tail, out, tail.amounts) - self._started(tail)
                self._at_most(goal, self._room(tail, out))

    def _at_most(self, sum_: Real, most: int) -> None:
        some = np.flatnonzero(sum_)
        unit = 2.0 ** np.floor(np.log2(np.abs(sum_[some]).max(initial=1.0)))
        row = self._program.add_rows(most / unit)
        self._program.put(row, some, sum_[some] / unit)

    def _found(self, tail: Tail) -> int:
        """Return how many pods there could be from the first that is out on, at most."""
        able, unable = 0, len(tail.pods) + 1
        while unable - able > 1 and time.process_time() < self._until:
            length = (able + unable) // 2
            goal = self._started(tail) - self._amounts_outside(tail, length, tail.amounts)
            if -self._most(goal) > self._room(tail, length):
                unable = length
            else:
                able = length
        return unable - 1

    def _room(self, tail: Tail, length: int) -> int:
        """Return what may be evicted outside of a tail at most, where its first is out."""
        q, r = tail.queue, tail.resource
        use, e = int(self._ground.use[q][r]), self._ground.table.floors["entitlement"][q][r]
        return use + int(tail.amounts.max()) - 1 - e - int(tail.amounts[:length].sum())

    def _outside(self, tail: Tail, length: int) -> float:
        """Return how many pods are evicted at least, the last so many left out."""
        return -self._most(-self._amounts_outside(tail, length, tail.ones))

    def _most(self, goal: Real) -> float:
        tree = Branching(self._program, goal, np.zeros(0, np.int64), self._solver)
        return tree.run(-float("inf"), self._until, 0)

    def _amounts_outside(self, tail: Tail, length: int, amounts: Index) -> Real:
        """Return, by column, what of the leaf leaves with it, its last so many pods left out."""
        out: Real = np.zeros(self._program.columns)
        inside = {self._leaving.besides_of(n) for n in tail.pods[:length]}
        rest: dict[int, int] = {}
        for n, amount in zip(tail.pods[length:], amounts[length:].tolist(), strict=True):
            out[self._leaving.column_of(n)] += amount
            besides = self._leaving.besides_of(n)
            if besides not in inside and besides >= 0:
                rest[besides] = min(rest.get(besides, amount), amount)
        for column, amount in rest.items():
            out[column] += amount
        return out

    def _started(self, tail: Tail) -> Real:
        """Return, by column, what starts in the leaf of what its tail is told in."""
        ground = self._ground
        out: Real = np.zeros(self._program.columns)
        mine = np.flatnonzero([q == tail.queue for q in ground.queue])
        unit = ground.parts.unit[tail.resource]
        np.add.at(out, ground.parts.starts.column[mine], ground.amounts[mine, tail.resource] * unit)
        return out
