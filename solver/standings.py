"""Standings: what running work is beyond what, as a draft grows; sums over whole queues at once.

The places of docs/design/order.md, section 3, for the items that all plans share: a started group
has the items of its minimum and of its first elastic members.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, QueueName
from ..policies.items import items_of, resting_items
from ..policies.ledger import Matrix
from ..policies.ranks import ItemId, ranks_of
from ..policies.standing import MEASURES, Measure, StandingTable
from ..policies.tracker import Mask
from .herd import Herd

Numbers = NDArray[np.intp]
_TOP = (1 << 62) - 1


class _Queue:
    """The items of one queue, in order."""

    def __init__(self, table: StandingTable, name: QueueName, items: Numbers, rows: Matrix) -> None:
        self.columns = np.array(sorted(table.columns), dtype=np.intp)
        self.items = items
        self.rows = rows[:, self.columns]
        self.asks = self.rows > 0
        self.most = {
            m: np.array(
                [min(_TOP, table.floors[m][name][int(r)]) for r in self.columns], dtype=rows.dtype
            )
            for m in MEASURES
        }
        self.version = 0
        """Counts changes."""
        self._prefix: tuple[int, Matrix] | None = None

    def exceeds(self, measure: Measure, asks: Numbers, active: Mask) -> Mask:
        """Say of each item whether what stands up to it is beyond the measure.

        In one of these columns that it asks for itself.
        """
        there = active[self.items]
        if self._prefix is None or self._prefix[0] != self.version:
            sums = np.cumsum(np.where(there[:, None], self.rows, 0), axis=0)
            self._prefix = (self.version, sums)
        out = (self._prefix[1][:, asks] > self.most[measure][asks]) & self.asks[:, asks]
        return np.asarray(out.any(axis=1) & there, dtype=np.bool_)


class Standings:
    """Which runners may lose what, at every queue and by every measure."""

    def __init__(self, table: StandingTable, herd: Herd) -> None:
        self._table, self._herd = table, herd
        self._scene = table.scene
        self._at: dict[ItemId, int] = {}
        rows: list[Sequence[int]] = []
        ordered: dict[QueueName, list[int]] = {}
        for q, ranked in ranks_of(table).items():
            mine = ordered[q] = []
            for item, row in ranked.ordered:
                if item.id not in self._at:
                    self._at[item.id] = len(rows)
                    rows.append(row)
                mine.append(self._at[item.id])
        width = len(self._scene.ledger.resources)
        matrix: Matrix = np.array(rows, dtype=self._scene.ledger.dtype).reshape(len(rows), width)
        self._queues = {
            q: _Queue(table, q, np.array(mine, dtype=np.intp), matrix[mine])
            for q, mine in ordered.items()
        }
        self._active: Mask = np.zeros(len(rows), dtype=np.bool_)
        self._runner = np.full(len(rows), -1, dtype=np.intp)
        self._minimum: Mask = np.zeros(len(rows), dtype=np.bool_)
        self._items: dict[GroupKey, list[int]] = {}
        self._rest()
        self._memo: dict[object, tuple[int, Any]] = {}
        self._outside: dict[QueueName, tuple[tuple[int, ...], Mask]] = {}

    def _rest(self) -> None:
        """Let stand what runs."""
        for m in self._scene.roster.values():
            if m.running and m.key not in self._table.lost and m.group.queue in self._queues:
                self._set(m.key, ())
                runner = self._herd.at.get(m.key)
                if runner is not None:
                    self._runner[self._items[m.key]] = runner
                for item in resting_items(self._scene, m):
                    at = self._at.get(item.id)
                    if at is not None and item.kind == "minimum":
                        self._minimum[at] = True

    def _set(self, group: GroupKey, started: Sequence[Pod]) -> None:
        m = self._scene.roster[group]
        self._active[self._items.get(group, [])] = False
        mine: list[int] = []
        if m.running or started:
            new = {p.key for p in started}
            coming = [p for p in m.pending if p.key in new] if new else ()
            items = items_of(self._scene, m, coming) if coming else resting_items(self._scene, m)
            mine = [self._at[i.id] for i in items if i.id in self._at]
        self._items[group] = mine
        self._active[mine] = True
        for q in self._scene.tree.path(m.group.queue):
            self._queues[q].version += 1

    def update(self, groups: Iterable[GroupKey], started: dict[GroupKey, list[Pod]]) -> None:
        """Take note that other pods of these groups start now."""
        for g in groups:
            if self._scene.roster[g].group.queue in self._queues:
                self._set(g, started.get(g, ()))

    def version(self, queue: QueueName) -> int:
        """Return a number that is another one when something has changed below the queue."""
        of = self._queues.get(queue)
        return of.version if of is not None else 0

    def beyond(
        self, queue: QueueName, measure: Measure, asks: Sequence[int]
    ) -> tuple[Mask, NDArray[np.int64]]:
        """Return of each runner whether its minimum is beyond, and how many elastic members are."""
        of = self._queues.get(queue)
        size = len(self._herd.runners)
        if of is None:
            return np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64)
        key = (queue, measure, tuple(asks))
        known = self._memo.get(key)
        if known is None or known[0] != of.version:
            asked = np.array([k for k, r in enumerate(of.columns) if r in asks], dtype=np.intp)
            exceeds = of.exceeds(measure, asked, self._active)
            self._memo[key] = known = (of.version, self._by_runner(of, exceeds))
        found: tuple[Mask, NDArray[np.int64]] = known[1]
        return found

    def _by_runner(self, of: _Queue, exceeds: Mask) -> tuple[Mask, NDArray[np.int64]]:
        items = of.items[exceeds]
        items = items[self._runner[items] >= 0]
        first = self._minimum[items]
        size = len(self._herd.runners)
        minimum = np.zeros(size, dtype=np.bool_)
        minimum[self._runner[items[first]]] = True
        return minimum, np.bincount(self._runner[items[~first]], minlength=size)

    def outside(self, queue: QueueName) -> Mask:
        """Say of the runners of a leaf which have anything that is out at some level."""
        path = self._scene.tree.path(queue)
        versions = tuple(map(self.version, path))
        known = self._outside.get(queue)
        if known is not None and known[0] == versions:
            return known[1]
        out = np.zeros(len(self._herd.runners), dtype=np.bool_)
        for q in path:
            minimum, elastic = self.beyond(q, "entitlement", sorted(self._table.columns))
            out |= minimum | (elastic > 0)
        self._outside[queue] = (versions, out)
        return out
