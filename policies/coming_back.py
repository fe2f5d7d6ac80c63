"""Who would come back by right: evicted work that is in, once everything else that goes is gone."""

import dataclasses
from collections.abc import Sequence

from ..models import GroupKey, QueueName
from .items import Item, items_of
from .outcome import Outcome
from .prefixes import Prefixes, changed_by, items_after, items_of_started
from .ranks import ItemId
from .standing import standing_of


def returning(outcome: Outcome, group: GroupKey) -> int:
    """Return how many evicted pods of the group are in, once everything else that goes is gone."""
    known = outcome.kept_remaining
    if known is None:
        known = _Remaining(outcome)
        outcome.kept_remaining = known
    assert isinstance(known, _Remaining)
    return known.returning(group)


class _Remaining:
    """What remains of a plan once everything that goes is gone."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._scene = outcome, outcome.scene
        self._table = standing_of(self._scene)
        self._items: dict[GroupKey, list[Item]] = {}
        changed = changed_by(self._scene, {*outcome.started, *outcome.losses})
        for g in changed:
            if g in outcome.losses:
                # Its minimum forms anew from what is left.
                m = dataclasses.replace(self._scene.roster[g], running=outcome.kept(g))
                new = {p.key for p in outcome.started.get(g, ())}
                items = items_after(self._table, m, new)
            else:
                items = items_of_started(outcome, self._table, g)
            if items:
                self._items[g] = items
        self._prefixes = Prefixes(self._table, changed, self._items)

    def returning(self, group: GroupKey) -> int:
        m = self._scene.roster[group]
        lost = len(self._outcome.losses[group])
        mine = items_of(self._scene, m, ())
        inside = self._are_in(m.group.queue, group, mine)
        first = next((i for i in mine if i.kind == "minimum"), None)
        if lost == len(m.running) and first is not None:
            return lost if inside[first.id] else 0
        singles_out = sum(not inside[i.id] for i in mine if i.kind == "elastic")
        return max(0, lost - singles_out)

    def _are_in(
        self, queue: QueueName, group: GroupKey, mine: Sequence[Item]
    ) -> dict[ItemId, bool]:
        """Say which of a group's items are in at every level, all of it there again."""
        out: dict[ItemId, bool] = {i.id: True for i in mine}
        left, prefixes = self._items.get(group, []), self._prefixes
        for q in self._scene.tree.path(queue):
            floors = self._table.floors["entitlement"][q]
            own = [(prefixes.key(q, i), prefixes.row(i)) for i in left]
            full = [(prefixes.key(q, i), prefixes.row(i), i) for i in mine]
            for key, row, item in full:
                prefix = prefixes.before(q, key)
                for other, size in own:
                    if other < key:
                        prefix = [a - b for a, b in zip(prefix, size, strict=True)]
                for other, size, _ in full:
                    if other <= key:
                        prefix = [a + b for a, b in zip(prefix, size, strict=True)]
                if any(row[r] and prefix[r] > floors[r] for r in self._table.columns):
                    out[item.id] = False
        return out
