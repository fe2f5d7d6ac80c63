"""What can be bound at once, and what has to wait until evicted or terminating pods are gone.

A gang waits as a whole; elastic members of a group that runs wait one by one.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..models import GroupKey, Pod, PodKey, PodState, QueueName
from ..policies.allocation_use import AllocationUse
from ..policies.attach_limits import attached
from ..policies.cells_tracker import celled, coming
from ..policies.device_places import DevicesNow
from ..policies.limits import limits_of
from ..policies.members import Members, Standing
from ..policies.outcome import Outcome
from ..policies.shared_claims import collide
from ..policies.takers import takers_of


def bound_now(outcome: Outcome) -> frozenset[PodKey]:
    """Return the pods that can be bound at once."""
    scene = outcome.scene
    if not outcome.evicted and not scene.columns.terminating.any():
        return frozenset(outcome.places)
    fits = _Now(outcome)
    clashing = _clashing(outcome)
    devices = DevicesNow(outcome)
    claiming = takers_of(outcome).everybody if outcome.losses else frozenset[GroupKey]()
    now: set[PodKey] = set()
    order = sorted(
        outcome.started, key=lambda g: (g in claiming, scene.roster[g].group.created_s, g)
    )
    for key in order:
        m = scene.roster[key]
        for pods in _bundles(m, outcome):
            if clashing and any(p.key in clashing for p in pods):
                continue
            if fits.take(m.group.queue, pods, devices.take):
                now.update(p.key for p in pods)
    return frozenset(now)


class _Now:
    """Room and quota while what leaves is still there.

    Where nothing leaves and all that starts fits in the end, it fits in any order: only nodes and
    limits of which that cannot be said are looked at.
    """

    def __init__(self, outcome: Outcome) -> None:
        scene = outcome.scene
        self._outcome, self._scene = outcome, scene
        tight = {i for _, i in _leaving(outcome)}
        tight.update(np.flatnonzero((outcome.room < 0).any(axis=1)).tolist())
        self._room = {i: [int(v) for v in scene.room_now[i]] for i in tight}
        limits = limits_of(scene)
        use, after = outcome.use_before, outcome.use_after
        going = {
            q for key in outcome.losses for q in scene.tree.path(scene.snapshot.group(key).queue)
        }
        self._asks: dict[int, list[tuple[int, int]]] = {}
        self._left: dict[QueueName, dict[int, int]] = {}
        """What a queue may use more, by column, where it might not be enough."""
        for q in scene.tree.queues:
            for r, most in enumerate(limits.limit[q]):
                if most is not None and (q in going or after[q][r] > most):
                    self._left.setdefault(q, {})[r] = max(most, 0) - int(use[q][r])

    def take(
        self, queue: QueueName, pods: Sequence[Pod], devices: Callable[[Sequence[Pod]], bool]
    ) -> bool:
        """Let the pods take room, quota and devices, all of them or none."""
        scene, places = self._scene, self._outcome.places
        changed: dict[int, list[int]] = {}
        for p in pods:
            i = scene.index[places[p.key]]
            room = changed.get(i)
            if room is None:
                known = self._room.get(i)
                if known is None:
                    continue
                room = changed[i] = known.copy()
            for r, v in self._asked(p):
                room[r] -= v
                if room[r] < 0:
                    return False
        bounded = [left for q in scene.tree.path(queue) if (left := self._left.get(q))]
        ask = [int(v) for v in scene.rows(pods)] if bounded else []
        if any(ask[r] and ask[r] > n for left in bounded for r, n in left.items()):
            return False
        if not devices(pods):
            return False
        self._room.update(changed)
        for left in bounded:
            for r in left:
                left[r] -= ask[r]
        return True

    def _asked(self, pod: Pod) -> list[tuple[int, int]]:
        """Return the columns of which the pod asks for something, and how much."""
        known = self._asks.get(id(pod.spec))
        if known is None:
            row = enumerate(self._scene.row(pod).tolist())
            known = self._asks[id(pod.spec)] = [(r, v) for r, v in row if v]
        return known


def _leaving(outcome: Outcome) -> Iterable[tuple[Pod, int]]:
    """Yield what is still on its node and will not stay."""
    scene = outcome.scene
    if scene.columns.terminating.any():
        yield from (of for of in scene.holders if of[0].state is PodState.TERMINATING)
    yield from (of for of in outcome.leaving if of[0].state is not PodState.TERMINATING)


def _bundles(m: Members, outcome: Outcome) -> list[tuple[Pod, ...]]:
    pods = outcome.started[m.key]
    if m.standing is Standing.WHOLE:
        return [(p,) for p in pods]
    return [pods]


def _clashing(outcome: Outcome) -> set[PodKey]:
    """Return the pods that a rule forbids while what leaves is still there."""
    scene = outcome.scene
    leaving = list(_leaving(outcome))
    out: set[PodKey] = set()
    from ..policies.host_ports import clash
    from ..policies.pod_affinity import repels

    for cells in celled(scene.rules, scene):
        for i, pods in coming(outcome, cells).items():
            if not cells[i].admits([p.spec for p in pods]):
                out |= {p.key for p in pods}

    shy = [(q, j) for q, j in leaving if q.spec.anti_affinity]
    meeting = any(map(scene.asks, ("anti_affinity", "host_ports", "volumes")))
    for p, i in outcome.new_pods if meeting else ():
        # Only who asks for something that can be taken minds those that ask for nothing.
        minds = p.spec.anti_affinity or p.spec.host_ports or p.spec.shared_volumes
        for q, j in leaving if minds else shy:
            keys = {*repels(p, q), *repels(q, p)}
            same = any(
                scene.nodes[i].labels.get(k) is not None
                and scene.nodes[i].labels.get(k) == scene.nodes[j].labels.get(k)
                for k in keys
            )
            if (i == j and clash(p, q)) or same or collide(p, i, q, j, scene.nodes):
                out.add(p.key)
    return out | set(_waiting_to_attach(outcome, leaving)) | _waiting_for_devices(outcome)


def _waiting_for_devices(outcome: Outcome) -> set[PodKey]:
    """Return the pods whose claims get devices that others have to leave first."""
    if not outcome.scene.asks("claims") or not any(p.spec.claims for p, _ in outcome.new_pods):
        return set()
    use = AllocationUse(outcome)
    out: set[PodKey] = set()
    for i in use.wanted:
        served = use.served(i, at_once=False)
        out |= use.waits(i, served) if served is not None else set()
    return out


def _waiting_to_attach(outcome: Outcome, leaving: Iterable[tuple[Pod, int]]) -> Iterable[PodKey]:
    """Yield pods whose volumes are too many for the node while what leaves is attached."""
    there: dict[int, list[Pod]] = {}
    for p, i in leaving:
        if any(v.driver for v in p.spec.volumes):
            there.setdefault(i, []).append(p)
    for i, pods in there.items():
        limits = outcome.scene.nodes[i].drivers
        now = attached([*pods, *outcome.pods_by_node.get(i, ())])
        full = {d for d, n in now.items() if (most := limits.get(d)) is not None and n > most}
        for p, j in outcome.new_pods:
            if i == j and any(v.driver in full for v in p.spec.volumes):
                yield p.key
