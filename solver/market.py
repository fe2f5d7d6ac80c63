"""The market: nodes that a claimant could clear for a pod, and what each would cost.

All nodes are estimated at once, from sums over the runners' pods; the cheapest of them are then
looked at one by one.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod
from .draft import Draft
from .prey import Preys

Cost = tuple[int, ...]

FEW, LOOKED_AT = 24, 8
"""Of up to so few nodes each is looked at; of more, so many before one is chosen."""
REFUSED = 240
"""After so many nodes in a row that cannot be cleared, no others are looked at."""


class Market:
    """What nodes cost for pods of one spec of a group, as long as nothing changes there."""

    def __init__(
        self,
        draft: Draft,
        preys: Preys,
        group: GroupKey,
        pod: Pod,
        cost: Callable[[Pod, int], Cost | None],
    ) -> None:
        self._draft, self._preys, self._group = draft, preys, group
        self._cost_of = cost
        nodes = self._estimated(pod)
        self._least = len(nodes) if len(nodes) <= FEW else LOOKED_AT
        self._next: Iterator[int] = iter(nodes)
        self._known: dict[int, Cost] = {}
        """Nodes that can be cleared."""
        self._stale: set[int] = set()
        self._refused = 0

    def forget(self, node: int, freed: bool = True) -> None:
        """Something on the node has changed: it has more room, or other victims."""
        if self._known.pop(node, None) is not None or freed:
            self._stale.add(node)

    def cheapest(self, pod: Pod) -> int | None:
        """Return the node that costs least for the pod, as far as nodes have been looked at."""
        mask = self._draft.scene.mask(pod)
        only = self._draft.field.only.get(pod.key)
        if only is not None:
            mask = mask & only
        for node in sorted(self._stale):
            self._look_at(pod, node)
        self._stale.clear()
        there = sum(bool(mask[i]) for i in self._known)
        while there < self._least and self._refused < REFUSED:
            fresh = next(self._next, None)
            if fresh is None:
                break
            if fresh not in self._known:
                found = self._look_at(pod, fresh)
                there += found and bool(mask[fresh])
                self._refused = 0 if found else self._refused + 1
        return min(
            (i for i in self._known if mask[i]), key=lambda i: (self._known[i], i), default=None
        )

    def _look_at(self, pod: Pod, node: int) -> bool:
        cost = self._cost_of(pod, node)
        if cost is None:
            return False
        self._known[node] = cost
        return True

    def _estimated(self, pod: Pod) -> list[int]:
        """Return the nodes on which enough could leave, those that seem cheap first."""
        draft, preys, pods = self._draft, self._preys, self._preys.herd.pods
        row = draft.scene.row(pod)
        asked = np.flatnonzero(row)
        chosen = np.flatnonzero(preys.chosen[pods.runner])
        chosen = chosen[draft.scene.mask(pod)[pods.node[chosen]]]
        only = draft.field.only.get(pod.key)
        if only is not None:
            chosen = chosen[only[pods.node[chosen]]]
        chosen = chosen[~draft.gone.pods(draft.evicted)[chosen]]
        if not len(chosen):
            return []
        node, runner = pods.node[chosen], pods.runner[chosen]
        first = np.flatnonzero(np.diff(node, prepend=-1))
        """Where each node begins."""
        block = np.repeat(np.arange(len(first)), np.diff(first, append=len(node)))

        def within(values: NDArray[Any]) -> NDArray[Any]:
            """Return running sums that begin anew on each node."""
            sums = np.cumsum(values, axis=0)
            return np.asarray(sums - (sums - values)[first][block])

        free = draft.open_room(self._group, node[first])[block][:, asked]
        enough = (free + within(pods.rows[chosen][:, asked]) >= row[asked]).all(axis=1)
        hits = np.flatnonzero(enough)
        if not len(hits):
            return []
        last = hits[np.diff(block[hits], prepend=-1) > 0]
        """Of each node that can be cleared, the last pod that has to leave."""
        single = preys.single[runner] > 0
        each = np.where(single, 1, preys.herd.running[runner])
        breaks, lost, age = (within(v) for v in (~single + 0, pods.lost[chosen], pods.age[chosen]))
        inside, dear = (
            within(each * preys.inside[runner]),
            within(each * preys.herd.weights[runner]),
        )
        order = np.lexsort(
            (node[last], age[last], lost[last], breaks[last], dear[last], inside[last])
        )
        found: list[int] = node[last][order].tolist()
        return found
