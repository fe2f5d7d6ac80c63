"""Put in order: follow the order list's objections, the lowest first, until there is none."""

from dataclasses import dataclass

from ..policies.legality import is_legal
from ..policies.objection import Objection, Patience
from ..policies.order import first_objection
from ..policies.outcome import Outcome
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
    """Follow objections while there are any and patience lasts; every step is a legal plan."""
    pods = len(outcome.scene.snapshot.pods)
    step_s = iter((FIRST_STEP_US * pods / 1e6,))

    def late() -> bool:
        # A step that is begun is gone through: it has to fit into the time that is left.
        left = clock.left()
        return left is not None and left <= next(step_s, STEP_US * pods / 1e6)

    if late():
        return Ordered(outcome, (), False)
    followed: list[Objection] = []
    seen = {_key(outcome)}
    trials = TRIALS * SMALL // max(SMALL, pods)
    left = 3 * trials
    for _ in range(ROUNDS):
        patience = Patience(min(trials, left), late)
        given = patience.trials
        objection = first_objection(outcome, patience)
        left -= given - patience.trials
        if objection is None:
            return Ordered(outcome, tuple(followed), not patience.is_over)
        after = objection.leads_to
        after.levels = outcome.levels
        if _key(after) in seen or not is_legal(after):
            break
        seen.add(_key(after))
        followed.append(objection)
        outcome = after
    return Ordered(outcome, tuple(followed), False)


def _key(outcome: Outcome) -> object:
    return (frozenset(outcome.places.items()), outcome.evicted)
