"""What could run: on the cluster emptied of evictable work, alone and inside every limit and due.

Section 1 of docs/design/order.md: only that makes demand.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

from ..models import GroupKey, NodeName, Pod, PodKey, PodState, PodTerm, QueueName
from .begun import with_begun_kept
from .evictable import evictable, evictable_flags, flags_of, given_up, given_up_flags
from .fitting import Field, is_tied
from .holds import holds
from .ledger import Matrix
from .limits import limits_of
from .members import Members, Standing
from .pod_affinity import matches_all
from .scene import Scene


def emptied(scene: Scene) -> Field:
    """Return the cluster as it would be without evictable work and groups that may be given up."""
    leaves = evictable_flags(scene) | given_up_flags(scene)
    room = scene.room_later + scene.taken(leaves & scene.columns.holding)
    return Field(scene, room, scene.world(leaving=leaves))


def usable_pods(scene: Scene) -> dict[GroupKey, tuple[Pod, ...]]:
    """Return the pending pods of each group that could run on the emptied cluster."""
    nobody: dict[GroupKey, tuple[Pod, ...]] = dict.fromkeys(scene.roster.keys(), ())
    usable = _Usable(scene)
    found = nobody | {m.key: usable.of(m) for m in scene.roster.waiting}
    short = [m.key for m in scene.roster.waiting if len(found[m.key]) < len(m.pending)]
    short = [key for key in short if any(p.spec.claims for p in scene.roster[key].pending)]
    for kept in with_begun_kept(scene) if short else ():
        usable = _Usable(kept)
        for key in short:
            found[key] = max(found[key], usable.of(kept.roster[key]), key=len)
    return found


def could_run(scene: Scene, key: GroupKey) -> bool:
    """Say whether some pending pods of one group could run, without looking at any other group."""
    return any(_Usable(of).of(of.roster[key]) for of in chain([scene], with_begun_kept(scene)))


class _Usable:
    """Asks group by group which pending pods could run; equal groups once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._field = emptied(scene)
        self._labels = labels_of if repels(scene) else None
        self._memo: dict[object, tuple[int, ...]] = {}
        self._company = _Company(scene)
        self._alike = Alike(scene, self._field)

    def of(self, m: Members) -> tuple[Pod, ...]:
        if not m.pending:
            return ()
        scene, field = self._scene, self._field
        field.met = self._company.met(m)
        held = next(iter(holds(scene, m.key)), None) is not None
        if m.running:
            with_own = with_running(scene, field, m)
            kept = set() if held else {p.key for p in _runs(scene, field, m)}
            for p, i in with_own:
                field.add(p, i, -1)
            return tuple(p for p in m.pending if p.key in kept)
        if held:
            return ()
        counted = self._alike.usable(m)
        if counted is not None:
            return counted
        key = self._kind(m)
        if key not in self._memo:
            kept = {p.key for p in _runs(scene, field, m)}
            self._memo[key] = tuple(i for i, p in enumerate(m.pending) if p.key in kept)
        return tuple(m.pending[i] for i in self._memo[key])

    def _kind(self, m: Members) -> object:
        """Return what tells the group apart from others, to this question."""
        tied = any(p.spec.sees_pods for p in m.pending) or self._scene.bonds.of_group(m.key)
        if tied or m.choices:
            return m.key
        labels = self._labels and tuple(map(self._labels, m.pending))
        return (
            m.standing, m.need, tuple(sorted(m.role_need.items())), m.group.queue,
            m.group.preemptable, tuple((id(p.spec), p.role) for p in m.pending), labels,
        )  # fmt: skip


def repels(scene: Scene) -> bool:
    """Say whether some pod keeps others away by their labels."""
    return scene.asks("anti_affinity")


def labels_of(pod: Pod) -> object:
    """Return what terms of other pods tell pods apart by."""
    return (pod.namespace, tuple(sorted(pod.labels.items())))


