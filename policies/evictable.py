"""Which running work may be evicted at all."""

from collections.abc import Callable, Collection, Iterable

import numpy as np

from ..models import GroupKey, Pod, PodKey, PodState
from .budget_overlap import unevictable
from .columns import Flags
from .members import Members, Standing
from .scene import Scene


def evictable(scene: Scene, pod: Pod) -> bool:
    """Say whether the running pod may ever be a victim."""
    return (
        pod.state is PodState.RUNNING
        and pod.group in movable_groups(scene)
        and _may_leave(pod, scene.snapshot.taken_at_s, unevictable(scene))
    )


def _may_leave(pod: Pod, now_s: int, refused: Collection[PodKey]) -> bool:
    """Say whether nothing about the pod itself keeps it where it runs."""
    return (
        pod.preemptable
        and pod.key not in refused
        and not pod.critical
        and (pod.protected_until_s is None or pod.protected_until_s <= now_s)
    )


def movable_groups(scene: Scene) -> Collection[GroupKey | None]:
    """Return the groups of known queues that may be preempted."""
    return scene.once("movable groups", _movable)


def _movable(scene: Scene) -> frozenset[GroupKey | None]:
    queues = scene.tree.queues
    return frozenset([g.key for g in scene.snapshot.groups if g.preemptable and g.queue in queues])


def evictable_flags(scene: Scene) -> Flags:
    """Say of each pod of the snapshot whether it may ever be a victim."""
    return scene.once("evictable", _flags)


def _flags(scene: Scene) -> Flags:
    queues, now_s, pods = scene.tree.queues, scene.snapshot.taken_at_s, scene.snapshot.pods
    refused = unevictable(scene)
    movable = scene.by_group([g.preemptable and g.queue in queues for g in scene.snapshot.groups])
    out = scene.columns.running & movable
    found = np.flatnonzero(out)
    out[found] = [_may_leave(pods[k], now_s, refused) for k in found.tolist()]
    return out


def flags_of(scene: Scene, are: Callable[[Members], bool]) -> Flags:
    """Say of each pod of the snapshot whether its group is so; foreign pods are not."""
    return scene.by_group([are(m) for m in scene.roster.values()])


def grace_is_over(members: Members, taken_at_s: int, grace_s: int) -> bool:
    """Say whether a broken group has been so for long enough; unknown times have passed."""
    since = members.group.broken_since_s
    return since is None or taken_at_s - since >= grace_s


def given_up(scene: Scene, m: Members) -> bool:
    """Say whether the group is broken and past its grace: it goes unless it is completed."""
    return m.standing is Standing.BROKEN and m.key in _given_up(scene)


def given_up_pods(scene: Scene) -> set[PodKey]:
    """Return the running pods of the groups that go."""
    return {p.key for m in scene.roster.broken if given_up(scene, m) for p in m.running}


def given_up_flags(scene: Scene) -> Flags:
    """Say of each pod of the snapshot whether it runs and its group goes."""
    if not _given_up(scene):
        return np.zeros(len(scene.snapshot.pods), dtype=np.bool_)
    return scene.columns.running & flags_of(scene, lambda m: given_up(scene, m))


def _given_up(scene: Scene) -> frozenset[GroupKey]:
    """Return the broken groups past their grace, as far as budgets bear it, by their keys."""
    return scene.once("given up", _who_goes)


def _who_goes(scene: Scene) -> frozenset[GroupKey]:
    left = {b.key: b.allowed for b in scene.snapshot.budgets}
    out: list[GroupKey] = []
    for m in scene.roster.broken:
        if any(p.critical or p.key in unevictable(scene) for p in m.running):
            continue
        if not grace_is_over(m, scene.snapshot.taken_at_s, scene.config.grace_s):
            continue
        cost = {b.key: sum(b.covers(p) for p in m.running) for b in scene.snapshot.budgets}
        if all(n <= max(0, left[k]) for k, n in cost.items()):
            left = {k: left[k] - n for k, n in cost.items()}
            out.append(m.key)
    return frozenset(out)


def victim_priority(m: Members) -> int:
    """Return the larger of the group's and its running pods' priorities."""
    return loss_priority(m, m.running)


def loss_priority(m: Members, lost: Iterable[Pod]) -> int:
    """Return what a right to the pods has to exceed: the larger of the group's and theirs."""
    return max([m.group.priority, *(p.priority for p in lost)])


def lowest_priority(m: Members, able: Iterable[Pod]) -> int:
    """Return the least of these priorities that some of the pods have that may be evicted."""
    return max(m.group.priority, min(p.priority for p in able))
