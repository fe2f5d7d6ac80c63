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


@dataclass(frozen=True)
class Ordered:
    """A plan, the objections that were followed, and whether the list was gone through."""

    outcome: Outcome
    exchanges: tuple[Objection, ...]
    proven: bool


def put_in_order(outcome: Outcome, clock: Clock) -> Ordered:
    """Follow objections while there are any and patience lasts; every step is a legal plan."""

    def late() -> bool:
        left = clock.left()
        return left is not None and left <= 0

    followed: list[Objection] = []
    seen = {_key(outcome)}
    trials = TRIALS * SMALL // max(SMALL, len(outcome.scene.snapshot.pods))
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
