"""The ground of rights: starts and victims by queue, and what measures leave."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...models import GroupKey, QueueName
from ...policies.standing import StandingTable
from .beyond import Beyond, Spot
from .claims import Claims
from .parts import Parts, Placing
from .program import Index, Real
from .queues import Use
from .reach import Reach


class Ground:
    """What rows about rights are made of."""

    def __init__(
        self,
        parts: Parts,
        placing: Placing,
        table: StandingTable,
        beyond: Mapping[Spot, Beyond],
        claims: Claims,
        grown: Mapping[Spot, Collection[GroupKey]],
        use: Use,
        reach: Reach,
    ) -> None:
        self.parts, self.placing = parts, placing
        self.table, self.beyond, self.claims = table, beyond, claims
        self.program = parts.program
        self.grown, self.use, self.reach = grown, use, reach
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

    def put_starts(self, row: Index, mine: Index, r: int, sign: float) -> None:
        self.program.put(row, self.parts.starts.column[mine], sign * self.amounts[mine, r])

    def held_by(self, kinds: "Sequence[int] | Index", r: int) -> float:
        return float(self.held_by_all[kinds, r].sum()) if len(kinds) else 0.0
