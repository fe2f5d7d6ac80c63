"""Who would come back by right: evicted work that is in, once everything else that goes is gone.

The items that stay are put in order once for a plan; each victim is then looked up among them.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Sequence

from ..models import GroupKey, QueueName
from .items import Item, items_of, leaf_key, turns_of
from .outcome import Outcome
from .ranks import ItemId, Key, Row, Rows, ranks_of
from .standing import StandingTable, standing_of


def returning(outcome: Outcome, group: GroupKey) -> int:
    """Return how many evicted pods of the group are in, once everything else that goes is gone."""
    known = outcome.kept_remaining
    if known is None:
        known = _Remaining(outcome)
        outcome.kept_remaining = known
    assert isinstance(known, _Remaining)
    return known.returning(group)


class _Line:
    """The items of a queue that stay or start, in order, with the sums of their sizes."""

    def __init__(self, entries: Sequence[tuple[Key, Item, Row]], width: int) -> None:
        ordered = sorted(entries, key=lambda e: e[0])
        self._keys = [k for k, _, _ in ordered]
        self._sums: list[Row] = [(0,) * width]
        for _, _, row in ordered:
            self._sums.append(tuple([a + b for a, b in zip(self._sums[-1], row, strict=True)]))

    def before(self, key: Key) -> Row:
        return self._sums[bisect_left(self._keys, key)]


class _Remaining:
    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._scene = outcome, outcome.scene
        self._table: StandingTable = standing_of(self._scene)
        self._rows = Rows(self._table)
        self._width = len(self._scene.ledger.resources)
        self._items: dict[GroupKey, list[Item]] = {}
        leaf: dict[QueueName, list[Item]] = {}
        for m in self._scene.roster.values():
            if m.group.queue not in self._scene.tree or m.key in self._table.lost:
                continue
            new = {p.key for p in outcome.started.get(m.key, ())}
            if m.key in outcome.losses:
                # Its minimum forms anew from what is left.
                m = dataclasses.replace(m, running=outcome.kept(m.key))
            if m.running or new:
                items = items_of(self._scene, m, [p for p in m.pending if p.key in new])
                self._items[m.key] = items
                leaf.setdefault(m.group.queue, []).extend(items)
        self._lines: dict[QueueName, _Line] = {}
        below: dict[QueueName, list[tuple[Key, Item, Row]]] = {}
        for q in reversed(self._scene.tree.downwards):
            mine = leaf.get(q, [])
            turns = turns_of(self._scene, q, mine)
            entries = [
                (leaf_key(i, turn), i, self._rows.of(i))
                for i, turn in zip(mine, turns, strict=True)
            ]
            for c in self._scene.tree.children.get(q, ()):
                entries += below[c]
            below[q] = entries
            placed = [(self._key(q, i, key), i, row) for key, i, row in entries]
            self._lines[q] = _Line(placed, self._width)

    def _key(self, queue: QueueName, item: Item, leaf: Key) -> Key:
        if not self._scene.tree.children.get(queue):
            return leaf
        return (ranks_of(self._table)[queue].of(item), leaf)

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
        left = self._items.get(group, [])
        for q in self._scene.tree.path(queue):
            floors = self._table.floors["entitlement"][q]
            own = [(self._key(q, i, leaf_key(i)), self._rows.of(i)) for i in left]
            full = [(self._key(q, i, leaf_key(i)), self._rows.of(i), i) for i in mine]
            for key, row, item in full:
                prefix = list(self._lines[q].before(key))
                for other, size in own:
                    if other < key:
                        prefix = [a - b for a, b in zip(prefix, size, strict=True)]
                for other, size, _ in full:
                    if other <= key:
                        prefix = [a + b for a, b in zip(prefix, size, strict=True)]
                if any(row[r] and prefix[r] > floors[r] for r in self._table.columns):
                    out[item.id] = False
        return out
