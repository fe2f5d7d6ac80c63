"""What can be bound at once, and what has to wait until evicted or terminating pods are gone.

A gang waits as a whole; elastic members of a group that runs wait one by one.
"""

from collections.abc import Iterable

import numpy as np

from ..models import GroupKey, Pod, PodKey
from ..policies.allocation_use import AllocationUse
from ..policies.attach_limits import attached
from ..policies.cells_tracker import celled, coming
from ..policies.device_places import DevicesNow
from ..policies.limits import limits_of
from ..policies.members import Members, Standing
from ..policies.outcome import Outcome
from ..policies.rights import rights_of
from ..policies.shared_claims import collide


def bound_now(outcome: Outcome) -> frozenset[PodKey]:
    """Return the pods that can be bound at once."""
    scene = outcome.scene
    if not outcome.evicted and not any(p.state == "terminating" for p, _ in scene.holders):
        return frozenset(outcome.places)
    room = scene.room_now.copy()
    limits = limits_of(scene)
    use = {q: np.array(v, dtype=object) for q, v in limits.use.items()}
    clashing = _clashing(outcome)
    devices = DevicesNow(outcome)
    rights = rights_of(outcome) if outcome.losses else None

    def claims(key: GroupKey) -> bool:
        return rights is not None and any(rights.may(key, v) for v in outcome.losses)

    now: set[PodKey] = set()
    order = sorted(outcome.started, key=lambda g: (claims(g), scene.roster[g].group.created_s, g))
    for key in order:
        m = scene.roster[key]
        for pods in _bundles(m, outcome):
            if any(p.key in clashing for p in pods):
                continue
            rows = [(scene.index[outcome.places[p.key]], scene.row(p)) for p in pods]
            tried = room.copy()
            for i, row in rows:
                tried[i] = tried[i] - row
            fits = all((tried[i][np.flatnonzero(row)] >= 0).all() for i, row in rows)
            ask = np.array([int(v) for v in scene.rows(pods)], dtype=object)
            path = scene.tree.path(m.group.queue)
            allowed = all(
                most is None or not ask[r] or use[q][r] + ask[r] <= max(most, 0)
                for q in path
                for r, most in enumerate(limits.limit[q])
            )
            if fits and allowed and devices.take(pods):
                room = tried
                for q in path:
                    use[q] = use[q] + ask
                now |= {p.key for p in pods}
    return frozenset(now)


def _bundles(m: Members, outcome: Outcome) -> list[tuple[Pod, ...]]:
    pods = outcome.started[m.key]
    if m.standing is Standing.WHOLE:
        return [(p,) for p in pods]
    return [pods]


def _clashing(outcome: Outcome) -> set[PodKey]:
    """Return the pods that a rule forbids while what leaves is still there."""
    scene = outcome.scene
    leaving = [
        (p, i) for p, i in scene.holders if p.state == "terminating" or p.key in outcome.evicted
    ]
    out: set[PodKey] = set()
    from ..policies.host_ports import clash
    from ..policies.pod_affinity import repels

    for cells in celled(scene.rules, scene):
        for i, pods in coming(outcome, cells).items():
            if not cells[i].admits([p.spec for p in pods]):
                out |= {p.key for p in pods}

    shy = [(q, j) for q, j in leaving if q.spec.anti_affinity]
    for p, i in outcome.new_pods:
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
    if not any(p.spec.claims for p, _ in outcome.new_pods):
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
