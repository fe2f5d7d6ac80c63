"""Two queues: one that is short of its due and has work held, one that is far beyond its own.

What starts of both is chosen anew on the nodes that it uses, whatever its level: within one level
other work may fill limits and nodes better, and what goes to the one queue may serve the other.
"""

from collections.abc import Sequence
from functools import cached_property

from ..models import QueueName
from ..policies.standing import standing_of
from .held import Held, in_turns
from .neighbourhood import Neighbourhood

PAIRS = 6
"""So many pairs are looked at, those farthest apart first."""
KINDS = 4
"""Of so many kinds of held pods nodes are looked for."""


class TwoQueues:
    """Pairs of leaf queues whose shares are farthest from their entitlements, one a turn."""

    name = "queues"

    def __init__(self, held: Held) -> None:
        self._held = held
        self._scene = held.outcome.scene

    def _queue(self, group: str) -> QueueName:
        return self._scene.snapshot.groups_by_key[group].queue  # type: ignore[index]  # a GroupKey

    @cached_property
    def _pairs(self) -> Sequence[tuple[QueueName, QueueName]]:
        waiting = dict.fromkeys(m.group.queue for m in self._held.members)
        serving = dict.fromkeys(map(self._queue, self._held.outcome.started))
        beyond = {q: self._beyond(q) for q in (*waiting, *serving) if q in self._scene.tree.queues}
        pairs = [
            (beyond[b] - beyond[a], a, b)
            for a in waiting
            for b in serving
            if a != b and a in beyond and b in beyond
        ]
        found = sorted(pairs, key=lambda of: (-of[0], *of[1:]))[:PAIRS]
        return [(a, b) for _, a, b in found]

    def _beyond(self, queue: QueueName) -> float:
        """Return by how much the queue's dominant share is above its entitlement's."""
        table = standing_of(self._scene)
        use = [int(v) for v in self._held.outcome.use_after[queue]]
        most = [0] * len(use)
        for r, amount in table.entitlement[queue].items():
            most[r] = int(amount)
        return float(table.share(use) - table.share(most))

    @property
    def turns(self) -> int:
        """How many pairs there are to choose from."""
        return len(self._pairs)

    @property
    def size(self) -> int:
        """How many nodes there are to choose from."""
        return len(self._held.idle) if self._pairs else 0

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood of a pair: the nodes it uses in turns with those it could."""
        held, pair = self._held, self._pairs[turn]
        members = [m for m in held.members if m.group.queue in pair]
        theirs = [g for g in held.nodes_of if self._queue(g) in pair]
        used: dict[int, int] = {}
        for g in theirs:
            for i in held.nodes_of[g]:
                used[i] = used.get(i, 0) + 1
        first = sorted(used, key=lambda i: (-used[i], i))
        could = in_turns(*map(held.could_go, held.kinds(members, KINDS)))
        return held.around(in_turns(first, could)[:size], members, theirs)
