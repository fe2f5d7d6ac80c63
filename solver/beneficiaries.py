"""Who benefits from an eviction: groups with a right to the victim that use what it frees."""

from collections.abc import Collection, Iterable, Sequence

from ..models import GroupKey, Pod, PodKey
from ..policies.host_ports import clash
from ..policies.limits import limits_of
from ..policies.outcome import Outcome
from ..policies.pod_affinity import repels
from ..policies.rights import rights_of
from ..policies.scene import Scene
from ..policies.shared_claims import collide


def beneficiaries(
    outcome: Outcome, victim: GroupKey, now: Collection[PodKey]
) -> tuple[GroupKey, ...]:
    """Return the groups that a victim goes for, those that have to wait for its going if any do.

    Where nobody can be told to use what it frees, as where its gang goes whole for the sake of
    guarantees, they are all groups with a right to it.
    """
    rights = rights_of(outcome)
    holders = [g for g in sorted(outcome.started) if rights.may(g, victim)]
    users = _users(outcome, victim, holders)
    waiting = [g for g in users if any(p.key not in now for p in outcome.started[g])]
    return tuple(waiting or users or holders)


def _users(outcome: Outcome, victim: GroupKey, holders: Sequence[GroupKey]) -> list[GroupKey]:
    pods = outcome.losses[victim]
    nodes = dict(_nodes(outcome, pods))
    limits = _limits(outcome, victim, pods)
    found = []
    for g in holders:
        queues = set(outcome.scene.tree.path(outcome.scene.snapshot.group(g).queue))
        asks = outcome.scene.rows(outcome.started[g])
        if (
            any(asks[r] for q, r in limits if q in queues)
            or _uses_node(outcome, nodes, g)
            or _clashes(outcome.scene, outcome, pods, g)
        ):
            found.append(g)
    return found


def _nodes(outcome: Outcome, pods: Sequence[Pod]) -> Iterable[tuple[int, list[int]]]:
    """Yield nodes that would be overfull with the victims, and the columns in which they would."""
    scene = outcome.scene
    room = outcome.room
    for i in {scene.index[p.node] for p in pods if p.node in scene.index}:
        freed = scene.rows([p for p in pods if p.node == scene.nodes[i].name])
        yield i, [r for r, v in enumerate(freed) if v and room[i][r] < v]


def _limits(outcome: Outcome, victim: GroupKey, pods: Sequence[Pod]) -> list[tuple[str, int]]:
    """Return the queues that would be above a limit with the victims, and in which column."""
    scene = outcome.scene
    limits = limits_of(scene)
    freed = scene.rows(pods)
    return [
        (q, r)
        for q in scene.tree.path(scene.snapshot.group(victim).queue)
        for r, most in enumerate(limits.limit[q])
        if most is not None and freed[r] and int(outcome.use_after[q][r]) + int(freed[r]) > most
    ]


def _uses_node(outcome: Outcome, nodes: dict[int, list[int]], group: GroupKey) -> bool:
    scene = outcome.scene
    for p in outcome.started[group]:
        i = scene.index[outcome.places[p.key]]
        row = scene.row(p)
        if any(row[r] for r in nodes.get(i, ())):
            return True
    return False


def _clashes(scene: Scene, outcome: Outcome, pods: Sequence[Pod], group: GroupKey) -> bool:
    """Say whether a port, anti-affinity or a shared claim keeps one of its pods from a victim."""
    for p in outcome.started[group]:
        here = scene.nodes[scene.index[outcome.places[p.key]]]
        for v in pods:
            if v.node not in scene.index:
                continue
            there = scene.nodes[scene.index[v.node]]
            at = scene.index[outcome.places[p.key]]
            if collide(p, at, v, scene.index[v.node], scene.nodes):
                return True
            keys = {*repels(p, v), *repels(v, p)}
            near = any(
                here.labels.get(k) is not None and here.labels.get(k) == there.labels.get(k)
                for k in keys
            )
            if near or (here is there and clash(p, v)):
                return True
    return False
