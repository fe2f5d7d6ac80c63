"""Moves: which running pods may be restarted elsewhere, and whether a plan with moves is right.

What no plan may do besides is asked of it in the cluster in which its moved pods leave and wait
(models/moving.py); what follows here is asked of it in the cluster as it is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..models import GroupKey, Move, NodeName, Pod, PodKey, PodState, Violation
from .budgets import covering_of
from .evictable import evictable, given_up
from .members import Standing
from .outcome import Outcome
from .scene import Scene
from .takers import takers_of

RULE = "moves"
REST_S = 30
"""So long a pod has to run before it may be moved, so that none is sent back and forth."""


def why_not(scene: Scene, pod: Pod) -> str:
    """Say why the pod may not be moved; "" where it may."""
    if pod.state is not PodState.RUNNING or pod.group is None:
        return "does not run, or is not ours"
    if not evictable(scene, pod):
        return "may not be evicted"
    if scene.roster[pod.group].standing is not Standing.WHOLE:
        return f"is of group {pod.group}, which runs too few members"
    if pod.spec.claims:
        return "has device claims"
    if pod.node not in scene.index:
        return "runs on a node that is not in the input"
    since = pod.started_s if pod.started_s is not None else pod.created_s
    if since and scene.snapshot.taken_at_s - since < REST_S:
        return f"has run for less than {REST_S} s"
    return ""


def may_change_devices(pod: Pod) -> bool:
    """Say whether the pod would run elsewhere on its own node, with another share of a device."""
    return pod.spec.share is not None and bool(pod.devices)


def may_be_moved_for(scene: Scene, pod: Pod, group: GroupKey) -> bool:
    """Say whether the settings let the group have pods like this one moved, and it may preempt."""
    to = scene.snapshot.group(group)
    if scene.config.evictions == "none" or not to.may_preempt or pod.group is None:
        return False
    mine = scene.snapshot.group(pod.group).queue
    return scene.config.evictions == "all" or mine == to.queue


def budgets_bear(scene: Scene, leaving: Iterable[PodKey]) -> bool:
    """Say whether budgets bear that all these pods leave."""
    covering = covering_of(scene)
    return covering.bear(covering.count(scene.pods[k] for k in leaving if k in scene.pods))


def check_moves(
    scene: Scene,
    moves: Sequence[Move],
    evicted: Collection[PodKey],
    places: Mapping[PodKey, NodeName],
) -> Iterable[Violation]:
    """Yield what is wrong with the moves of a plan in the cluster as it is.

    ``evicted``: who leaves besides; ``places``: who starts where, moved pods left out.
    """
    most = scene.config.moves
    if len(moves) > most:
        yield Violation(RULE, "plan", f"moves {len(moves)} pods, at most {most} may be")
    starting = {p.group for k in places if (p := scene.pods.get(k)) is not None}
    giving = {p.group for k in evicted if (p := scene.pods.get(k)) is not None}
    listed = Counter(m.pod for m in moves)
    for m in moves:
        pod = scene.pods.get(m.pod)
        said = _wrong(scene, m, pod, starting, giving)
        if listed[m.pod] > 1:
            said = f"is moved {listed[m.pod]} times"
        if said:
            yield Violation(RULE, f"pod {m.pod}", said)
    leaving = [p for k in (*evicted, *listed) if (p := scene.pods.get(k)) is not None]
    covering = covering_of(scene)
    for i, n in sorted(covering.count(leaving).items()):
        b = scene.snapshot.budgets[i]
        if n > b.allowed:
            yield Violation(
                RULE, f"budget {b.key}", f"bears {b.allowed} evictions, {n} leave with the moves"
            )
    yield from _check_rights(scene, evicted, places)


def _wrong(
    scene: Scene,
    move: Move,
    pod: Pod | None,
    starting: Collection[GroupKey | None],
    giving: Collection[GroupKey | None],
) -> str:
    """Say what is wrong with one move; "" for nothing."""
    if pod is None:
        return "is moved, but is not in the input"
    if pod.group != move.group:
        return f"is a member of group {pod.group}, not of {move.group}"
    if no := why_not(scene, pod):
        return f"is moved, but {no}"
    if pod.group in giving:
        return f"is moved, and others of group {pod.group} are evicted"
    if move.node not in scene.index:
        return f"is to run on node {move.node or 'none'}, which is not in the input"
    if move.node == pod.node and not (
        may_change_devices(pod) and move.devices and set(move.devices) != set(pod.devices)
    ):
        return "is to run again where it runs"
    if move.room_for not in starting:
        return f"makes room for {move.room_for or 'nobody'}, which does not start"
    if not may_be_moved_for(scene, pod, move.room_for):
        return f"may not be moved for {move.room_for}"
    return ""


def _check_rights(
    scene: Scene, evicted: Collection[PodKey], places: Mapping[PodKey, NodeName]
) -> Iterable[Violation]:
    """Who is evicted is so by right where moved pods count as running, too."""
    known = {k: n for k, n in places.items() if k in scene.pods and n in scene.index}
    outcome = Outcome(scene, known, {k for k in evicted if k in scene.pods}, bound=())
    if not outcome.losses:
        return
    takers = takers_of(outcome)
    for key, pods in sorted(outcome.losses.items()):
        m = scene.roster[key]
        if given_up(scene, m) and len(pods) == len(m.running):
            continue
        if not takers.of(key):
            yield Violation(RULE, f"group {key}", "is evicted for nobody with a right")
