"""Put in order: follow the order list's objections, the lowest first, until there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import NodeName
from ..policies.legality import is_legal
from ..policies.objection import Objection, Patience
from ..policies.order import first_objection
from ..policies.outcome import Outcome
from .allowance import order_trials
from .search import Clock

ROUNDS = 30
TRIALS = 3000
"""Trials of one round on a small cluster; on larger ones a trial is longer, and there are fewer."""
SMALL = 200
"""Pods up to which a cluster counts as small."""
FIRST_STEP_US, STEP_US = 50, 10
"""What the first step between two looks at the clock takes for each pod, and a later one."""


@dataclass(frozen=True)
class Ordered:
    """A plan, the objections that were followed, and whether the list was gone through."""

    outcome: Outcome
    exchanges: tuple[Objection, ...]
    proven: bool


def put_in_order(outcome: Outcome, clock: Clock) -> Ordered:
    """Follow objections while there are any and patience lasts; every step is a legal plan.

    Where they lead in a circle, whose start may depend on who is where, a plan of the circle is
    looked for that draws none with one pod on another node.
    """
    pods = len(outcome.scene.snapshot.pods)
    step_s = iter((FIRST_STEP_US * pods / 1e6,))

    def late() -> bool:
        # A step that is begun is gone through: it has to fit into the time that is left.
        left = clock.left()
        return left is not None and left <= next(step_s, STEP_US * pods / 1e6)

    if late():
        return Ordered(outcome, (), False)
    followed: list[Objection] = []
    seen = {_key(outcome): outcome}
    trials = TRIALS * SMALL // max(SMALL, pods)
    left = 3 * trials
    config = outcome.scene.config
    if config.deterministic and pods > SMALL:
        left = min(left, order_trials(config, pods))
    for _ in range(ROUNDS):
        patience = Patience(min(trials, left), late)
        given = patience.trials
        objection = first_objection(outcome, patience)
        left -= given - patience.trials
        if objection is None:
            return Ordered(outcome, tuple(followed), not patience.is_over)
        after = objection.leads_to
        after.levels = outcome.levels
        if _key(after) in seen:
            circle = list(seen.values())[list(seen).index(_key(after)) :]
            still = _out_of(circle, Patience(min(trials, left), late))
            if still is not None:
                return Ordered(still, tuple(followed), True)
            break
        if not is_legal(after):
            break
        seen[_key(after)] = after
        followed.append(objection)
        outcome = after
    return Ordered(outcome, tuple(followed), False)


def _key(outcome: Outcome) -> object:
    return (frozenset(outcome.places.items()), outcome.evicted)


def _out_of(circle: Sequence[Outcome], patience: Patience) -> Outcome | None:
    """Return a plan that differs from one of the circle in one place, and to which nobody objects.

    The same work starts in it, and the same is evicted.
    """
    for plan in circle:
        for other in _one_elsewhere(plan):
            if not patience.spend():
                return None
            if is_legal(other) and first_objection(other, patience) is None:
                return None if patience.is_over else other
    return None


def _one_elsewhere(plan: Outcome) -> Iterator[Outcome]:
    """Yield the plan with each pod that starts on each other node that may have room for it."""
    scene = plan.scene
    for key, here in sorted(plan.places.items()):
        pod = scene.pods[key]
        row = scene.row(pod)
        able = scene.mask(pod) & (plan.room >= row)[:, row > 0].all(axis=1)
        for i in np.flatnonzero(able).tolist():
            node = NodeName(scene.nodes[i].name)
            if node != here:
                other = Outcome(scene, {**plan.places, key: node}, plan.evicted, bound=())
                other.levels = plan.levels
                yield other
