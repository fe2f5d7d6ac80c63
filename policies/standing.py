"""Standing: what queues are entitled to, and the work that it is shared out to.

Sections 2 and 3 of docs/design/order.md, in exact fractions; computed once per scene.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from ..models import GroupKey, Pod, QueueName
from .could_run import usable_pods
from .entitlement import Fractions, demand_of, dues_of, entitlements_of
from .evictable import flags_of, given_up
from .items import AS_IT_IS, Item, items_of, resting_items
from .ledger import Matrix
from .limits import Limits, limits_of
from .members import Members
from .scene import Scene

Measure = Literal["due", "entitlement"]
"""What a right is measured by: the due, or the entitlement (the due and a share of the rest)."""
MEASURES: tuple[Measure, ...] = ("due", "entitlement")


@dataclass(frozen=True, eq=False)
class StandingTable:
    """Entitlements of every queue, per column of the ledger that takes part."""

    scene: Scene
    limits: Limits
    columns: frozenset[int]
    """Resources that are shared out: all, and pod slots only where some queue names them."""
    could_run: Mapping[GroupKey, int]
    """How many pending pods of each group could run on the emptied cluster: 0, or its minimum."""
    usable: Mapping[GroupKey, tuple[Pod, ...]]
    """Those pods, in rank order."""
    lost: frozenset[GroupKey]
    """Broken groups that every plan gives up: they make no demand and have no items."""
    demand: Mapping[QueueName, Fractions]
    due: Mapping[QueueName, Fractions]
    entitlement: Mapping[QueueName, Fractions]
    items: Mapping[QueueName, Sequence[Item]]
    """Every item that runs or could run, by leaf."""

    def within(self, measure: Measure) -> Mapping[QueueName, Fractions]:
        """Return the amounts of a measure; where nobody names a resource, both are the share."""
        return self.entitlement if measure == "entitlement" else self._dues_or_shares

    @cached_property
    def _dues_or_shares(self) -> Mapping[QueueName, Fractions]:
        return {
            q: {r: self.due[q][r] if r in self.limits.named else e[r] for r in self.columns}
            for q, e in self.entitlement.items()
        }

    @cached_property
    def floors(self) -> Mapping[Measure, Mapping[QueueName, Mapping[int, int]]]:
        """The measures' integer parts: an integer exceeds a fraction just when it exceeds that."""
        return {
            m: {q: {r: int(v) for r, v in of.items()} for q, of in self.within(m).items()}
            for m in MEASURES
        }

    @cached_property
    def _shares(self) -> dict[tuple[int, int], Fraction]:
        return {}

    def share_of(self, pods: Sequence[Pod]) -> Fraction:
        """Return the dominant share of pods together; looked up once for as many equal ones."""
        kinds = {id(p.spec) for p in pods}
        if len(kinds) != 1:
            return self.share([int(v) for v in self.scene.rows(pods)])
        case = (kinds.pop(), len(pods))
        if case not in self._shares:
            self._shares[case] = self.share([int(v) for v in self.scene.rows(pods)])
        return self._shares[case]

    def holds_within(
        self,
        measure: Measure,
        use: Mapping[QueueName, Any],
        queues: Iterable[QueueName],
        asks: Iterable[int],
        more: Matrix | None = None,
    ) -> bool:
        """Say whether use (and so much more) stays within a measure in what is asked for.

        Nor may the use before the plan exceed it: queues that are both beyond would else take from
        each other at once, each of them within because the other one takes.
        """
        most, asked = self.floors[measure], [r for r in asks if r in self.columns]
        return all(
            self.limits.use[q][r] <= most[q][r]
            and int(use[q][r]) + (0 if more is None else int(more[r])) <= most[q][r]
            for q in queues
            for r in asked
        )

    def share(self, row: Sequence[int]) -> Fraction:
        """Return the dominant share of an amount: max over resources of amount / capacity."""
        capacity = self.limits.capacity
        shares = [
            Fraction(int(row[r]), capacity[r]) if capacity[r] else Fraction(1)
            for r in self.columns
            if row[r]
        ]
        return max(shares, default=Fraction(0))


def standing_of(scene: Scene) -> StandingTable:
    """Return the scene's standing table, computed once."""
    return scene.once("standing", _table)


def _table(scene: Scene) -> StandingTable:
    limits = limits_of(scene)
    width = len(scene.ledger.resources)
    named = limits.named
    columns = frozenset(r for r in range(width) if r not in scene.ledger.uncounted or r in named)
    could = usable_pods(scene)
    items: dict[QueueName, list[Item]] = {}
    more: dict[QueueName, list[Pod]] = {}
    lost = frozenset(m.key for m in scene.roster.broken if given_up(scene, m) and not could[m.key])
    queues = scene.tree.queues
    for m in scene.roster.values():
        queue = m.group.queue
        if queue in queues and m.key not in lost:
            pending = _chosen(m, could) if m.pending else ()
            mine = items_of(scene, m, pending) if pending else resting_items(scene, m)
            items.setdefault(queue, []).extend(mine)
            if pending:
                more.setdefault(queue, []).extend(pending)
    demand = demand_of(scene, limits, columns, _demanding(scene, lost, more))
    due = dues_of(scene, limits, columns)
    entitlement = entitlements_of(scene, limits, columns, demand, due)
    for q, of in items.items() if scene.roster.broken else ():
        # A broken group has two places: completed, and as it is.
        repaired = [
            scene.roster[i.group.key]
            for i in of
            if i.broken and i.kind == "minimum" and i.position != AS_IT_IS
        ]
        listed = {i.pods[0].key for i in of if i.kind == "elastic"}
        of += [
            i
            for m in repaired
            for i in items_of(scene, m, ())
            if i.kind == "minimum" or i.pods[0].key not in listed
        ]
        items[q] = of
    could_run = {g: len(pods) for g, pods in could.items()}
    return StandingTable(
        scene, limits, columns, could_run, could, lost, demand, due, entitlement, items
    )


def _demanding(
    scene: Scene, lost: frozenset[GroupKey], more: Mapping[QueueName, Sequence[Pod]]
) -> dict[QueueName, Matrix]:
    """Return what runs of each queue's own work, and these pending pods of it."""
    runs = scene.columns.running & scene.columns.ours
    if lost:
        runs = runs & ~flags_of(scene, lambda m: m.key in lost)
    own = scene.own_sums(runs)
    return own | {q: own[q] + scene.rows(pods) for q, pods in more.items()}


def _chosen(m: Members, could: Mapping[GroupKey, tuple[Pod, ...]]) -> Sequence[Pod]:
    """The pending pods counted as demand, in rank order."""
    if len(could[m.key]) in (0, len(m.pending)):
        return could[m.key]
    kept = {p.key for p in could[m.key]}
    return [p for p in m.pending if p.key in kept]
