"""Who benefits from an eviction: groups with a right to the victim that use what it frees."""

from collections.abc import Collection, Iterable, Sequence

from ..models import GroupKey, Pod, PodKey
from ..policies.host_ports import clash
from ..policies.ledger import Matrix
from ..policies.limits import limits_of
from ..policies.outcome import Outcome
from ..policies.pod_affinity import repels
from ..policies.scene import Scene
from ..policies.shared_claims import collide
from ..policies.takers import takers_of


def beneficiaries(
    outcome: Outcome, victim: GroupKey, now: Collection[PodKey]
) -> tuple[GroupKey, ...]:
    """Return the groups that a victim goes for, those that have to wait for its going if any do.

    Where nobody can be told to use what it frees, as where its gang goes whole for the sake of
    guarantees, they are all groups with a right to it.
    """
    return Beneficiaries(outcome, now).of(victim)


class Beneficiaries:
    """Who benefits from the evictions of a plan; what is known of who starts is looked up once."""

    def __init__(self, outcome: Outcome, now: Collection[PodKey]) -> None:
        self._outcome = outcome
        self._takers = takers_of(outcome) if outcome.losses else None
        scene = outcome.scene
        self._meeting = any(map(scene.asks, ("host_ports", "anti_affinity", "volumes")))
        """Whether pods could be kept from a place by anything but room."""
        self._waits = {
            g for g, pods in outcome.started.items() if any(p.key not in now for p in pods)
        }
        self._asks: dict[GroupKey, Matrix] = {
            g: scene.rows(ps) for g, ps in outcome.started.items()
        }
        self._on: dict[int, dict[GroupKey, Matrix]] = {}
        """What groups that start ask for on each node."""
        for p, i in outcome.new_pods:
            if p.group is not None:
                here = self._on.setdefault(i, {})
                row = scene.row(p)
                here[p.group] = here[p.group] + row if p.group in here else row

    def of(self, victim: GroupKey) -> tuple[GroupKey, ...]:
        if self._takers is None:
            return ()
        holders = self._takers.of(victim)
        users = self._users(victim, holders)
        waiting = [g for g in users if g in self._waits]
        return tuple(waiting or users or sorted(holders))

    def _users(self, victim: GroupKey, holders: Sequence[GroupKey]) -> list[GroupKey]:
        outcome, scene = self._outcome, self._outcome.scene
        pods = outcome.losses[victim]
        using: set[GroupKey] = set()
        for i, columns in _nodes(outcome, pods):
            using |= {g for g, row in self._on.get(i, {}).items() if any(row[r] for r in columns)}
        limits = _limits(outcome, victim, pods)
        for g in outcome.started if limits else ():
            path = scene.tree.path(scene.snapshot.group(g).queue)
            if any(self._asks[g][r] for q, r in limits if q in path):
                using.add(g)
        if self._meeting:
            using |= {g for g in holders if _clashes(scene, outcome, pods, g)}
        return sorted(g for g in using if g in holders)


def _nodes(outcome: Outcome, pods: Sequence[Pod]) -> Iterable[tuple[int, list[int]]]:
    """Yield nodes that would be overfull with the victims, and the columns in which they would."""
    scene = outcome.scene
    room = outcome.room
    by_node: dict[int, list[Pod]] = {}
    for p in pods:
        if p.node in scene.index:
            by_node.setdefault(scene.index[p.node], []).append(p)
    for i, here in by_node.items():
        freed = scene.rows(here)
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
