"""Who would come back by right: evicted work that is in, once everything else that goes is gone.

The items that stay are put in order once for a plan; each victim is then looked up among them.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from ..models import GroupKey, PodState, QueueName
from .items import Item, items_of, leaf_key, turns_of
from .ledger import Matrix
from .members import Members, Standing
from .outcome import Outcome
from .ranks import ItemId, Key, Row, Rows, ranks_of
from .scene import Scene
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
    """Items in order, with the sums of their sizes."""

    def __init__(self, entries: Iterable[tuple[Key, Row]], width: int) -> None:
        ordered = sorted(entries, key=lambda e: e[0])
        self._keys = [k for k, _ in ordered]
        self._sums: list[Row] = [(0,) * width]
        for _, row in ordered:
            self._sums.append(tuple([a + b for a, b in zip(self._sums[-1], row, strict=True)]))

    def before(self, key: Key) -> Row:
        return self._sums[bisect_left(self._keys, key)]


class _Resting:
    """The items of a queue that run and whose groups have their minimum, by rank."""

    def __init__(self, table: StandingTable, queue: QueueName) -> None:
        roster = table.scene.roster
        self.places: dict[GroupKey, list[int]] = {}
        rows: list[Row] = []
        zero = (0,) * len(table.scene.ledger.resources)
        for n, (item, row) in enumerate(ranks_of(table)[queue].ordered):
            rests = not item.new and not item.broken and item.pods[0].state is PodState.RUNNING
            if rests and roster[item.group.key].standing is Standing.WHOLE:
                self.places.setdefault(item.group.key, []).append(n)
                rows.append(row)
            else:
                rows.append(zero)
        self.rows: Matrix = np.array([*rows, zero], dtype=table.scene.ledger.dtype)
        """What each place is worth; a last one for what ranks behind all others."""

    def without(self, groups: AbstractSet[GroupKey]) -> Matrix:
        """Return the sums before each place, some groups left out."""
        out = [n for g in self.places.keys() & groups for n in self.places[g]]
        rows = self.rows.copy()
        rows[out] = 0
        sums: Matrix = np.cumsum(rows, axis=0) - rows
        return sums


class _Remaining:
    """What remains of a plan once everything that goes is gone.

    Groups that are as they were are looked up by their ranks, which no plan changes; the items of
    all others are made anew. Where turns decide inside a queue, everything is.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._scene = outcome, outcome.scene
        self._table: StandingTable = standing_of(self._scene)
        self._rows = Rows(self._table)
        self._width = len(self._scene.ledger.resources)
        self._items: dict[GroupKey, list[Item]] = {}
        tree = self._scene.tree
        self._anew = any(share.within != "groups" for share in self._scene.config.queues.values())
        leaf: dict[QueueName, list[Item]] = {}
        changed = self._changed()
        keys = {m.key for m in changed}
        for m in changed:
            if m.group.queue not in tree or m.key in self._table.lost:
                continue
            new = {p.key for p in outcome.started.get(m.key, ())}
            if m.key in outcome.losses:
                # Its minimum forms anew from what is left.
                m = dataclasses.replace(m, running=outcome.kept(m.key))
            if m.running or new:
                items = items_of(self._scene, m, [p for p in m.pending if p.key in new])
                self._items[m.key] = items
                leaf.setdefault(m.group.queue, []).extend(items)
        needed = {q for g in outcome.losses for q in tree.path(self._scene.roster[g].group.queue)}
        self._lines: dict[QueueName, _Line] = {}
        self._resting: dict[QueueName, Matrix] = {}
        below: dict[QueueName, list[tuple[Key, Item, Row]]] = {}
        known = self._scene.once("resting lines", _no_lines)
        for q in reversed(tree.downwards):
            mine = leaf.get(q, [])
            turns = turns_of(self._scene, q, mine)
            entries = [
                (leaf_key(i, turn), i, self._rows.of(i))
                for i, turn in zip(mine, turns, strict=True)
            ]
            for c in tree.children.get(q, ()):
                entries += below[c]
            below[q] = entries
            if q in needed:
                placed = ((self._key(q, i, key), row) for key, i, row in entries)
                self._lines[q] = _Line(placed, self._width)
                if not self._anew:
                    if q not in known:
                        known[q] = _Resting(self._table, q)
                    self._resting[q] = known[q].without(keys)

    def _changed(self) -> Collection[Members]:
        """Return the groups whose items have to be made anew."""
        roster, outcome = self._scene.roster, self._outcome
        if self._anew:
            return roster.values()
        changed = {*outcome.started, *outcome.losses, *(m.key for m in roster.broken)}
        return [roster[g] for g in sorted(changed)]

    def _key(self, queue: QueueName, item: Item, leaf: Key) -> Key:
        if self._anew and not self._scene.tree.children.get(queue):
            return leaf
        return (ranks_of(self._table)[queue].of(item), leaf)

    def _before(self, queue: QueueName, key: Key) -> list[int]:
        prefix = list(self._lines[queue].before(key))
        if not self._anew:
            rank = key[0]
            assert isinstance(rank, int)
            more = self._resting[queue][rank].tolist()
            prefix = [a + b for a, b in zip(prefix, more, strict=True)]
        return prefix

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
                prefix = self._before(q, key)
                for other, size in own:
                    if other < key:
                        prefix = [a - b for a, b in zip(prefix, size, strict=True)]
                for other, size, _ in full:
                    if other <= key:
                        prefix = [a + b for a, b in zip(prefix, size, strict=True)]
                if any(row[r] and prefix[r] > floors[r] for r in self._table.columns):
                    out[item.id] = False
        return out


def _no_lines(_: Scene) -> dict[QueueName, _Resting]:
    return {}
