"""The order of inner queues, which no plan changes (section 3).

What runs is judged as if nothing started, what could start as if all that could did.

Readings of the contract that are fixed here:

* Elastic members are counted in the order of their keys, running ones first; the k-th has the key
  of the k-th of either world, that of what runs before that of what could.
* Work that runs in an inner queue itself comes first there, in the order of a leaf.
* An item that no world knows comes last.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from oracle.cluster import Cluster
from oracle.items import MINIMUM, Item, Key, Name, items_of, leaf_order

if TYPE_CHECKING:
    from oracle.standing import Row, Standing

Slot = tuple[int, int]
"""Group, and the position among its elastic items; MINIMUM for its minimum."""


RankKey = tuple[bool, Fraction | float, Key]
"""Out at the child, fill there, key of the leaf order."""


class InnerOrder:
    """Orders the items of inner queues, once the leaves' own order is known."""

    def __init__(self, standing: "Standing") -> None:
        c = self._cluster = standing.cluster
        self._standing = standing
        everything = frozenset(i for pods in standing.could_run.values() for i in pods)
        self._key: list[dict[Slot, RankKey]] = [{} for _ in c.queues]
        """By queue, the keys of its items as its parent orders them."""
        resting: dict[int, Row] = {}
        coming: dict[int, Row] = {}
        for q in sorted(range(len(c.queues)), key=lambda q: -len(c.path[q])):
            resting[q] = self._walk(q, frozenset(), resting)
            coming[q] = self._walk(q, everything, coming)
            keys = self._key[q]
            for row in (resting[q], coming[q]):
                slots = _slots(c, [p.item for p in row.values()])
                for n, p in row.items():
                    keys.setdefault(slots[n], (not p.is_in, p.fill, p.item.key))

    def _walk(self, q: int, started: frozenset[int], known: dict[int, "Row"]) -> "Row":
        c, s = self._cluster, self._standing
        own = [
            x
            for g, leaf in enumerate(c.queue_of)
            if leaf == q and not s.is_lost(g)
            for x in items_of(c, g, started & set(c.pending[g]))
        ]
        order = leaf_order(c, q, own)
        if c.children[q]:
            below = [p.item for k in c.children[q] for p in known[k].values()]
            order = self.ordered(q, [*order, *below])
        return s.places_in(q, order)

    def ordered(self, q: int, items: Sequence[Item]) -> list[Item]:
        c = self._cluster
        slots = _slots(c, items)
        keys: dict[Slot, RankKey] = {}
        last: dict[int, RankKey] = {}
        for k in c.children[q]:
            keys |= self._key[k]
        for (g, _), key in keys.items():
            last[g] = max(last.get(g, key), key)

        def place(x: Item) -> tuple[RankKey, Key]:
            if c.queue_of[x.group] == q:
                return (False, Fraction(0), x.key), x.key
            return keys.get(slots[x.name], last.get(x.group, (True, float("inf"), x.key))), x.key

        return sorted(items, key=place)


def _slots(c: Cluster, items: Sequence[Item]) -> dict[Name, Slot]:
    """Number the elastic items of each group in their order, running ones first."""
    out: dict[Name, Slot] = {}
    count: dict[int, int] = {}
    for x in sorted(items, key=lambda x: (not x.runs, x.key)):
        g, which = x.name
        if which == MINIMUM:
            out[x.name] = (g, MINIMUM)
        else:
            out[x.name] = (g, count.get(g, 0))
            count[g] = count.get(g, 0) + 1
    return out
