"""Limits of queues, and dues of work that cannot be preempted, at every level of the tree."""

import numpy as np

from ...models import QueueName
from ...policies.evictable import given_up
from ...policies.limits import limits_of
from ...policies.quota import non_preemptible_use
from ...policies.scene import Scene
from .parts import Parts

Use = dict[QueueName, "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"]


def staying_use(scene: Scene, fixed: bool = False) -> Use:
    """Return the running use of each queue without what is given up; ``fixed``: not preemptible."""
    use = non_preemptible_use(scene) if fixed else limits_of(scene).use
    out = {q: np.array(row, dtype=np.int64) for q, row in use.items()}
    for m in scene.roster.broken:
        if given_up(scene, m) and not (fixed and m.group.preemptable):
            for q in scene.tree.path(m.group.queue):
                out[q] = out[q] - scene.rows(m.running)
    return out


def tell_queues(parts: Parts) -> None:
    """Tell the rule of quota, unless it is turned off."""
    scene = parts.scene
    if not any(getattr(rule, "name", "") == "quota" for rule in scene.rules):
        return
    limits, use = limits_of(scene), staying_use(scene)
    for q in scene.tree.downwards:
        for r, most in enumerate(limits.limit[q]):
            if most is not None:
                at_most(parts, q, r, most - int(use[q][r]))
    if all(t.sample.group.preemptable for t in parts.starts.types):
        return
    use = staying_use(scene, fixed=True)
    for q in scene.tree.downwards:
        for r, due in limits.due_named(q).items():
            at_most(parts, q, r, due - int(use[q][r]), fixed=True)


def at_most(parts: Parts, queue: QueueName, r: int, room: int, fixed: bool = False) -> None:
    """Let what starts in a queue take this room, where there is any, and what is freed there."""
    starts, path = parts.starts, parts.scene.tree.path
    inside = np.array(
        [
            queue in path(t.sample.group.queue) and not (fixed and t.sample.group.preemptable)
            for t in starts.types
        ],
        dtype=np.bool_,
    )
    mine = inside[starts.type] & (parts.rows[starts.shape, r] > 0)
    if not mine.any():
        return
    row = parts.program.add_rows(max(0, room) / parts.unit[r])
    amount = starts.pods[mine] * parts.rows[starts.shape[mine], r]
    parts.program.put(row, starts.column[mine], amount)
    if not fixed:
        for n, kind in enumerate(parts.victims.kinds):
            if queue in path(kind.queue):
                parts.program.put(row, parts.evicted[n], -parts.held[kind.shape, r])
