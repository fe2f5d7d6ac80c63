"""The leap: when time runs short, one look at all the work that is still far away in the order.

Prices of evictions come between the levels of work, so that a search may spend its time on what
victims of early work cost and never come to the last tiers. The leap solves such a tier as a whole,
with all stages before it held at what is reached: what it finds is better, whatever comes first.
It says nothing of bounds.
"""

from collections.abc import Sequence

from ..policies.fairness import Work
from .linear import Goal, goal_of
from .process import Floor
from .stages import Stage

WHEN = 0.6
"""The part of the search's time that is left when it leaps, if the far work is not reached."""
HOW_LONG = 0.5
"""The part of what is left then that the leap may take."""


def far_work(stages: Sequence[Stage], at: int, best: Sequence[int]) -> int | None:
    """Return the first stage of the last tier of work, if more of that could start.

    None where it is near: no prices stand between it and the stage ``at``.
    """
    last = next((s.goal for s in reversed(stages) if isinstance(s.goal, Work)), None)
    first = next((i for i, s in enumerate(stages) if s.goal is last), None)
    if first is None or all(isinstance(s.goal, Work) for s in stages[at:first]):
        return None
    mine = [s for s in stages[first:] if s.goal is last]
    return first if any(s.terms.value(best) < s.high for s in mine) else None


def leap_goal(stages: Sequence[Stage], first: int) -> Goal:
    """Return all levels of the tier that begins there, by their weights."""
    return goal_of(
        (s.weight * c, v)
        for s in stages[first:]
        if s.goal is stages[first].goal
        for v, c in zip(s.terms.vars, s.terms.coefs, strict=True)
    )


def leap_floors(stages: Sequence[Stage], at: int, first: int, best: Sequence[int]) -> list[Floor]:
    """Return what holds the stages between at what is reached."""
    return [(s.terms.vars, s.terms.coefs, s.terms.value(best)) for s in stages[at:first]]


def is_better(stages: Sequence[Stage], new: Sequence[int], old: Sequence[int]) -> bool:
    """Say whether a solution is better than another by the first stage where they differ."""
    return [s.terms.value(new) for s in stages] > [s.terms.value(old) for s in stages]
