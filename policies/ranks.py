"""Ranks: the order of a queue's items that no plan changes (docs/design/order.md, section 3).

At a leaf it is the leaf order of all that runs or could run. At an inner queue what its children
have out comes last and the lower fill first, where work that runs is judged by what runs now, and
work that could start by everything that could: who may be taken from follows from the use there is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from ..models import GroupKey, PodState, QueueName
from .items import AS_IT_IS, Item, leaf_key, resting_items, turns_of
from .members import Members
from .standing import MEASURES, Measure, StandingTable

ItemId = tuple[GroupKey, str, int]
Row = tuple[int, ...]
Key = tuple[object, ...]
HUGE = float("inf")


class Ranks:
    """The items of one queue in order."""

    def __init__(self, ordered: Sequence[tuple[Item, Row]]) -> None:
        self.ordered = ordered

    @cached_property
    def at(self) -> Mapping[ItemId, int]:
        out: dict[ItemId, int] = {}
        for n, (item, _) in enumerate(self.ordered):
            out.setdefault(item.id, n)
        return out

    @cached_property
    def _last(self) -> Mapping[GroupKey, int]:
        """The place of the last item of each group."""
        return {item.group.key: n for n, (item, _) in enumerate(self.ordered)}

    def of(self, item: Item) -> int:
        """Return the item's rank.

        The k-th elastic member has the place of the k-th that could run; one that could not run
        beside those comes where the last of its group does, and what is unknown at the end.
        """
        last = self._last.get(item.group.key, len(self.ordered))
        return self.at.get(item.id, last)


class Rows:
    """The sizes of items, those of single pods looked up once for each spec."""

    def __init__(self, table: StandingTable) -> None:
        self._scene = table.scene
        self._rows: dict[int, Row] = {}

    def of(self, item: Item) -> Row:
        first, *others = item.pods
        if others:
            return tuple(int(v) for v in self._scene.rows(item.pods))
        spec = id(first.spec)
        if spec not in self._rows:
            self._rows[spec] = tuple(int(v) for v in self._scene.row(first))
        return self._rows[spec]


Beyond = tuple[Measure, frozenset[int]]
"""A measure, and the columns in which a prefix exceeds it."""


def beyond(
    table: StandingTable, queue: QueueName, rows: Iterable[Row]
) -> Iterator[tuple[Row, list[int], list[Beyond]]]:
    """Yield for each row in turn the prefix, the columns it asks for, and what is exceeded."""
    floors: list[tuple[Measure, Mapping[int, int]]] = [
        (m, table.floors[m][queue]) for m in MEASURES
    ]
    columns = sorted(table.columns)
    prefix: Row = (0,) * len(table.scene.ledger.resources)
    for row in rows:
        prefix = tuple([a + b for a, b in zip(prefix, row, strict=True)])
        asked = [r for r in columns if row[r]]
        found: list[Beyond] = []
        for m, most in floors:
            exceeded = [r for r in asked if prefix[r] > most[r]]
            if exceeded:
                found.append((m, frozenset(exceeded)))
        yield prefix, asked, found


@dataclass(slots=True)
class _Entry:
    """Made by the ten thousand, and never changed."""

    item: Item
    row: Row
    leaf: Key
    """Its key in the leaf order."""
    is_out: bool = False
    fill: float = 0.0

    def key(self) -> Key:
        return (self.is_out, self.fill, self.leaf)


class _Maker:
    """Walks the tree upwards, once with what runs and once with all that could run."""

    def __init__(self, table: StandingTable) -> None:
        self._table = table
        self._rows = Rows(table)

    @cached_property
    def _groups(self) -> Mapping[QueueName, Sequence[Members]]:
        """What runs of each queue's own groups, but for those that every plan gives up."""
        out: dict[QueueName, list[Members]] = {}
        for m in self._table.scene.roster.values():
            if m.running and m.key not in self._table.lost:
                out.setdefault(m.group.queue, []).append(m)
        return out

    def make(self) -> dict[QueueName, Ranks]:
        tree = self._table.scene.tree
        resting: dict[QueueName, list[_Entry]] = {}
        coming: dict[QueueName, list[_Entry]] = {}
        out: dict[QueueName, Ranks] = {}
        for q in reversed(tree.downwards):
            children = tree.children.get(q, ())
            nested = len(tree.path(q)) > 1
            if not children and not nested and self._in_leaf_order(q):
                out[q] = self._leaf_ranks(q)
                continue
            comes = [*self._own_coming(q), *(e for c in children for e in coming[c])]
            ordered = _sorted(comes, is_leaf=not children)
            out[q] = Ranks([(e.item, e.row) for e in ordered])
            if nested:  # nobody asks above the top
                rests = [*self._own_resting(q), *(e for c in children for e in resting[c])]
                resting[q] = self._walk(q, _sorted(rests, is_leaf=not children))
                coming[q] = self._settled(q, ordered, resting[q])
        return out

    def _settled(
        self, queue: QueueName, ordered: Sequence[_Entry], resting: Sequence[_Entry]
    ) -> list[_Entry]:
        """What runs stands as it does among what runs; a broken group where its running part is."""
        completed = {e.item.group.key for e in ordered if _completes(e.item)}
        counted = [
            e
            for e in ordered
            if not (e.item.position == AS_IT_IS and e.item.group.key in completed)
        ]
        runs = {_place(e.item): e for e in resting}
        walked = {id(e.item): e for e in self._walk(queue, counted)}
        out: list[_Entry] = []
        for e in ordered:
            judged = runs.get(_place(e.item)) if _is_running(e.item) else None
            if judged is None:
                out.append(walked[id(e.item)])
            else:
                out.append(_Entry(e.item, e.row, e.leaf, judged.is_out, judged.fill))
        return out

    def _in_leaf_order(self, queue: QueueName) -> bool:
        """Say whether nothing but the items themselves orders a queue's own."""
        share = self._table.scene.config.queues.get(queue)
        return share is None or share.within == "groups"

    def _leaf_ranks(self, queue: QueueName) -> Ranks:
        ordered = sorted(self._table.items.get(queue, ()), key=attrgetter("leaf"))
        return Ranks([(i, self._rows.of(i)) for i in ordered])

    def _own_resting(self, queue: QueueName) -> list[_Entry]:
        scene, members = self._table.scene, self._groups.get(queue, ())
        return self._entries(queue, [i for m in members for i in resting_items(scene, m)])

    def _own_coming(self, queue: QueueName) -> list[_Entry]:
        return self._entries(queue, self._table.items.get(queue, ()))

    def _entries(self, queue: QueueName, items: Sequence[Item]) -> list[_Entry]:
        turns = turns_of(self._table.scene, queue, items)
        return [
            _Entry(i, self._rows.of(i), leaf_key(i, turn))
            for i, turn in zip(items, turns, strict=True)
        ]

    def _walk(self, queue: QueueName, ordered: Sequence[_Entry]) -> list[_Entry]:
        """Judge entries by the entitlement, one behind the other."""
        table, out = self._table, list[_Entry]()
        most = table.floors["entitlement"][queue]
        shares = {r: (of.denominator, of.numerator) for r, of in table.entitlement[queue].items()}
        columns = sorted(table.columns)
        asks: dict[Row, list[int]] = {}
        prefix = dict.fromkeys(columns, 0)
        for e in ordered:
            row = e.row
            asked = asks.get(row)
            if asked is None:
                asked = asks[row] = [r for r in columns if row[r]]
            is_out, fill = False, 0.0
            for r in asked:
                prefix[r] = total = prefix[r] + row[r]
                times, share = shares[r]
                part = total * times / share if share else HUGE
                if part > fill:
                    fill = part
                if total > most[r]:
                    is_out = True
            out.append(_Entry(e.item, row, e.leaf, is_out, fill))
        return out


def _sorted(entries: Sequence[_Entry], is_leaf: bool) -> list[_Entry]:
    """Put entries in order; nothing of a leaf's has been judged yet."""
    return sorted(entries, key=attrgetter("leaf") if is_leaf else _Entry.key)


def _completes(item: Item) -> bool:
    return item.broken and item.kind == "minimum" and item.position != AS_IT_IS


def _is_running(item: Item) -> bool:
    return any(p.state is PodState.RUNNING for p in item.pods)


def _place(item: Item) -> ItemId:
    """Return an item's id, the same for a minimum that is completed and one that is not."""
    return (item.group.key, item.kind, 0 if item.kind == "minimum" else item.position)


def ranks_of(table: StandingTable) -> Mapping[QueueName, Ranks]:
    """Return every item that runs or could run, in the order of each queue; computed once."""
    return table.scene.once("ranks", lambda _: _Maker(table).make())
