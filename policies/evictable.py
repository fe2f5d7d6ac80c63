"""Which running work may be evicted at all."""

from ..models import Pod, PodState
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
    return group.preemptable and pod.preemptable and not pod.critical and not cooling


def grace_is_over(members: Members, taken_at_s: int, grace_s: int) -> bool:
    """Say whether a broken group has been so for long enough; unknown times have passed."""
    since = members.group.broken_since_s
    return since is None or taken_at_s - since >= grace_s


def given_up(scene: Scene, m: Members) -> bool:
    """Say whether the group is broken and past its grace: it goes unless it is completed."""
    return m.standing is Standing.BROKEN and grace_is_over(
        m, scene.snapshot.taken_at_s, scene.config.grace_s
    )


def victim_priority(m: Members) -> int:
    """Return the larger of the group's and its running pods' priorities."""
    return max([m.group.priority, *(p.priority for p in m.running)])
