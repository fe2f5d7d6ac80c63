"""Prefixes: what comes before an item in the order of a queue, among all that stands after a plan.

Ranks do not depend on plans, so work that stands as it stood is added up once for a scene; only
the items of groups that a plan changes are put in between.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from ..models import GroupKey, PodState, QueueName
from .items import Item, items_of, leaf_key, turns_of
from .ledger import Matrix
from .members import Members, Standing
from .outcome import Outcome
from .ranks import Key, Row, Rows, ranks_of
from .scene import Scene
from .standing import StandingTable


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
        self._places: dict[GroupKey, list[int]] = {}
        self._ordered = ranks_of(table)[queue].ordered
        zero = (0,) * len(table.scene.ledger.resources)
        rows: list[Row] = []
        for n, (item, row) in enumerate(self._ordered):
            rests = not item.new and not item.broken and item.pods[0].state is PodState.RUNNING
            if rests and roster[item.group.key].standing is Standing.WHOLE:
                self._places.setdefault(item.group.key, []).append(n)
                rows.append(row)
            else:
                rows.append(zero)
        # A last place for what ranks behind all others.
        self._rows: Matrix = np.array([*rows, zero], dtype=table.scene.ledger.dtype)

    def without(self, groups: AbstractSet[GroupKey]) -> Matrix:
        """Return the sums before each place, some groups left out."""
        rows = self._rows.copy()
        rows[[n for g in self._places.keys() & groups for n in self._places[g]]] = 0
        sums: Matrix = np.cumsum(rows, axis=0) - rows
        return sums

    def place_in_leaf(self, key: Key) -> int:
        """Return the place of a key of the leaf order."""
        return bisect_left(self._ordered, key, key=lambda of: leaf_key(of[0]))


class Prefixes:
    """Sums over what stands: groups as they are before the plan, but for some with other items."""

    def __init__(
        self,
        table: StandingTable,
        changed: AbstractSet[GroupKey],
        items: Mapping[GroupKey, list[Item]],
    ) -> None:
        """Take the groups that a plan changes, and the items of those of which something stands.

        Broken groups are always among them; where turns decide inside queues, all groups are.
        """
        self._table = table
        self._scene = table.scene
        self._rows = Rows(table)
        self._changed = changed
        self._anew = turns_decide(table.scene)
        self._own: dict[QueueName, list[Item]] = {}
        for g, of in items.items():
            self._own.setdefault(self._scene.roster[g].group.queue, []).extend(of)
        self._entries: dict[QueueName, list[tuple[Key, Item, Row]]] = {}
        self._lines: dict[QueueName, _Line] = {}
        self._sums: dict[QueueName, Matrix] = {}

    def row(self, item: Item) -> Row:
        return self._rows.of(item)

    def key(self, queue: QueueName, item: Item) -> Key:
        return self._key(queue, item, leaf_key(item))

    def _key(self, queue: QueueName, item: Item, leaf: Key) -> Key:
        if self._scene.tree.is_leaf(queue):
            return leaf
        return (ranks_of(self._table)[queue].of(item), leaf)

    def before(self, queue: QueueName, key: Key) -> list[int]:
        """Return the sum of all items of the queue before a key."""
        if queue not in self._lines:
            placed = ((self._key(queue, i, leaf), row) for leaf, i, row in self._below(queue))
            self._lines[queue] = _Line(placed, len(self._scene.ledger.resources))
        prefix = list(self._lines[queue].before(key))
        if self._anew:
            return prefix
        known = self._scene.once("resting lines", _no_lines)
        if queue not in known:
            known[queue] = _Resting(self._table, queue)
        if queue not in self._sums:
            self._sums[queue] = known[queue].without(self._changed)
        at = known[queue].place_in_leaf(key) if self._scene.tree.is_leaf(queue) else key[0]
        assert isinstance(at, int)
        rest = self._sums[queue][at].tolist()
        return [a + b for a, b in zip(prefix, rest, strict=True)]

    def _below(self, queue: QueueName) -> list[tuple[Key, Item, Row]]:
        """Return the items of changed groups in the queue and below it."""
        if queue not in self._entries:
            mine = self._own.get(queue, [])
            turns = turns_of(self._scene, queue, mine)
            entries = [
                (leaf_key(i, turn), i, self._rows.of(i))
                for i, turn in zip(mine, turns, strict=True)
            ]
            for c in self._scene.tree.children.get(queue, ()):
                entries += self._below(c)
            self._entries[queue] = entries
        return self._entries[queue]


def turns_decide(scene: Scene) -> bool:
    """Say whether some queue is filled by turns: then any change may move all of its items."""
    return any(share.within != "groups" for share in scene.config.queues.values())


def changed_by(scene: Scene, groups: AbstractSet[GroupKey]) -> AbstractSet[GroupKey]:
    """Return which groups' items have to be made anew when a plan changes some groups."""
    if turns_decide(scene):
        return {m.key for m in scene.roster.values()}
    return {*groups, *(m.key for m in scene.roster.broken)}


def items_of_started(outcome: Outcome, table: StandingTable, group: GroupKey) -> list[Item]:
    """Return the items of a group as a plan leaves it, evictions aside.

    Plans that start the same of a group share them.
    """
    pods = outcome.started.get(group, ())
    known = outcome.scene.once("items of what starts", _no_items)
    case = (group, tuple(map(id, pods)))
    if case not in known:
        if len(known) > MOST_KEPT:
            known.clear()
        new = {p.key for p in pods}
        known[case] = items_after(table, outcome.scene.roster[group], new)
    return known[case]


MOST_KEPT = 100_000


def _no_items(_: Scene) -> dict[tuple[GroupKey, tuple[int, ...]], list[Item]]:
    return {}


def items_after(table: StandingTable, m: Members, started: AbstractSet[str]) -> list[Item]:
    """Return the group's items that run, or start with these pods."""
    if m.group.queue not in table.scene.tree or m.key in table.lost:
        return []
    new = [p for p in m.pending if p.key in started] if started else []
    return items_of(table.scene, m, new) if m.running or new else []


def _no_lines(_: Scene) -> dict[QueueName, _Resting]:
    return {}
