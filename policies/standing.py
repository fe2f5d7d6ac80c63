"""Standing: what queues are entitled to, and which work is in and which is out.

Sections 2 and 3 of docs/design/order.md, in exact fractions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

from ..models import UNLIMITED, Group, GroupKey, NodeName, Pod, PodKey, PodState, PodTerm, QueueName
from ..models.queue import ROOT
from .evictable import evictable, given_up
from .fitting import Field, emptied, is_tied
from .holds import holds
from .ledger import Matrix
from .limits import Limits, limits_of
from .members import Item, Kind, Members, Standing
from .pod_affinity import matches_all
from .scene import Scene
from .waterfill import water_fill

Fractions = Mapping[int, Fraction]
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

    def share(self, row: Sequence[int]) -> Fraction:
        """Return the dominant share of an amount: max over resources of amount / capacity."""
        capacity = self.limits.capacity
        shares = [
            Fraction(int(row[r]), capacity[r]) if capacity[r] else Fraction(1)
            for r in self.columns
            if row[r]
        ]
        return max(shares, default=Fraction(0))


_MEMO: WeakKeyDictionary[Scene, StandingTable] = WeakKeyDictionary()


def standing_of(scene: Scene) -> StandingTable:
    """Return the scene's standing table, computed once."""
    if scene not in _MEMO:
        _MEMO[scene] = _table(scene)
    return _MEMO[scene]


def nominated_pods(scene: Scene) -> frozenset[PodKey]:
    """Return the pods that the cycle before promised a place: their items rank as if running."""
    return frozenset(k for k, _ in scene.snapshot.nominations)


# Items


AS_IT_IS = -1
"""Position of a broken group's minimum that is not completed."""


def items_of(scene: Scene, m: Members, pending: Sequence[Pod]) -> list[Item]:
    """Return the group's items if these pending pods start: its minimum, and elastic members."""
    promised = nominated_pods(scene)
    g = m.group
    broken = m.standing is Standing.BROKEN

    def item(kind: Kind, pods: Sequence[Pod], new: bool, position: int = 0) -> Item:
        fresh = new and not any(p.key in promised for p in pods)
        return Item(g, kind, tuple(pods), fresh, broken, position)

    out: list[Item] = []
    if m.standing is Standing.NEW:
        first, elastic = m.split(pending)
        out.append(item("minimum", first, True))
        out += [item("elastic", (p,), True, i) for i, p in enumerate(elastic)]
        return [i for i in out if i.pods]
    if m.standing is Standing.BROKEN:
        first, elastic = m.split([*m.running, *pending])
        whole = m.is_whole(first)
        out.append(item("minimum", first, False, 0 if whole else AS_IT_IS))
        out += [item("elastic", (p,), True, i) for i, p in enumerate(elastic)]
        return out
    first, surplus = m.split(m.running)
    if first:
        out.append(item("minimum", first, False))
    out += [item("elastic", (p,), False, i) for i, p in enumerate(surplus)]
    at = len(surplus)
    out += [item("elastic", (p,), True, at + i) for i, p in enumerate(pending)]
    return out


def leaf_key(item: Item, turn: int = 0) -> tuple[object, ...]:
    """The leaf order; ``turn`` is the place in progressive filling over namespaces or users."""
    g = item.group
    return (
        not item.broken,
        -g.priority,
        item.new,
        item.kind == "elastic",
        turn if item.new else 0,
        g.created_s,
        g.key,
        item.position,
    )


# The table


def _table(scene: Scene) -> StandingTable:
    limits = limits_of(scene)
    width = len(scene.ledger.resources)
    named = limits.named
    columns = frozenset(
        r for r in range(width) if r != scene.ledger.pods or scene.ledger.pods in named
    )
    could = _could_run(scene)
    items: dict[QueueName, list[Item]] = {}
    lost = frozenset(
        m.key for m in scene.roster.values() if given_up(scene, m) and not could[m.key]
    )
    for m in scene.roster.values():
        if m.group.queue in scene.tree and m.key not in lost:
            pending = _chosen(m, could)
            items.setdefault(m.group.queue, []).extend(items_of(scene, m, pending))
    demand = _demand(scene, limits, columns, items)
    due = _dues(scene, limits, columns)
    entitlement = _entitlements(scene, limits, columns, demand, due)
    for q, of in items.items():
        # A broken group has two places: completed, and as it is.
        repaired = [
            scene.roster[i.group.key]
            for i in of
            if i.broken and i.kind == "minimum" and i.position != AS_IT_IS
        ]
        of += [i for m in repaired for i in items_of(scene, m, ())]
        items[q] = of
    could_run = {g: len(pods) for g, pods in could.items()}
    return StandingTable(
        scene, limits, columns, could_run, could, lost, demand, due, entitlement, items
    )


