"""Takers: which of the groups that start have a right to what a plan evicts of a victim.

The rights are those of rights.py, asked for all who start at once: what decides is the same for
every claimant of a queue that asks for the same resources.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from ..models import GroupKey, QueueName
from .evictable import loss_priority
from .items import Item
from .min_runtime import goes_too_soon
from .outcome import Outcome
from .places import may_go
from .prefixes import Prefixes, changed_by, items_after, items_of_started
from .rights import cross_branches, limit_of
from .scene import Scene
from .standing import MEASURES, Measure, standing_of

Asks = tuple[int, ...]
"""Columns of what a group asks for, the pod slot left out."""
_Ways = tuple[tuple[Measure, QueueName], ...]
"""Measures by which a claimant's queues may take, and the victim's branch that it may take from."""
_Kind = tuple[QueueName, int, Asks]
"""What a claimant's rights depend on: queue, priority, columns of what it asks for."""


_Into = tuple[list[_Kind], dict[tuple[_Ways, Asks], list[_Kind]]]
"""Kinds of a victim's own queue, and those of others by how they could have a right."""


class _Beyond:
    """Which of the items that run are beyond a measure, with all that starts."""

    def __init__(self, outcome: Outcome) -> None:
        self._scene = outcome.scene
        self._table = standing_of(outcome.scene)
        changed = changed_by(outcome.scene, outcome.started.keys())
        self._items: dict[GroupKey, list[Item]] = {}
        for g in changed:
            if items := items_of_started(outcome, self._table, g):
                self._items[g] = items
        self._changed = changed
        self._prefixes = Prefixes(self._table, changed, self._items)
        self._known: dict[
            tuple[GroupKey, QueueName, Measure], list[tuple[str, frozenset[int]]]
        ] = {}

    def may_lose(
        self,
        group: GroupKey,
        queue: QueueName,
        lost: int,
        running: int,
        measure: Measure,
        asks: Asks,
    ) -> bool:
        """Say whether so many of the group's running pods are beyond the measure at the queue.

        The whole group is beyond where its minimum is; single pods come off its elastic end.
        """
        over = self._over(group, queue, measure)
        minima = [not columns.isdisjoint(asks) for kind, columns in over if kind == "minimum"]
        singles = sum(not columns.isdisjoint(asks) for kind, columns in over if kind != "minimum")
        return may_go(lost, running, minima, singles)

    def _over(
        self, group: GroupKey, queue: QueueName, measure: Measure
    ) -> list[tuple[str, frozenset[int]]]:
        """Return the kinds of the items that run, and the columns in which they are beyond."""
        case = (group, queue, measure)
        if case not in self._known:
            table, prefixes = self._table, self._prefixes
            floors = table.floors[measure][queue]
            if group in self._changed:
                items = self._items.get(group, [])
            else:
                items = items_after(table, self._scene.roster[group], frozenset())
            out: list[tuple[str, frozenset[int]]] = []
            for item in items:
                if not item.new:
                    row = prefixes.row(item)
                    prefix = prefixes.before(queue, prefixes.key(queue, item))
                    over = {r for r in table.columns if row[r] and prefix[r] + row[r] > floors[r]}
                    out.append((item.kind, frozenset(over)))
            self._known[case] = out
        return self._known[case]


