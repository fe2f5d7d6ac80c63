"""Places: which work is in and which is out after a plan (docs/design/order.md, section 3).

Thresholds are compared as integers (a fraction is exceeded exactly when its integer part is).
What does not change between plans is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..models import GroupKey, Pod, PodKey, QueueName
from ..models.queue import ROOT
from .items import Item, items_of, leaf_key, resting_items, turns_of
from .outcome import Outcome
from .ranks import ItemId, Key, Row, Rows, beyond, ranks_of
from .standing import Measure, StandingTable


@dataclass(frozen=True, slots=True)
class Placing:
    """Where an item stands: what it exceeds where, by which measure."""

    over: Mapping[tuple[QueueName, Measure], frozenset[int]]
    """By queue and measure the columns, of those it asks for, in which its prefix is beyond."""

    @property
    def is_in(self) -> bool:
        return not any(m == "entitlement" for _, m in self.over)

    def is_out_at(self, queue: QueueName) -> bool:
        return (queue, "entitlement") in self.over

    def beyond(self, queue: QueueName, measure: Measure, asks: Iterable[int]) -> bool:
        """Say whether it is beyond the measure at the queue in a resource that is asked for."""
        return not self.over.get((queue, measure), frozenset()).isdisjoint(asks)


_Over = tuple[QueueName, Measure, frozenset[int]]
"""Queue, measure, and the columns in which the item's prefix exceeds it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item in the order of a queue."""

    key: Key
    """Its key in the leaf order."""
    item: Item
    row: Row
    over: tuple[_Over, ...]


Walked = Mapping[QueueName, Sequence[_Entry]]


class _Walker:
    """Walks the tree of one standing table, and keeps what it has walked."""

    def __init__(self, table: StandingTable) -> None:
        self._table = table
        scene = table.scene
        self._groups: dict[QueueName, list[GroupKey]] = {q: [] for q in scene.tree.downwards}
        for m in scene.roster.values():
            if m.group.queue in scene.tree and m.key not in table.lost:
                self._groups[m.group.queue].append(m.key)
        self._rows = Rows(table)
        self._kept: dict[tuple[QueueName, frozenset[PodKey]], list[_Entry]] = {}

    def after(self, started: Mapping[GroupKey, Sequence[Pod]]) -> dict[QueueName, list[_Entry]]:
        """Walk what runs and what starts."""
        scene = self._table.scene
        new: dict[QueueName, set[PodKey]] = {}
        for g, pods in started.items():
            queue = scene.snapshot.group(g).queue
            if queue in scene.tree:
                new.setdefault(queue, set()).update(p.key for p in pods)
        out: dict[QueueName, list[_Entry]] = {}
        below: dict[QueueName, frozenset[PodKey]] = {}
        for q in reversed(scene.tree.downwards):
            children = scene.tree.children.get(q, ())
            mine = frozenset(new.get(q, ())).union(*(below[c] for c in children))
            below[q] = mine
            memo = (q, mine)
            if memo not in self._kept:
                if len(self._kept) > 4096:
                    self._kept.clear()
                own = self._leaf(q, self._items(q, new.get(q, set())))
                self._kept[memo] = self._walk(q, own, [out[c] for c in children])
            out[q] = self._kept[memo]
        return out

    def _items(self, queue: QueueName, new: set[PodKey]) -> list[Item]:
        scene = self._table.scene
        out: list[Item] = []
        for g in self._groups[queue]:
            m = scene.roster[g]
            mine = [p for p in m.pending if p.key in new] if new else []
            if mine:
                out += items_of(scene, m, mine)
            elif m.running:
                out += resting_items(scene, m)
        return out

    def _leaf(self, queue: QueueName, items: Sequence[Item]) -> list[_Entry]:
        turns = turns_of(self._table.scene, queue, items)
        return [
            _Entry(leaf_key(i, turn), i, self._rows.of(i), ())
            for i, turn in zip(items, turns, strict=True)
        ]

    def _walk(
        self, queue: QueueName, own: list[_Entry], children: Sequence[Sequence[_Entry]]
    ) -> list[_Entry]:
        entries = [*own, *(e for c in children for e in c)]
        if children:
            ranks = ranks_of(self._table)[queue]
            entries.sort(key=lambda e: (ranks.of(e.item), e.key))
        else:
            entries.sort(key=lambda e: e.key)
        steps = beyond(self._table, queue, (e.row for e in entries))
        out: list[_Entry] = []
        for e, (_, _, found) in zip(entries, steps, strict=True):
            if found:
                more: list[_Over] = [(queue, measure, columns) for measure, columns in found]
                e = _Entry(e.key, e.item, e.row, (*e.over, *more))
            out.append(e)
        return out


def _walker(table: StandingTable) -> _Walker:
    return table.scene.once("walker", lambda _: _Walker(table))


class Places:
    """In and out of every item that runs or starts in an outcome."""

    def __init__(self, table: StandingTable, walked: Walked) -> None:
        self.table = table
        self._by_item: dict[ItemId, _Entry] = {}
        self.item_of_pod: dict[PodKey, Item] = {}
        self.items_of_group: dict[GroupKey, list[Item]] = {}
        tops = [walked[q] for q in table.scene.tree.children.get(ROOT, ())]
        for x in (x for top in tops for x in top):
            self._by_item[x.item.id] = x
            self.items_of_group.setdefault(x.item.group.key, []).append(x.item)
            for p in x.item.pods:
                self.item_of_pod[p.key] = x.item

    def of(self, item: Item) -> Placing:
        x = self._by_item[item.id]
        return Placing({(q, m): columns for q, m, columns in x.over})

    def of_pod(self, pod: PodKey) -> Placing:
        return self.of(self.item_of_pod[pod])

    def may_lose(
        self,
        group: GroupKey,
        queue: QueueName,
        lost: int,
        running: int,
        measure: Measure,
        asks: Sequence[int],
    ) -> bool:
        """Say whether so many of the group's running pods are beyond the measure at the queue.

        The whole group is beyond where its minimum is; single pods come off its elastic end.
        """
        out: dict[str, list[bool]] = {"minimum": [], "elastic": []}
        for i in self.items_of_group.get(group, ()):
            if not i.new:
                out[i.kind].append(self.of(i).beyond(queue, measure, asks))
        return may_go(lost, running, out["minimum"], sum(out["elastic"]))


def may_go(lost: int, running: int, minima: Sequence[bool], singles: int) -> bool:
    """Say whether so many of a group's running pods are beyond.

    ``minima``: whether each minimum is; ``singles``: how many elastic members are.
    """
    if lost >= running and minima:
        return all(minima)
    return 0 < lost <= singles


def places_of(table: StandingTable, outcome: Outcome) -> Places:
    """Return the places after a plan; kept with the outcome."""
    known = outcome.kept_places
    if known is None:
        known = Places(table, _walker(table).after(outcome.started))
        outcome.kept_places = known
    assert isinstance(known, Places)
    return known