def _chosen(m: Members, could: Mapping[GroupKey, tuple[Pod, ...]]) -> Sequence[Pod]:
    """The pending pods counted as demand, in rank order."""
    kept = {p.key for p in could[m.key]}
    return [p for p in m.pending if p.key in kept]


def party_of(scene: Scene, group: Group) -> str | None:
    """Return the namespace or user that shares the group's queue; None where groups do."""
    share = scene.config.queues.get(group.queue)
    if share is None or share.within == "groups":
        return None
    return group.namespace if share.within == "namespaces" else group.user


def turns_of(scene: Scene, q: QueueName, items: Sequence[Item]) -> list[int]:
    """Progressive filling inside a queue over namespaces or users, where configured."""
    if party_of(scene, items[0].group) is None if items else True:
        return [0] * len(items)

    def party(i: Item) -> str:
        return party_of(scene, i.group) or ""

    capacity = limits_of(scene).capacity

    use: dict[str, list[int]] = {}
    width = len(capacity)

    def share_of(row: Sequence[int]) -> Fraction:
        parts = [
            Fraction(row[r], capacity[r])
            for r in range(width)
            if capacity[r] and r != scene.ledger.pods
        ]
        return max(parts, default=Fraction(0))

    def take(i: Item) -> None:
        row = scene.rows(i.pods)
        old = use.setdefault(party(i), [0] * width)
        use[party(i)] = [a + int(b) for a, b in zip(old, row, strict=True)]

    turns = [0] * len(items)
    for i in items:
        if not i.new:
            take(i)
    waiting = sorted((n for n, i in enumerate(items) if i.new), key=lambda n: leaf_key(items[n]))
    turn = 0
    while waiting:
        turn += 1
        zero = [0] * width
        best = min(
            waiting,
            key=lambda n: (
                leaf_key(items[n])[:4], share_of(use.get(party(items[n]), zero)), waiting.index(n)
            ),
        )  # fmt: skip
        waiting.remove(best)
        turns[best] = turn
        take(items[best])
    return turns


def _could_run(scene: Scene) -> dict[GroupKey, tuple[Pod, ...]]:
    """Return the pending pods of each group that could run on the emptied cluster."""
    field = emptied(scene)
    memo: dict[object, tuple[int, ...]] = {}
    out: dict[GroupKey, tuple[Pod, ...]] = {}
    company = _Company(scene)
    for m in scene.roster.values():
        out[m.key] = ()
        field.met = company.met(m)
        if m.running and m.pending:
            with_own = _with_running(scene, field, m)
            if next(iter(holds(scene, m.key)), None) is None:
                kept = {p.key for p in _runs(scene, field, m)}
                out[m.key] = tuple(p for p in m.pending if p.key in kept)
            for p, i in with_own:
                field.add(p, i, -1)
            continue
        if not m.pending or next(iter(holds(scene, m.key)), None) is not None:
            continue
        key: object = m.key
        if not any(p.spec.sees_pods for p in m.pending):
            key = (
                m.standing, m.need, tuple(sorted(m.role_need.items())), len(m.running),
                tuple((id(p.spec), p.role) for p in (*m.running, *m.pending)),
            )  # fmt: skip
        if key not in memo:
            kept = {p.key for p in _runs(scene, field, m)}
            memo[key] = tuple(i for i, p in enumerate(m.pending) if p.key in kept)
        out[m.key] = tuple(m.pending[i] for i in memo[key])
    return out


