"""Which running work may be evicted at all."""

from weakref import WeakKeyDictionary

from ..models import GroupKey, Pod, PodState
from .members import Members, Standing
from .scene import Scene


def evictable(scene: Scene, pod: Pod) -> bool:
    """Say whether the running pod may ever be a victim."""
    if pod.state is not PodState.RUNNING or pod.group is None:
        return False
    cooling = (
        pod.protected_until_s is not None and pod.protected_until_s > scene.snapshot.taken_at_s
    )
    group = scene.snapshot.group(pod.group)
    if group.queue not in scene.tree:
        return False
    return group.preemptable and pod.preemptable and not pod.critical and not cooling


def grace_is_over(members: Members, taken_at_s: int, grace_s: int) -> bool:
    """Say whether a broken group has been so for long enough; unknown times have passed."""
    since = members.group.broken_since_s
    return since is None or taken_at_s - since >= grace_s


def given_up(scene: Scene, m: Members) -> bool:
    """Say whether the group is broken and past its grace: it goes unless it is completed."""
    return m.standing is Standing.BROKEN and m.key in _given_up(scene)


_MEMO: "WeakKeyDictionary[Scene, frozenset[GroupKey]]" = WeakKeyDictionary()


def _given_up(scene: Scene) -> frozenset[GroupKey]:
    """Return the broken groups past their grace, as far as budgets bear it, by their keys."""
    if scene not in _MEMO:
        left = {b.key: b.allowed for b in scene.snapshot.budgets}
        out: list[GroupKey] = []
        for m in scene.roster.values():
            over = grace_is_over(m, scene.snapshot.taken_at_s, scene.config.grace_s)
            if m.standing is not Standing.BROKEN or not over or any(p.critical for p in m.running):
                continue
            cost = {b.key: sum(b.covers(p) for p in m.running) for b in scene.snapshot.budgets}
            if all(n <= max(0, left[k]) for k, n in cost.items()):
                left = {k: left[k] - n for k, n in cost.items()}
                out.append(m.key)
        _MEMO[scene] = frozenset(out)
    return _MEMO[scene]


def victim_priority(m: Members) -> int:
    """Return the larger of the group's and its running pods' priorities."""
    return max([m.group.priority, *(p.priority for p in m.running)])
