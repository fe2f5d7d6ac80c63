"""Minimum runtime: work goes as a whole only once it has run for as long as its queues say.

A group has run since the first of its running pods started; where no start is known, it has run
for long enough. What it has beyond its minimum may go at any time.
"""

from collections.abc import Iterable

from ..models import Pod, QueueName
from .members import Members
from .scene import Scene
from .tree import Tree


def goes_too_soon(scene: Scene, claimant: QueueName, victim: Members, lost: int) -> bool:
    """Say whether so many of the victim's pods are all that runs of it, and have not run enough."""
    return lost >= len(victim.running) and has_yet_to_run(scene, claimant, victim)


def has_yet_to_run(scene: Scene, claimant: QueueName, victim: Members) -> bool:
    """Say whether the victim may not go as a whole yet, for a group of the claiming queue."""
    runtime_s = min_runtime_s(scene, claimant, victim.group.queue)
    if not runtime_s:
        return False
    since_s = running_since_s(victim.running)
    return since_s is not None and scene.snapshot.taken_at_s < since_s + runtime_s


def running_since_s(running: Iterable[Pod]) -> int | None:
    """Return when the first of a group's running pods started; None where nobody knows."""
    return min((p.started_s for p in running if p.started_s is not None), default=None)


def min_runtime_s(scene: Scene, claimant: QueueName, victim: QueueName) -> int:
    """Return how long work of one queue runs at least before a group of the other takes it."""
    known: dict[tuple[QueueName, QueueName], int] = scene.once("minimum runtimes", lambda _: {})
    case = (claimant, victim)
    if case not in known:
        known[case] = runtime_said_s(scene.tree, *case) if _is_said(scene) else 0
    return known[case]


def _is_said(scene: Scene) -> bool:
    return scene.once("minimum runtimes are said", lambda s: is_said(s.tree))


def is_said(tree: Tree) -> bool:
    """Say whether some queue lets work run for some time at least."""
    return any(q.preempt_min_runtime_s or q.reclaim_min_runtime_s for q in tree.queues.values())


def runtime_said_s(tree: Tree, claimant: QueueName, victim: QueueName) -> int:
    """Return what the tree says of it.

    Inside a queue the nearest queue that says so counts, from the queue itself upwards; across
    queues from the victim's branch upwards: what is said below it is for its sisters alone.
    """
    queues, path = tree.queues, tree.path(victim)
    if claimant == victim:
        said = [queues[q].preempt_min_runtime_s for q in path]
    else:
        _, other = tree.apart(claimant, victim)
        said = [queues[q].reclaim_min_runtime_s for q in path[max(0, len(other) - 1) :]]
    return next((s for s in said if s is not None), 0)
