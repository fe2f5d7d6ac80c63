"""The ground of rights: starts and victims by queue, and what measures leave."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ...models import QueueName
from ...models.queue import ROOT
from ...policies.fairness import missing_of
from ...policies.standing import Measure, StandingTable
from .beyond import Beyond, Spot
from .claims import Claims
from .parts import Parts, Placing
from .program import Index, Real
from .queues import staying_use


class Ground:
    """What rows about rights are made of."""

    def __init__(
        self,
        parts: Parts,
        placing: Placing,
        table: StandingTable,
        beyond: Mapping[Spot, Beyond],
        claims: Claims,
    ) -> None:
        self.parts, self.placing = parts, placing
        self.table, self.beyond, self.claims = table, beyond, claims
        self.program = parts.program
        self._known: dict[tuple[int, Measure, QueueName], bool] = {}
        self._firsts: dict[int, list[int]] = {}
        self._free: dict[tuple[QueueName, Measure, int], int] = {}
        self.use = staying_use(parts.scene)
        self.kinds = list(parts.victims.kinds)
        self.counts = np.array(list(parts.victims.kinds.values()), dtype=np.float64)
        held = parts.held[[k.shape for k in self.kinds]] if self.kinds else parts.held[:0]
        self.held: Real = held
        """Kind by resource."""
        starts = parts.starts
        self.amounts: Real = starts.pods[:, None] * parts.rows[starts.shape]
        leads = np.array([s.lead for s in starts.shapes], dtype=np.int64)
        self.lead = leads[starts.shape]
        groups = [t.sample.group for t in starts.types]
        self.queue = np.array([g.queue for g in groups], dtype=object)[starts.type]
        self.priority = np.array([g.priority for g in groups], dtype=object)[starts.type]
        self.able = np.array([g.may_preempt for g in groups], dtype=np.bool_)[starts.type]
        self.held_by_all: Real = self.counts[:, None] * held
        self.kinds_of: dict[QueueName, list[int]] = defaultdict(list)
        self.always: dict[Spot, list[int]] = defaultdict(list)
        for n, k in enumerate(self.kinds):
            self.kinds_of[k.queue].append(n)
            for spot in k.beyond:
                self.always[spot].append(n)
        tree = parts.scene.tree
        self.kinds_below: dict[QueueName, Index] = {}
        for q in reversed(tree.downwards):
            mine = [self.kinds_below[c] for c in tree.children.get(q, ())]
            own = np.array(self.kinds_of.get(q, ()), dtype=np.int64)
            self.kinds_below[q] = np.concatenate([own, *mine])
        self.starts_of: dict[QueueName, Index] = {
            q: np.flatnonzero(self.queue == q) for q in dict.fromkeys(self.queue.tolist())
        }

    def could(self, n: int, leaf: QueueName, measure: Measure, above: QueueName) -> bool:
        """Say whether a group could be within the measure where its minimum starts.

        Beside what runs in its queues and can never be evicted.
        """
        memo = (int(self.parts.starts.type[n]), measure, above)
        if memo not in self._known:
            first = self._least(memo[0])
            path = (*self.parts.scene.tree.path(leaf), ROOT)
            self._known[memo] = all(
                first[r] <= self._left(q, measure, r)
                for q in path[: path.index(above)]
                for r in self.table.columns
                if first[r]
            )
        return self._known[memo]

    def _least(self, number: int) -> list[int]:
        """Return what a group of the type asks for at least where it starts anything."""
        if number not in self._firsts:
            t = self.parts.starts.types[number]
            rows = [(self.parts.starts.shapes[s].row.tolist(), n) for s, n in t.pods]
            need = max(1, missing_of(t.sample))
            if len(rows) == 1:
                self._firsts[number] = [v * need for v in rows[0][0]]
            else:
                columns = range(len(self.parts.unit))
                each = [sorted(v for row, n in rows for v in [row[r]] * n) for r in columns]
                self._firsts[number] = [sum(values[:need]) for values in each]
        return self._firsts[number]

    def _left(self, queue: QueueName, measure: Measure, r: int) -> int:
        """Return what the measure leaves there at most, whatever is evicted."""
        memo = (queue, measure, r)
        if memo not in self._free:
            gone = self.held_by(self.kinds_below[queue], r) * float(self.parts.unit[r])
            stays = int(self.use[queue][r]) - math.ceil(gone)
            self._free[memo] = self.table.floors[measure][queue][r] - stays
        return self._free[memo]

    def put_starts(self, row: Index, mine: Index, r: int, sign: float) -> None:
        self.program.put(row, self.parts.starts.column[mine], sign * self.amounts[mine, r])

    def held_by(self, kinds: "Sequence[int] | Index", r: int) -> float:
        return float(self.held_by_all[kinds, r].sum()) if len(kinds) else 0.0
