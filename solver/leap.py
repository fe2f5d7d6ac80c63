"""The leap: when time runs short, one look at all the work that is still far away in the order.

Prices of evictions come between the levels of work, so that a search may spend its time on what
victims of early work cost and never come to the last tiers. The leap first asks how much of such a
tier there could be at all, on the board as it was before prices were told, which is two thirds as
large and solved in a fraction of the time; then, on the whole board, for a plan that has most of
that, with all that is reached before held. It says nothing of bounds.
"""

from collections.abc import Sequence

from ..policies.board import Board
from ..policies.fairness import Work
from ..policies.goals import EVICTION_COSTS
from .linear import Goal, Linear, goal_of
from .process import Floor
from .stages import Stage, plain_of

WHEN = 0.6
"""The part of the search's time that is left when it leaps, if the far work is not reached."""
HOW_LONG, AND_THEN = 0.6, 0.85
"""The parts of what is left then that its two solves may take."""
NEAR, SLACK = 0.002, 0.006
"""So near to all that there is, the far work is reached; so much of it the plan may leave out."""
COUNTS, STEP = 3, 2
"""Of what is paid the first costs count, in pods and gangs; each so much more than the next."""
PARAMETERS = {"subsolvers": ["no_lp", "quick_restart_no_lp"]}
"""Of the second solve: rights and claims are logic, and a plan is wanted, no bound."""


def far_work(stages: Sequence[Stage], at: int, best: Sequence[int]) -> int | None:
    """Return the first stage of the last tier of work, if more of that could start.

    None where it is near: no prices stand between it and the stage ``at``.
    """
    last = next((s.goal for s in reversed(stages) if isinstance(s.goal, Work)), None)
    first = next((i for i, s in enumerate(stages) if s.goal is last), None)
    if first is None or all(isinstance(s.goal, Work) for s in stages[at:first]):
        return None
    mine = [s for s in stages[first:] if s.goal is last]
    most = sum(s.weight * s.high for s in mine)
    is_far = sum(s.weight * s.terms.value(best) for s in mine) < (1 - NEAR) * most
    return first if is_far else None


def leap_goal(stages: Sequence[Stage], first: int) -> Goal:
    """Return all levels of the tier that begins there, by their weights."""
    return goal_of(
        (s.weight * c, v)
        for s in stages[first:]
        if s.goal is stages[first].goal
        for v, c in zip(s.terms.vars, s.terms.coefs, strict=True)
    )


def work_floors(stages: Sequence[Stage], first: int, best: Sequence[int]) -> list[Floor]:
    """Return what holds all work before the tier at what is reached."""
    return [_floor(s, s.terms.value(best)) for s in stages[:first] if isinstance(s.goal, Work)]


def leap_floors(
    stages: Sequence[Stage], at: int, first: int, best: Sequence[int], far: Sequence[int]
) -> list[Floor]:
    """Return what holds what is reached before the tier, and most of what the tier could have.

    Prices of stages that are still open count only where nothing is paid yet.
    """
    goal = leap_goal(stages, first)
    return [
        _floor(s, s.terms.value(best))
        for i, s in enumerate(stages[:first])
        if i < at or isinstance(s.goal, Work) or s.terms.value(best) == s.high
    ] + [(goal.vars, goal.coefs, int((1 - SLACK) * goal.value(far)))]


def open_prices(stages: Sequence[Stage], at: int, first: int, best: Sequence[int]) -> Goal:
    """Return the prices between that are paid already, those first that come first."""
    paid = [s for s in stages[at:first] if s.is_price and s.terms.value(best) < s.high]
    counts = [s for s in paid if any(s.goal is g for g in EVICTION_COSTS[:COUNTS])]
    return goal_of(
        (STEP ** (len(counts) - 1 - i) * c, v)
        for i, s in enumerate(counts)
        for v, c in zip(s.terms.vars, s.terms.coefs, strict=True)
    )


def plain_model(board: Board) -> Linear:
    """Return the board as it was before prices were told."""
    variables, rows = plain_of(board)
    model = Linear(list(board.lower[:variables]), list(board.upper_[:variables]))
    for row in board.rows[:rows]:
        model.add(row)
    return model


def _floor(stage: Stage, value: int) -> Floor:
    return stage.terms.vars, stage.terms.coefs, value


def is_better(stages: Sequence[Stage], new: Sequence[int], old: Sequence[int]) -> bool:
    """Say whether a solution is better than another by the first stage where they differ."""
    return [s.terms.value(new) for s in stages] > [s.terms.value(old) for s in stages]
