"""Places: which work is in and which is out after a plan (docs/design/order.md, section 3).

Thresholds are compared as integers (a fraction is exceeded exactly when its integer part is);
fills, which only rank, are correctly rounded quotients. What does not change between plans is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ..models import GroupKey, Pod, PodKey, QueueName
from ..models.queue import ROOT
from .items import Item, items_of, leaf_key, turns_of
from .outcome import Outcome
from .standing import MEASURES, Measure, StandingTable

ItemId = tuple[GroupKey, str, int]
Over = dict[tuple[QueueName, Measure], frozenset[int]]
HUGE = float("inf")


@dataclass(frozen=True, slots=True)
class Placing:
    """Where an item stands: what it exceeds where, by which measure, and its fill at its leaf."""

    over: Mapping[tuple[QueueName, Measure], frozenset[int]]
    """By queue and measure the columns, of those it asks for, in which its prefix is beyond."""
    fill: float

    @property
    def is_in(self) -> bool:
        return not any(m == "entitlement" for _, m in self.over)

    def is_out_at(self, queue: QueueName) -> bool:
        return (queue, "entitlement") in self.over

    def beyond(self, queue: QueueName, measure: Measure, asks: Iterable[int]) -> bool:
        """Say whether it is beyond the measure at the queue in a resource that is asked for."""
        return not self.over.get((queue, measure), frozenset()).isdisjoint(asks)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item in the order of a queue."""

    is_out: bool
    fill: float
    key: tuple[object, ...]
    item: Item
    row: tuple[int, ...]
    over: tuple[tuple[QueueName, Measure, frozenset[int]], ...]
    leaf_fill: float

    @property
    def rank(self) -> tuple[object, ...]:
        return (self.is_out, self.fill, self.key)


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
        self._resting: dict[GroupKey, list[Item]] = {}
        self._rows: dict[PodKey, tuple[int, ...]] = {}
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

    def of(self, items: Mapping[QueueName, Sequence[Item]]) -> dict[QueueName, list[_Entry]]:
        """Walk the given items."""
        tree = self._table.scene.tree
        out: dict[QueueName, list[_Entry]] = {}
        for q in reversed(tree.downwards):
            own = self._leaf(q, items.get(q, ()))
            out[q] = self._walk(q, own, [out[c] for c in tree.children.get(q, ())])
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
                if g not in self._resting:
                    self._resting[g] = items_of(scene, m, ())
                out += self._resting[g]
        return out

    def _row(self, item: Item) -> tuple[int, ...]:
        first, *more = item.pods
        if more:
            return tuple(int(v) for v in self._table.scene.rows(item.pods))
        if first.key not in self._rows:
            self._rows[first.key] = tuple(int(v) for v in self._table.scene.row(first))
        return self._rows[first.key]

    def _leaf(self, queue: QueueName, items: Sequence[Item]) -> list[_Entry]:
        turns = turns_of(self._table.scene, queue, items)
        return [
            _Entry(False, 0.0, leaf_key(i, turn), i, self._row(i), (), 0.0)
            for i, turn in zip(items, turns, strict=True)
        ]

    def _walk(
        self, queue: QueueName, own: list[_Entry], children: Sequence[Sequence[_Entry]]
    ) -> list[_Entry]:
        entries = [*own, *(e for c in children for e in c)]
        entries.sort(key=lambda e: e.rank)
        prefix = [0] * len(self._table.scene.ledger.resources)
        e = self._table.entitlement[queue]
        floors = self._table.floors
        columns = sorted(self._table.columns)
        out: list[_Entry] = []
        for x in entries:
            row = x.row
            prefix = [a + b for a, b in zip(prefix, row, strict=True)]
            asked = [r for r in columns if row[r]]
            more: list[tuple[QueueName, Measure, frozenset[int]]] = []
            is_out = False
            for measure in MEASURES:
                most = floors[measure][queue]
                exceeded = [r for r in asked if prefix[r] > most[r]]
                if exceeded:
                    more.append((queue, measure, frozenset(exceeded)))
                    is_out = is_out or measure == "entitlement"
            fill = 0.0
            for r in asked:
                share = e[r]
                part = prefix[r] * share.denominator / share.numerator if share else HUGE
                fill = max(fill, part)
            leaf_fill = fill if x.item.group.queue == queue else x.leaf_fill
            over = (*x.over, *more) if more else x.over
            out.append(_Entry(is_out, fill, x.key, x.item, row, over, leaf_fill))
        return out


_WALKERS: "WeakKeyDictionary[StandingTable, _Walker]" = WeakKeyDictionary()


def _walker(table: StandingTable) -> _Walker:
    if table not in _WALKERS:
        _WALKERS[table] = _Walker(table)
    return _WALKERS[table]


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
        return Placing({(q, m): columns for q, m, columns in x.over}, x.leaf_fill)

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
        if lost >= running and out["minimum"]:
            return all(out["minimum"])
        return 0 < lost <= sum(out["elastic"])


def places_of(table: StandingTable, outcome: Outcome) -> Places:
    """Return the places after a plan; kept with the outcome."""
    known = outcome.kept_places
    if known is None:
        known = Places(table, _walker(table).after(outcome.started))
        outcome.kept_places = known
    assert isinstance(known, Places)
    return known


def places_of_items(table: StandingTable, items: Mapping[QueueName, Sequence[Item]]) -> Places:
    """Return the places of the given items."""
    return Places(table, _walker(table).of(items))


_RANKS: "WeakKeyDictionary[StandingTable, dict[QueueName, list[tuple[Item, tuple[int, ...]]]]]" = (
    WeakKeyDictionary()
)


def ranks_of(table: StandingTable) -> Mapping[QueueName, Sequence[tuple[Item, tuple[int, ...]]]]:
    """Return every item that runs or could run, with its size, in the order of each queue."""
    if table not in _RANKS:
        walked = _walker(table).of(table.items)
        _RANKS[table] = {q: [(x.item, x.row) for x in of] for q, of in walked.items()}
    return _RANKS[table]
