"""Stages: what is solved one after the other, first things first.

Where running work may be evicted, what a level of work costs in evictions comes right after the
level: later work must not be bought with victims of earlier work. Otherwise each tier is one stage.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..policies.api import Objective
from ..policies.board import Board, Term, Victim
from ..policies.eviction_cost import Part
from ..policies.fairness import Work, missing_of, weights_of
from ..policies.goals import EVICTION_COSTS
from ..policies.levels import Level
from .linear import Goal, goal_of


@dataclass
class Stage:
    """One thing to maximise: a goal (its negative, where less is better), or a part of one."""

    goal: Objective
    terms: Goal
    low: int
    high: int
    weight: int = 1
    """What one unit is worth in the goal's own measure."""

    @property
    def range(self) -> int:
        return self.high - self.low


def stages_of(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    """Ask the goals for their terms (which may add rows to the board) and put them in order."""
    out: list[Stage] = []
    contested = any(not v.given_up for v in board.victims)
    for g in goals:
        if isinstance(g, Work) and contested:
            weights = weights_of(board.scene, board.levels, g.name)
            for level in board.levels.order(g.name):
                out.append(_stage(board, g, 1, g.at_level(board, level), weights[level]))
                out += _prices(board, goals, level)
        elif not (contested and any(g is e for e in EVICTION_COSTS)):
            out.append(_stage(board, g, 1 if g.sense == "max" else -1, g.cost(board)))
    board.close()
    return [s for s in out if s.terms.vars]


def _stage(
    board: Board, goal: Objective, sign: int, terms: Iterable[Term], weight: int = 1
) -> Stage:
    signed = goal_of((sign * c, v) for c, v in terms)
    return Stage(goal, signed, signed.least(board.upper_), signed.most(board.upper_), weight)


def _prices(board: Board, goals: Sequence[Objective], level: Level) -> list[Stage]:
    """Return what the evictions cost to which work of this level has a right."""
    claims = {v.index: _claim(board, v, level) for v in board.victims if not v.given_up}
    out: list[Stage] = []
    for cost in EVICTION_COSTS:
        if not any(g is cost for g in goals):
            continue
        terms: list[Term] = []
        for victim, coef, var in cost.parts(board):
            terms += _gated(board, claims[victim], (victim, coef, var), level)
        out.append(_stage(board, cost, -1, terms))
    return out


def _gated(board: Board, claim: int | None, part: Part, level: Level) -> list[Term]:
    """Return the part's term, worth nothing where no work of the level claims the victim."""
    victim, coef, var = part
    if claim is None or not coef:
        return []
    top = board.upper(var)
    price = board.integer(0, top, ("price", var, level)).var
    label = f"group {board.victims[victim].members.key}"
    # price ≥ var − top · (1 − claim)
    board.at_most([(1, var), (-1, price), (top, board.flag(("claim", victim, level)))], top,
                  "preemption", label)  # fmt: skip
    return [(coef, price)]


def _claim(board: Board, v: Victim, level: Level) -> int | None:
    """Return a 0-1 variable that is 1 where work of the level starts and has a right to the victim."""
    sources: list[tuple[list[Term], int, object]] = []
    for t in board.types:
        m = t.sample
        claimant = next((r.shape.claimant for r in board.rolesets_of(t)), None)
        right = board.right(claimant, v)
        if right is False:
            continue
        start = board.started(t)
        minimum, elastic = board.levels.minimum.get(m.key), board.levels.elastic.get(m.key)
        if start is not None and minimum is not None and minimum.level == level:
            sources.append(([(1, start)], len(t.members), right))
        if elastic is not None and elastic.level == level:
            counts: list[Term] = [(1, board.count(r)) for r in board.rolesets_of(t)]
            top = sum(board.upper(x) for _, x in counts)
            less: list[Term] = [] if start is None else [(-missing_of(m), start)]
            sources.append(([*counts, *less], top, right))
    if not sources:
        return None
    claim = board.flag(("claim", v.index, level))
    label = f"group {v.members.key}"
    for terms, top, right in sources:
        if top <= 0:
            continue
        if right is True:
            board.at_most([*terms, (-top, claim)], 0, "preemption", label)
        else:
            assert isinstance(right, int)
            board.at_most([*terms, (top, right), (-top, claim)], top, "preemption", label)  # type: ignore[list-item]
    return claim