class _Company:
    """Whose wish for company other groups or foreign pods could meet: that counts as met."""

    def __init__(self, scene: Scene) -> None:
        self._there = [
            p
            for p in scene.snapshot.pods
            if (p.state is PodState.RUNNING or (p.ours and p.state is PodState.PENDING))
            and not (p.group is not None and given_up(scene, scene.roster[p.group]))
        ]
        self._who: dict[tuple[PodTerm, ...], frozenset[GroupKey | None]] = {}

    def met(self, m: Members) -> frozenset[PodKey]:
        return frozenset(
            p.key for p in m.pending if p.spec.affinity and self._others(p.spec.affinity) - {m.key}
        )

    def _others(self, terms: tuple[PodTerm, ...]) -> frozenset[GroupKey | None]:
        if terms not in self._who:
            self._who[terms] = frozenset(p.group for p in self._there if matches_all(terms, p))
        return self._who[terms]


def _with_running(scene: Scene, field: Field, m: Members) -> list[tuple[Pod, int]]:
    """Put the group's own running members back: they stay where they are."""
    back = [
        (p, scene.index[p.node])
        for p in m.running
        if p.node in scene.index and (evictable(scene, p) or given_up(scene, m))
    ]
    for p, i in back:
        field.add(p, i)
    return back


def _runs(scene: Scene, field: Field, m: Members) -> list[Pod]:
    """Return the pending pods that could run: none, or the minimum's and as many more as could."""
    usable = [
        p
        for p in m.pending
        if field.candidates(p, together=True).any() and _allowed(scene, m, scene.row(p))
    ]
    chosen = _first_that_runs(scene, field, m, usable)
    if chosen is None:
        return []
    first, places = chosen
    if places is None:
        return list(first)
    if any(is_tied(p) for p in usable) and len(usable) <= TIED:
        return _grown(scene, field, m, first, usable)
    placed = [(p, scene.index[places[p.key]]) for p in first]
    for p, i in placed:
        field.add(p, i)
    taken = {p.key for p in first}
    total = scene.rows(first)
    for p in usable:
        if p.key not in taken and _allowed(scene, m, total + scene.row(p)):
            spots = field.candidates(p)
            if spots.any():
                i = int(spots.argmax())
                field.add(p, i)
                placed.append((p, i))
                total = total + scene.row(p)
    for p, i in placed:
        field.add(p, i, -1)
    return [p for p, _ in placed]


def _first_that_runs(
    scene: Scene, field: Field, m: Members, usable: Sequence[Pod]
) -> tuple[tuple[Pod, ...], Mapping[PodKey, NodeName] | None] | None:
    """Return the best ranked minimum that can be placed, and where; None if there is none.

    Without places: the search for them gave up, and only a proof says no.
    """
    if m.standing is Standing.WHOLE:
        return (), {}
    unsure: tuple[Pod, ...] | None = None
    for first in m.minima(usable):
        if not _allowed(scene, m, scene.rows(first)):
            continue
        fit = field.place(first)
        if fit.places is not None:
            return first, fit.places
        if not fit.proven and unsure is None:
            unsure = first
    return None if unsure is None else (unsure, None)


TIED = 10
"""Up to so many pods with ties to others are placed together, each anew, to see what could run."""


def _grown(
    scene: Scene, field: Field, m: Members, first: Sequence[Pod], usable: Sequence[Pod]
) -> list[Pod]:
    """Return the pods that could run together, elastic ones added one by one."""
    chosen = list(first)
    total = scene.rows(first)
    for p in usable:
        if p in chosen or not _allowed(scene, m, total + scene.row(p)):
            continue
        if field.place([*chosen, p]).places is not None:
            chosen.append(p)
            total = total + scene.row(p)
    return chosen


def _allowed(scene: Scene, m: Members, row: Matrix) -> bool:
    """Say whether so much more of the group stays inside limits and dues.

    Beside its own running members and work that cannot be evicted.
    """
    limits = limits_of(scene)
    stays, fixed = _unmovable(scene)
    going = given_up(scene, m)  # then none of its members is counted yet
    own = scene.rows([p for p in m.running if going or evictable(scene, p)])
    own_fixed = scene.rows(m.running if going else ())
    for q in scene.tree.path(m.group.queue):
        for r, top in enumerate(limits.limit[q]):
            if top is not None and row[r] and stays[q][r] + own[r] + row[r] > top:
                return False
        if not m.group.preemptable:
            for r, due in limits.due_named(q).items():
                if row[r] and fixed[q][r] + own_fixed[r] + row[r] > due:
                    return False
    return True


