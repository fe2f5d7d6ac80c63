"""Standings: what running work is beyond what, as a draft grows; sums over whole queues at once.

The places of docs/design/order.md, section 3, for the items that all plans share: a started group
has the items of its minimum and of its first elastic members.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, PodKey, PodState, QueueName
from ..policies.items import ids_of
from ..policies.ledger import Matrix
from ..policies.members import Members
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
        self.total: Matrix = np.zeros(len(self.columns), dtype=rows.dtype)
        """What all that stands takes."""
        self._prefix: tuple[int, Matrix] | None = None

    def may_exceed(self, measure: Measure, asks: Numbers) -> bool:
        """Say whether all that stands is beyond the measure somewhere: else no part of it is."""
        most = self.most[measure]
        return any(self.total[r] > most[r] for r in asks.tolist())

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
        rests: dict[GroupKey, list[int]] = {}
        """What stands of groups that are whole."""
        minima: list[int] = []
        known: dict[int, int] = {}
        ordered: dict[QueueName, list[int]] = {}
        for q, ranked in ranks_of(table).items():
            mine = ordered[q] = []
            for item, row in ranked.ordered:
                at = known.get(id(item))
                if at is None:
                    at = known[id(item)] = self._at.setdefault(item.id, len(rows))
                    if at == len(rows):
                        rows.append(row)
                        if not item.broken and item.pods[0].state is PodState.RUNNING:
                            rests.setdefault(item.group.key, []).append(at)
                            minima += [at] if item.kind == "minimum" else []
                mine.append(at)
        width = len(self._scene.ledger.resources)
        matrix: Matrix = np.array(rows, dtype=self._scene.ledger.dtype).reshape(len(rows), width)
        self._queues = {
            q: _Queue(table, q, np.array(mine, dtype=np.intp), matrix[mine])
            for q, mine in ordered.items()
        }
        self._rows: Matrix = matrix[:, sorted(table.columns)]
        self._active: Mask = np.zeros(len(rows), dtype=np.bool_)
        self._runner = np.full(len(rows), -1, dtype=np.intp)
        self._minimum: Mask = np.zeros(len(rows), dtype=np.bool_)
        self._items: dict[GroupKey, list[int]] = {}
        self._minimum[minima] = True
        self._rest(rests)
        self._memo: dict[object, tuple[int, Any]] = {}
        size = len(herd.runners)
        self._none = (np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64))
        self._outside: dict[QueueName, tuple[tuple[int, ...], Mask]] = {}

    def _rest(self, rests: dict[GroupKey, list[int]]) -> None:
        """Let stand what runs."""
        for m in self._scene.roster.broken:
            if m.running and m.key not in self._table.lost and m.group.queue in self._queues:
                rests[m.key] = self._places(m, ())
                first = [self._at.get(i) for i in ids_of(m, ()) if i[1] == "minimum"]
                self._minimum[[at for at in first if at is not None]] = True
        for key, mine in rests.items():
            self._items[key] = mine
            self._active[mine] = True
            runner = self._herd.at.get(key)
            if runner is not None:
                self._runner[mine] = runner
        for of in self._queues.values():
            of.total = of.rows[self._active[of.items]].sum(axis=0)

    def _places(self, m: Members, started: Collection[PodKey]) -> list[int]:
        """Return the items of a group, were these pods of it to start."""
        coming = [p for p in m.pending if p.key in started] if started else ()
        found = map(self._at.get, ids_of(m, coming) if m.running or coming else ())
        return [at for at in found if at is not None]

    def _set(self, group: GroupKey, started: Sequence[Pod]) -> None:
        m = self._scene.roster[group]
        before = self._items.get(group, [])
        mine = self._items[group] = self._places(m, {p.key for p in started})
        if mine == before:
            return
        grows = mine[: len(before)] == before
        come, left = (mine[len(before) :], []) if grows else (mine, before)
        self._active[left] = False
        self._active[come] = True
        more = self._rows[come[0]] if len(come) == 1 else self._rows[come].sum(axis=0)
        if left:
            more = more - self._rows[left].sum(axis=0)
        for q in self._scene.tree.path(m.group.queue):
            of = self._queues[q]
            of.version += 1
            of.total = of.total + more

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
        if of is None:
            return self._none
        key = (queue, measure, tuple(asks))
        known = self._memo.get(key)
        if known is None or known[0] != of.version:
            asked = np.array([k for k, r in enumerate(of.columns) if r in asks], dtype=np.intp)
            made = self._none
            if of.may_exceed(measure, asked):
                made = self._by_runner(of, of.exceeds(measure, asked, self._active))
            self._memo[key] = known = (of.version, made)
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
