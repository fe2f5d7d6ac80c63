"""The poorest: whose turn it is beyond entitlements; branches with the least share come first."""

from collections.abc import Collection, Mapping
from fractions import Fraction

from ..models import QueueName
from ..models.queue import ROOT
from ..policies.items import Item
from ..policies.ledger import Matrix
from .draft import Draft


class Poorest:
    """Finds the queue whose turn it is, from the root down."""

    def __init__(self, draft: Draft, queues: Collection[QueueName]) -> None:
        """``queues``: the leaves with work."""
        self._draft, self._scene, self._queues = draft, draft.scene, queues
        self._leaves_of: dict[QueueName, frozenset[QueueName]] = {}
        self._shares: dict[QueueName, tuple[Matrix, tuple[bool, Fraction]]] = {}
        """Weighted shares, with the use that they were computed from."""

    def of(self, heads: Mapping[QueueName, Item]) -> QueueName:
        """Return the queue, of those that have something to start (their first items)."""
        at = ROOT
        while True:
            children = [
                c
                for c in self._scene.tree.children.get(at, ())
                if not heads.keys().isdisjoint(self._leaves(c))
            ]
            if len(children) > 1:
                shares = {c: self._weighted_share(c) for c in children}
                least = min(shares.values())
                children = [c for c in children if shares[c] == least]
            best = children[0]
            if len(children) > 1:
                best = min(children, key=lambda c: (self._first(c, heads), c))
            if self._scene.tree.is_leaf(best):
                return best
            at = best

    def _leaves(self, branch: QueueName) -> frozenset[QueueName]:
        if branch not in self._leaves_of:
            self._leaves_of[branch] = frozenset(
                q for q in self._queues if branch in self._scene.tree.path(q)
            )
        return self._leaves_of[branch]

    def _first(self, branch: QueueName, heads: Mapping[QueueName, Item]) -> tuple[object, ...]:
        mine = [heads[q] for q in self._leaves(branch) if q in heads]
        return min((-i.group.priority, i.group.created_s, i.id) for i in mine)

    def _weighted_share(self, queue: QueueName) -> tuple[bool, Fraction]:
        """Return the dominant share over the weight; weight 0 comes last."""
        use = self._draft.use[queue]
        known = self._shares.get(queue)
        if known is None or known[0] is not use:
            share = self._draft.table.share([int(v) for v in use])
            weight = self._scene.tree.queues[queue].weight
            known = (use, (weight == 0, share / weight if weight else share))
            self._shares[queue] = known
        return known[1]
