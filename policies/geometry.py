"""New MIG geometry: how idle GPUs could be cut for groups that wait for slices of other profiles.

Advice beside a plan: nothing is placed on slices that are not there yet. A node is looked at when
it uses strategy ``mixed``, its model is known and, after the plan, no pod holds a slice or a GPU
there: what is cut is known per node only, so that all of its GPUs have to be idle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..models import GroupKey, Pod, PodState, QueueName
from ..models.devices import GPU
from ..models.mig import PREFIX, Geometry, Model, cut, model_of
from ..models.plan import NewGeometry
from .holds import holds
from .ledger import Matrix
from .limits import limits_of
from .members import Members
from .outcome import Outcome
from .quota import non_preemptible_use

STRATEGY, PRODUCT = "nvidia.com/mig.strategy", "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"
MOST_DEVICES = 16


@dataclass
class _Idle:
    """A node whose GPUs are all idle, and what they would be cut into."""

    node: int
    model: Model
    devices: int
    room: Matrix
    slices: list[str] = field(default_factory=list)
    groups: list[GroupKey] = field(default_factory=list)
    made: tuple[Geometry, ...] = ()


def new_geometries(outcome: Outcome) -> Iterable[NewGeometry]:
    """Yield how idle GPUs would have to be cut; nothing unless the option asks for it."""
    scene = outcome.scene
    if not any(getattr(r, "new_geometry", False) for r in scene.rules):
        return
    waiting = [m for m in scene.roster.waiting if _lacks(outcome, m)]
    if not waiting:
        return
    idle = list(_idle_nodes(outcome))
    added = {q: scene.ledger.zero() for q in scene.tree.queues}
    for m in sorted(waiting, key=lambda m: (-m.group.priority, m.group.created_s, m.key)):
        _serve(outcome, m, idle, added)
    for at in idle:
        for n, slices in enumerate(at.made):
            groups = tuple(sorted(set(at.groups)))
            yield NewGeometry(scene.nodes[at.node].name, n, slices, groups)


def _slices(pod: Pod) -> list[str]:
    """Return the profiles that the pod asks for, one entry a slice."""
    return [
        r.removeprefix(PREFIX)
        for r, v in pod.spec.requests.items()
        if r.startswith(PREFIX)
        for _ in range(-(-v // 1000))
    ]


def _lacks(outcome: Outcome, m: Members) -> bool:
    """Say whether the group waits as a whole, asks for slices and nothing else holds it."""
    first = m.first
    starts = any(p.key in outcome.places for p in first)
    if not first or starts or not any(_slices(p) for p in first):
        return False
    return next(iter(holds(outcome.scene, m.key)), None) is None


def _idle_nodes(outcome: Outcome) -> Iterable[_Idle]:
    scene = outcome.scene
    busy = {i for p, i in (*scene.holders, *scene.reserved, *outcome.new_pods) if _uses(p)}
    for i, n in enumerate(scene.nodes):
        model = model_of(n.labels.get(PRODUCT, ""))
        written = n.labels.get(COUNT, "")
        count = int(written) if written.isascii() and written.isdigit() and len(written) < 4 else 0
        mixed = n.labels.get(STRATEGY) == "mixed" and n.takes_pods
        if mixed and model is not None and 0 < count <= MOST_DEVICES and i not in busy:
            yield _Idle(i, model, count, outcome.room[i].copy())


def _uses(pod: Pod) -> bool:
    if pod.state in (PodState.SUCCEEDED, PodState.FAILED):
        return False
    return any(r == GPU or r.startswith(PREFIX) for r in pod.spec.requests)


def _serve(outcome: Outcome, m: Members, idle: list[_Idle], added: dict[QueueName, Matrix]) -> None:
    """Give the group's minimum slices of idle nodes, if all of it finds some and may start."""
    scene = outcome.scene
    if not _may(outcome, m, added):
        return
    before = [(at.room, list(at.slices), list(at.groups), at.made) for at in idle]
    for p in m.first:
        if not any(_put(outcome, p, at) for at in idle):
            for at, was in zip(idle, before, strict=True):
                at.room, at.slices, at.groups, at.made = was
            return
    for q in scene.tree.path(m.group.queue):
        added[q] = added[q] + scene.rows(m.first)


def _put(outcome: Outcome, pod: Pod, at: _Idle) -> bool:
    scene = outcome.scene
    row = scene.row(pod)
    slices = _slices(pod)
    others = [c for c, r in enumerate(scene.ledger.resources) if not r.startswith(PREFIX)]
    if not scene.mask(pod)[at.node] or any(row[c] > at.room[c] for c in others if row[c]):
        return False
    made = cut(at.model, (*at.slices, *slices), at.devices)
    if made is None:
        return False
    at.room = at.room - row
    at.slices += slices
    if slices and pod.group is not None:
        at.groups.append(pod.group)
    at.made = made
    return True


def _may(outcome: Outcome, m: Members, added: Mapping[QueueName, Matrix]) -> bool:
    """Say whether limits and dues bear the group's minimum beside the plan."""
    scene = outcome.scene
    limits = limits_of(scene)
    ask = scene.rows(m.first)
    fixed = _fixed_use(outcome)
    for q in scene.tree.path(m.group.queue):
        use = outcome.use_after[q] + added[q]
        for r, most in enumerate(limits.limit[q]):
            if most is not None and ask[r] and use[r] + ask[r] > most:
                return False
        if not m.group.preemptable:
            for r, due in limits.due_named(q).items():
                if ask[r] and fixed[q][r] + added[q][r] + ask[r] > due:
                    return False
    return True


def _fixed_use(outcome: Outcome) -> Mapping[QueueName, Matrix]:
    """Return what non-preemptible groups use after the plan."""
    scene = outcome.scene
    use = {q: scene.ledger.zero() + v for q, v in non_preemptible_use(scene).items()}
    for key, pods in outcome.started.items():
        if not scene.snapshot.group(key).preemptable:
            for q in scene.tree.path(scene.snapshot.group(key).queue):
                use[q] = use[q] + scene.rows(pods)
    return use