class Alike:
    """Groups whose members are all alike: counting tells how many of them could run.

    Nothing of such a group runs, and nothing ties its pods to others but that they level
    themselves over domains. Then equal pods fill the nodes to the same number in any order.
    """

    def __init__(self, scene: Scene, field: Field) -> None:
        self._scene = scene
        self._field = field
        self._fit: dict[tuple[object, ...], tuple[int, int]] = {}
        """How many pods of a kind fit, and how many were asked for."""
        self._simple: dict[int, bool | None] = {}
        """Whether pods of a spec have no ties at all; None: more than levelling."""
        self._room: dict[tuple[QueueName, bool, int], int] = {}
        self._repelled = repels(scene)

    def usable(self, m: Members) -> tuple[Pod, ...] | None:
        """Return the pods of the group that could run; None where counting cannot tell."""
        first = m.pending[0]
        spec = first.spec
        if any(p.spec is not spec for p in m.pending):
            return None
        bonds = self._scene.bonds.of_group(m.key)
        if any(b.required is not None for b in bonds):
            return None
        if bonds and len({(p.role, p.subgroups) for p in m.pending}) > 1:
            return None
        fit = self._copies(m.pending)
        if fit is None:
            return None
        fit = max(0, min(fit, self._allowed(m, first)))
        best: tuple[Pod, ...] = ()
        if m.standing is not Standing.WHOLE:
            best = m.split(m.pending)[0]
            if len(best) > max(fit, m.least) and m.choices:
                return None  # other parts may do with fewer
            if len(best) > fit or not m.is_whole(best):
                return ()
        if fit >= len(m.pending):
            return m.pending
        chosen = {p.key for p in best}
        more = [p.key for p in m.pending if p.key not in chosen]
        chosen.update(more[: fit - len(best)])
        return tuple(p for p in m.pending if p.key in chosen)

    def _copies(self, pods: Sequence[Pod]) -> int | None:
        first = pods[0]
        simple = self._is_simple(first)
        if simple is None:
            return None
        kind: tuple[object, ...] = (id(first.spec),)
        if not simple or self._repelled:
            if any(p.labels != first.labels for p in pods):
                return None
            kind = (id(first.spec), labels_of(first))
        most, asked = self._fit.get(kind, (0, 0))
        if most == asked < len(pods):
            asked = max(len(pods), 2 * asked)
            count = self._field.copies if simple else self._field.level_copies
            found = count(first, asked)
            if found is None:
                return None
            most = found
            self._fit[kind] = (most, asked)
        return min(most, len(pods))

    def _is_simple(self, pod: Pod) -> bool | None:
        spec = pod.spec
        if id(spec) not in self._simple:
            levels = any(c.hard for c in spec.spread)
            near = spec.affinity or spec.anti_affinity
            tied = near or spec.host_ports or spec.volumes or spec.claims
            self._simple[id(spec)] = None if tied else not levels
        return self._simple[id(spec)]

    def _allowed(self, m: Members, pod: Pod) -> int:
        """Return how many pods of the group stay inside limits and dues, as ``_allowed`` says."""
        g = m.group
        key = (g.queue, g.preemptable, id(pod.spec))
        if key not in self._room:
            scene, row = self._scene, self._scene.row(pod)
            stays, fixed = _unmovable(scene)
            limits = limits_of(scene)
            left = len(scene.snapshot.pods)
            for q in scene.tree.path(g.queue):
                for r, top in enumerate(limits.limit[q]):
                    if top is not None and row[r]:
                        left = min(left, (top - int(stays[q][r])) // int(row[r]))
                for r, due in limits.due_named(q).items() if not g.preemptable else ():
                    if row[r]:
                        left = min(left, (due - int(fixed[q][r])) // int(row[r]))
            self._room[key] = left
        return self._room[key]


class _Company:
    """Whose wish for company other groups or foreign pods could meet: that counts as met."""

    def __init__(self, scene: Scene) -> None:
        self._wished = scene.asks("affinity")
        self._there = [
            p
            for p in (scene.snapshot.pods if self._wished else ())
            if (p.state is PodState.RUNNING and not self._leaves(scene, p))
            or (p.ours and p.state is PodState.PENDING)
        ]
        self._who: dict[tuple[PodTerm, ...], frozenset[GroupKey | None]] = {}

    @staticmethod
    def _leaves(scene: Scene, pod: Pod) -> bool:
        return pod.group is not None and given_up(scene, scene.roster[pod.group])

    def met(self, m: Members) -> frozenset[PodKey]:
        if not self._wished:
            return frozenset()
        return frozenset(
            p.key for p in m.pending if p.spec.affinity and self._others(p.spec.affinity) - {m.key}
        )

    def _others(self, terms: tuple[PodTerm, ...]) -> frozenset[GroupKey | None]:
        if terms not in self._who:
            self._who[terms] = frozenset(p.group for p in self._there if matches_all(terms, p))
        return self._who[terms]


def met_by_others(scene: Scene, m: Members) -> frozenset[PodKey]:
    """Return the group's pods whose wish for company counts as met: others could give it."""
    return _Company(scene).met(m)


def with_running(scene: Scene, field: Field, m: Members) -> list[tuple[Pod, int]]:
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
    bound = bool(scene.bonds.of_group(m.key))
    if (bound or any(is_tied(p) for p in usable)) and len(usable) <= TIED:
        return _grown(scene, field, m, first, usable)
    if bound and not any(is_tied(p) for p in usable):
        return _grown_by_kind(scene, field, m, first, usable)
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


def _grown_by_kind(
    scene: Scene, field: Field, m: Members, first: Sequence[Pod], usable: Sequence[Pod]
) -> list[Pod]:
    """Return the pods that could run together, equal elastic ones as many as could."""
    chosen = list(first)
    taken = {p.key for p in first}
    kinds: dict[object, list[Pod]] = {}
    for p in usable:
        if p.key not in taken:
            kinds.setdefault((id(p.spec), p.role, p.subgroups), []).append(p)
    for same in kinds.values():
        least, most = 0, len(same)
        while least < most:
            n = (least + most + 1) // 2
            more = [*chosen, *same[:n]]
            if _allowed(scene, m, scene.rows(more)) and field.place(more).places is not None:
                least = n
            else:
                most = n - 1
        chosen += same[:least]
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
    return scene.once("unmovable", _sum_unmovable)


def _sum_unmovable(scene: Scene) -> tuple[dict[QueueName, Matrix], dict[QueueName, Matrix]]:
    counted = scene.columns.running & scene.columns.ours & ~given_up_flags(scene)
    stays = scene.sums_by_queue(counted & ~evictable_flags(scene))
    fixed = scene.sums_by_queue(counted & ~flags_of(scene, lambda m: m.group.preemptable))
    return stays, fixed
