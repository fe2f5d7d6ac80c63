"""Check plans with moves: what they say of them, and in which cluster all else is judged."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace as changed

from msgspec.structs import replace

from ..models import Nomination, Plan, Violation
from ..models.moving import moving
from ..policies.moves import RULE, check_moves
from ..policies.scene import Scene
from .plan_file import GivenPlan


def in_motion(one: GivenPlan, scene: Scene) -> tuple[GivenPlan, Scene]:
    """Return the plan as one of the cluster in which its moved pods leave and wait, and that."""
    plan = one.plan
    if not plan.moves:
        return one, scene
    moved = plan.moved
    promised = [Nomination(m.pod, m.group, m.node, m.devices, m.advisory) for m in plan.moves]
    there = replace(
        plan,
        snapshot="",
        nominations=(*plan.nominations, *promised),
        evictions=tuple(e for e in plan.evictions if e.pod not in moved),
        moves=(),
    )
    world = Scene(moving(scene.snapshot, moved), scene.config, scene.rules)
    return changed(one, plan=there, digest=None), world


def moves_wrong(plan: Plan, scene: Scene) -> Iterable[Violation]:
    """Yield what is wrong with the moves of a plan, but for what every rule says of places."""
    if not plan.moves:
        return
    listed = {e.pod: e for e in plan.evictions}
    starts, moved = plan.places, plan.moved
    for m in plan.moves:
        about = f"pod {m.pod}"
        eviction = listed.get(m.pod)
        if eviction is None:
            yield Violation(RULE, about, "is moved, but is not among the evictions")
        elif eviction.beneficiaries != (m.room_for,):
            yield Violation(RULE, about, f"is moved for {m.room_for}, and evicted for others")
        elif (pod := scene.pods.get(m.pod)) is not None and pod.node != eviction.node:
            yield Violation(RULE, about, f"runs on node {pod.node}, not on {eviction.node}")
        if m.pod in starts:
            yield Violation(RULE, about, "is moved, and bound or nominated besides")
    for key, n in Counter(e.pod for e in plan.evictions).items():
        if n > 1 and key in moved:
            yield Violation(RULE, f"pod {key}", f"is evicted {n} times")
    evicted = [e.pod for e in plan.evictions if e.pod not in moved]
    yield from check_moves(scene, plan.moves, evicted, starts)