def _unmovable(scene: Scene) -> tuple[Mapping[QueueName, Matrix], Mapping[QueueName, Matrix]]:
    """Return, by queue, the use that cannot be evicted, and that of non-preemptible groups."""
    if scene not in _UNMOVABLE:
        stays = {q: scene.ledger.zero() for q in scene.tree.queues}
        fixed = {q: scene.ledger.zero() for q in scene.tree.queues}
        for m in scene.roster.values():
            if given_up(scene, m):
                continue
            left = [p for p in m.running if not evictable(scene, p)]
            for q in scene.tree.path(m.group.queue) if m.running else ():
                stays[q] = stays[q] + scene.rows(left)
                if not m.group.preemptable:
                    fixed[q] = fixed[q] + scene.rows(m.running)
        _UNMOVABLE[scene] = (stays, fixed)
    return _UNMOVABLE[scene]


_UNMOVABLE: "WeakKeyDictionary[Scene, tuple[dict[QueueName, Matrix], dict[QueueName, Matrix]]]" = (
    WeakKeyDictionary()
)


def _demand(
    scene: Scene, limits: Limits, columns: frozenset[int], items: Mapping[QueueName, Sequence[Item]]
) -> dict[QueueName, dict[int, Fraction]]:
    out: dict[QueueName, dict[int, Fraction]] = {}
    for q in reversed(scene.tree.downwards):
        total = {r: Fraction(0) for r in columns}
        for child in scene.tree.children.get(q, ()):
            for r in columns:
                total[r] += out[child][r]
        for item in items.get(q, ()):
            row = scene.rows(item.pods)
            for r in columns:
                total[r] += int(row[r])
        for r in columns:
            most = limits.limit[q][r]
            top = limits.root[r] if most is None else min(limits.root[r], most)
            total[r] = min(total[r], Fraction(max(0, top)))
        out[q] = total
    return out


def _dues(
    scene: Scene, limits: Limits, columns: frozenset[int]
) -> dict[QueueName, dict[int, Fraction]]:
    """Return the dues; UNLIMITED where nothing bounds them."""
    out: dict[QueueName, dict[int, Fraction]] = {}
    for q in reversed(scene.tree.downwards):
        named = limits.deserved[q]
        mine: dict[int, Fraction] = {}
        for r in columns:
            if r in named:
                mine[r] = Fraction(named[r])
            elif r not in limits.named:
                mine[r] = Fraction(0)
            elif scene.tree.children.get(q):
                parts = [out[c][r] for c in scene.tree.children[q]]
                mine[r] = min(sum(parts, Fraction(0)), Fraction(UNLIMITED))
            elif scene.config.literal_deserved:
                mine[r] = Fraction(0)
            else:
                mine[r] = Fraction(UNLIMITED)
        out[q] = mine
    return out


def _entitlements(
    scene: Scene,
    limits: Limits,
    columns: frozenset[int],
    demand: Mapping[QueueName, Fractions],
    due: Mapping[QueueName, Fractions],
) -> dict[QueueName, dict[int, Fraction]]:
    out: dict[QueueName, dict[int, Fraction]] = {q: {} for q in scene.tree.downwards}
    for parent in (ROOT, *scene.tree.downwards):
        children = scene.tree.children.get(parent, ())
        for r in columns if children else ():
            amount = Fraction(limits.root[r]) if parent == ROOT else out[parent][r]
            first = {
                q: min(max(due[q][r], Fraction(limits.guarantee[q][r])), demand[q][r])
                for q in children
            }
            rest = amount - sum(first.values(), Fraction(0))
            more = {q: Fraction(0) for q in children}
            queues = scene.tree.queues
            for level in sorted({queues[q].priority for q in children}, reverse=True):
                if rest <= 0:
                    break
                peers = [q for q in children if queues[q].priority == level]
                filled = water_fill(
                    rest, [(queues[q].weight, demand[q][r] - first[q]) for q in peers]
                )
                for q, v in zip(peers, filled, strict=True):
                    more[q] = v
                    rest -= v
            if rest > 0 and r not in limits.named:
                # Nobody has a due of it: what the others leave is open to weight 0 as well.
                last = [q for q in children if not queues[q].weight]
                filled = water_fill(rest, [(1, demand[q][r] - first[q]) for q in last])
                more |= zip(last, filled, strict=True)
            for q in children:
                out[q][r] = first[q] + more[q]
    return out
