"""Stages: what is solved one after the other, first things first.

Where running work may be evicted, what a level of work costs in evictions comes right after the
level: later work must not be bought with victims of earlier work. Otherwise each tier is one stage.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..policies.api import Objective
from ..policies.board import Board, Term, Var, Victim
from ..policies.eviction_cost import Part
from ..policies.fairness import Work, missing_of, weights_of
from ..policies.goals import EVICTION_COSTS
from ..policies.levels import TIERS, Level
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
    every = [x for t in TIERS for x in board.levels.order(t)]
    for g in goals:
        if isinstance(g, Work) and contested:
            weights = weights_of(board.scene, board.levels, g.name)
            for level in board.levels.order(g.name):
                out.append(_stage(board, g, 1, g.at_level(board, level), weights[level]))
                later = every[every.index(level) + 1 :]
                out += _prices(board, goals, level, later)
        elif not (contested and any(g is e for e in EVICTION_COSTS)):
            out.append(_stage(board, g, 1 if g.sense == "max" else -1, g.cost(board)))
    board.close()
    return [s for s in out if s.terms.vars]


def _stage(
    board: Board, goal: Objective, sign: int, terms: Iterable[Term], weight: int = 1
) -> Stage:
    signed = goal_of((sign * c, v) for c, v in terms)
    return Stage(goal, signed, signed.least(board.upper_), signed.most(board.upper_), weight)


def _prices(
    board: Board, goals: Sequence[Objective], level: Level, later: Sequence[Level]
) -> list[Stage]:
    """Return what evictions cost to which work of this level has a right, and no later work."""
    out: list[Stage] = []
    for cost in EVICTION_COSTS:
        if not any(g is cost for g in goals):
            continue
        terms: list[Term] = []
        for part in cost.parts(board):
            terms += _gated(board, part, level, later)
        out.append(_stage(board, cost, -1, terms))
    return out


def _gated(board: Board, part: Part, level: Level, later: Sequence[Level]) -> list[Term]:
    """Return the part's term, worth nothing unless this level is the last to claim the victim."""
    victim, coef, var = part
    v = board.victims[victim]
    claim = _claim(board, v, level)
    if claim is None or not coef:
        return []
    top = board.upper(var)
    price = board.integer(0, top, ("price", var, level)).var
    others = [c for x in later if (c := _claim(board, v, x)) is not None]
    # price ≥ var − top · (1 − claim) − top · Σ later claims
    board.at_most(
        [(1, var), (-1, price), (top, claim), *((-top, c) for c in others)],
        top, "preemption", f"group {v.members.key} price",
    )  # fmt: skip
    return [(coef, price)]


def _claim(board: Board, v: Victim, level: Level) -> Var | None:
    """Return a 0-1 variable: whether work of the level starts that has a right to the victim."""
    memo = ("claim", v.index, level)
    if memo in board.answers:
        known = board.answers[memo]
        return None if isinstance(known, bool) else known
    sources: list[Var] = []
    label = f"group {v.members.key} claimed"
    for t in board.types:
        m = t.sample
        claimant = next((r.shape.claimant for r in board.rolesets_of(t)), None)
        right = board.right(claimant, v)
        start = board.started(t)
        minimum, elastic = board.levels.minimum.get(m.key), board.levels.elastic.get(m.key)
        if right is False:
            continue
        if start is not None and minimum is not None and minimum.level == level:
            starts = _is_positive(board, [(1, start)], ("starts", t.index))
            sources.append(_both(board, starts, right, ("starts", t.index, v.index)))
        if elastic is not None and elastic.level == level:
            counts: list[Term] = [(1, board.count(r)) for r in board.rolesets_of(t)]
            less: list[Term] = [] if start is None else [(-missing_of(m), start)]
            more = _is_positive(board, [*counts, *less], ("more", t.index))
            sources.append(_both(board, more, right, ("more", t.index, v.index)))
    if not sources:
        board.answers[memo] = False
        return None
    claim = board.flag(memo)
    board.answers[memo] = claim
    for x in sources:
        board.at_most([(1, x), (-1, claim)], 0, "preemption", label)
    board.at_most([(1, claim), *((-1, x) for x in sources)], 0, "preemption", label)
    return claim


def _is_positive(board: Board, terms: Sequence[Term], name: Hashable) -> Var:
    """Return a 0-1 variable that is 1 exactly where the (non-negative) sum is positive."""
    memo = ("positive", name)
    if memo in board.answers:
        return Var(int(board.answers[memo]))
    flag = board.flag(memo)
    board.answers[memo] = flag
    top = sum(max(0, c) * board.upper(x) for c, x in terms)
    board.at_most([*terms, (-top, flag)], 0, "preemption", "claims")
    board.at_most([(1, flag), *((-c, x) for c, x in terms)], 0, "preemption", "claims")
    return flag


def _both(board: Board, a: Var, right: "Var | bool", name: Hashable) -> Var:
    """Return a 0-1 variable that is 1 exactly where both are."""
    if right is True:
        return a
    both = board.flag(("both", name))
    board.at_most([(1, both), (-1, a)], 0, "preemption", "claims")
    board.at_most([(1, both), (-1, Var(int(right)))], 0, "preemption", "claims")
    board.at_most([(1, a), (1, Var(int(right))), (-1, both)], 1, "preemption", "claims")
    return both