class _Claimants:
    """The kinds of groups that may preempt, looked up once for a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._columns: dict[int, frozenset[int]] = {}
        self._kinds: dict[GroupKey, _Kind | None] = {}

    def kind_of(self, group: GroupKey) -> _Kind | None:
        """Return the kind of a group; None if it may not preempt."""
        if group not in self._kinds:
            g = self._scene.roster[group].group
            able = g.may_preempt
            self._kinds[group] = (g.queue, g.priority, self._asks_of(group)) if able else None
        return self._kinds[group]

    def _asks_of(self, group: GroupKey) -> Asks:
        pods = self._scene.ledger.pods
        found: set[int] = set()
        m = self._scene.roster[group]
        samples = {id(p.spec): p for pods in (m.running, m.pending) for p in pods}
        for spec, p in samples.items():
            if spec not in self._columns:
                row = self._scene.row(p)
                self._columns[spec] = frozenset(r for r, v in enumerate(row) if v and r != pods)
            found |= self._columns[spec]
        return tuple(sorted(found))


class Takers:
    """Who may take what a plan evicts."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._scene = outcome.scene
        self._standing = standing_of(outcome.scene)
        known = self._scene.once("claimants", _Claimants)
        self.kinds: dict[GroupKey, _Kind] = {
            g: kind for g in outcome.started if (kind := known.kind_of(g)) is not None
        }
        """The kind of each group that starts and may preempt."""
        self._by_kind: dict[_Kind, list[GroupKey]] = {}
        for g, kind in self.kinds.items():
            self._by_kind.setdefault(kind, []).append(g)
        self._ways: dict[tuple[QueueName, QueueName, Asks], _Ways] = {}
        self._within: dict[tuple[tuple[QueueName, ...], Asks, Measure], bool] = {}
        self._loses: dict[tuple[GroupKey, _Ways, Asks], bool] = {}
        self._listed: dict[GroupKey, list[GroupKey]] = {}
        self._victims: dict[GroupKey, tuple[QueueName, int]] = {}
        """Queue and priority of victims."""
        self._open: dict[QueueName, _Into] = {}

    def of(self, victim: GroupKey) -> "TakersOf":
        """Return the groups that start and have a right to what is evicted of the victim."""
        return TakersOf(self, victim)

    def listed(self, victim: GroupKey) -> list[GroupKey]:
        """Return these groups one by one."""
        if victim not in self._listed:
            having = set(self.kinds_with_right(victim))
            self._listed[victim] = [
                g for g, kind in self.kinds.items() if kind in having and g != victim
            ]
        return self._listed[victim]

    def right(self, kind: _Kind, victim: GroupKey) -> str:
        """Return "own", "cross" or "" for no right of such a claimant to the victim's lost pods."""
        queue, priority, asks = kind
        of, top = self._victim(victim)
        if not self._is_below(queue, of, priority, top) or self._is_too_soon(queue, victim):
            return ""
        if queue == of:
            return "own"
        ways = self._ways_into(queue, of, asks)
        return "cross" if ways and self._may_lose(victim, ways, asks) else ""

    def _into(self, queue: QueueName) -> _Into:
        """Return who could have a right to work of a queue, those alike together."""
        if queue not in self._open:
            own: list[_Kind] = []
            cross: dict[tuple[_Ways, Asks], list[_Kind]] = {}
            for kind in self._by_kind:
                if kind[0] == queue:
                    own.append(kind)
                elif ways := self._ways_into(kind[0], queue, kind[2]):
                    cross.setdefault((ways, kind[2]), []).append(kind)
            self._open[queue] = (own, cross)
        return self._open[queue]

    def kinds_with_right(self, victim: GroupKey) -> Iterator[_Kind]:
        """Yield the kinds of claimants with a right to the victim's lost pods."""
        of, top = self._victim(victim)
        own, cross = self._into(of)
        if not self._is_too_soon(of, victim):
            yield from (k for k in own if self._is_below(of, of, k[1], top))
        for (ways, asks), kinds in cross.items():
            if self._may_lose(victim, ways, asks):
                for k in kinds:
                    if self._is_below(k[0], of, k[1], top) and not self._is_too_soon(k[0], victim):
                        yield k

    def _is_below(self, claimant: QueueName, victim: QueueName, priority: int, top: int) -> bool:
        limit = limit_of(self._scene, claimant, victim, priority)
        return limit is None or top < limit

    def _is_too_soon(self, claimant: QueueName, victim: GroupKey) -> bool:
        lost = len(self._outcome.losses.get(victim, ()))
        return goes_too_soon(self._scene, claimant, self._scene.roster[victim], lost)

    def groups(self, kind: _Kind) -> Sequence[GroupKey]:
        return self._by_kind[kind]

    @cached_property
    def everybody(self) -> frozenset[GroupKey]:
        """The groups with a right to any of the victims."""
        found: set[_Kind] = set()
        for victim in self._outcome.losses:
            found.update(self.kinds_with_right(victim))
        return frozenset(g for k in found for g in self._by_kind[k])

    def _victim(self, victim: GroupKey) -> tuple[QueueName, int]:
        if victim not in self._victims:
            m = self._scene.roster[victim]
            self._victims[victim] = (m.group.queue, loss_priority(m, self._outcome.losses[victim]))
        return self._victims[victim]

    @cached_property
    def _beyond(self) -> _Beyond:
        return _Beyond(self._outcome)

    def _ways_into(self, queue: QueueName, victim: QueueName, asks: Asks) -> _Ways:
        case = (queue, victim, asks)
        if case not in self._ways:
            ways: list[tuple[Measure, QueueName]] = []
            for measure in MEASURES:
                branches = cross_branches(self._scene, queue, victim, asks, measure)
                if branches is not None and self._is_within(branches.claimant, asks, measure):
                    ways.append((measure, branches.victim))
            self._ways[case] = tuple(ways)
        return self._ways[case]

    def _is_within(self, queues: tuple[QueueName, ...], asks: Asks, measure: Measure) -> bool:
        case = (queues, asks, measure)
        if case not in self._within:
            use = self._outcome.use_after
            self._within[case] = self._standing.holds_within(measure, use, queues, asks)
        return self._within[case]

    def _may_lose(self, victim: GroupKey, ways: _Ways, asks: Asks) -> bool:
        case = (victim, ways, asks)
        if case not in self._loses:
            lost = len(self._outcome.losses.get(victim, ()))
            running = len(self._scene.roster[victim].running)
            self._loses[case] = any(
                self._beyond.may_lose(victim, branch, lost, running, measure, asks)
                for measure, branch in ways
            )
        return self._loses[case]


class TakersOf(Sequence[GroupKey]):
    """The groups with a right to one victim; that one of them is among these is quick to say."""

    def __init__(self, takers: Takers, victim: GroupKey) -> None:
        self._takers = takers
        self._victim = victim

    def __contains__(self, group: object) -> bool:
        kind = self._takers.kinds.get(group)  # type: ignore[call-overload]  # whatever it is
        if kind is None or group == self._victim:
            return False
        return bool(self._takers.right(kind, self._victim))

    def __bool__(self) -> bool:
        takers, victim = self._takers, self._victim
        return any(g != victim for k in takers.kinds_with_right(victim) for g in takers.groups(k))

    @property
    def has_own(self) -> bool:
        """Say whether one of them is of the victim's own queue."""
        takers, victim = self._takers, self._victim
        return any(
            takers.right(k, victim) == "own" and any(g != victim for g in takers.groups(k))
            for k in takers.kinds_with_right(victim)
        )

    @property
    def _groups(self) -> list[GroupKey]:
        return self._takers.listed(self._victim)

    def __iter__(self) -> Iterator[GroupKey]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, at: int) -> GroupKey: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[GroupKey]: ...

    def __getitem__(self, at: int | slice) -> GroupKey | Sequence[GroupKey]:
        return self._groups[at]


def takers_of(outcome: Outcome) -> Takers:
    """Return who may take what a plan evicts; kept with the outcome."""
    known = outcome.kept_takers
    if known is None:
        known = outcome.kept_takers = Takers(outcome)
    assert isinstance(known, Takers)
    return known
