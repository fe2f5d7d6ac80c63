"""What could run: on the cluster emptied of evictable work, alone and inside every limit and due.

Section 1 of docs/design/order.md: only that makes demand.
"""

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from ..models import GroupKey, NodeName, Pod, PodKey, PodState, PodTerm, QueueName
from .evictable import evictable, given_up
from .fitting import Field, emptied, is_tied
from .holds import holds
from .ledger import Matrix
from .limits import limits_of
from .members import Members, Standing
from .pod_affinity import matches_all
from .scene import Scene


def usable_pods(scene: Scene) -> dict[GroupKey, tuple[Pod, ...]]:
    """Return the pending pods of each group that could run on the emptied cluster."""
    field = emptied(scene)
    memo: dict[object, tuple[int, ...]] = {}
    out: dict[GroupKey, tuple[Pod, ...]] = {}
    company = _Company(scene)
    for m in scene.roster.values():
        out[m.key] = ()
        field.met = company.met(m)
        if m.running and m.pending:
            with_own = with_running(scene, field, m)
            if next(iter(holds(scene, m.key)), None) is None:
                kept = {p.key for p in _runs(scene, field, m)}
                out[m.key] = tuple(p for p in m.pending if p.key in kept)
            for p, i in with_own:
                field.add(p, i, -1)
            continue
        if not m.pending or next(iter(holds(scene, m.key)), None) is not None:
            continue
        key: object = m.key
        if not any(p.spec.sees_pods for p in m.pending) and not scene.bonds.of_group(m.key):
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
            if (p.state is PodState.RUNNING and not self._leaves(scene, p))
            or (p.ours and p.state is PodState.PENDING)
        ]
        self._who: dict[tuple[PodTerm, ...], frozenset[GroupKey | None]] = {}

    @staticmethod
    def _leaves(scene: Scene, pod: Pod) -> bool:
        return pod.group is not None and given_up(scene, scene.roster[pod.group])

    def met(self, m: Members) -> frozenset[PodKey]:
        return frozenset(
            p.key for p in m.pending if p.spec.affinity and self._others(p.spec.affinity) - {m.key}
        )

    def _others(self, terms: tuple[PodTerm, ...]) -> frozenset[GroupKey | None]:
        if terms not in self._who:
            self._who[terms] = frozenset(p.group for p in self._there if matches_all(terms, p))
        return self._who[terms]


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
