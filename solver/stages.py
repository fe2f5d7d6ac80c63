"""Stages: what is solved one after the other, first things first.

Each level of work is a stage: with numbers of one level alone a solver proves in a tenth of the
time what it proves of a sum in which levels are weighted one above the other. Where running work
may be evicted, what a level costs in evictions comes right after it: later work must not be bought
with victims of earlier work. Every other tier is one stage.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..policies.api import Objective
from ..policies.board import Board, GroupType, Term, Var
from ..policies.eviction_cost import Part
from ..policies.fairness import Work, missing_of, weights_of
from ..policies.goals import EVICTION_COSTS
from ..policies.levels import Level
from .linear import Goal, goal_of, terms_of

GRAIN = {"lost work": 1 << 20, "age of victims": 1 << 16, "seniority": 1 << 20}
"""Into how many steps the range of a goal is cut at most, so that stages can be merged."""

PLAIN = "size before goals"
"""Under which the board notes it."""


@dataclass
class Stage:
    """One thing to maximise: a goal (its negative, where less is better), or a part of one."""

    goal: Objective
    terms: Goal
    low: int
    high: int
    weight: int = 1
    """What one unit is worth in the goal's own measure."""
    level: Level | None = None
    """Of which level of work, or of what evictions for which; None: of the whole plan."""
    coarse: bool = False
    """Measured in coarser units than the goal."""

    @property
    def range(self) -> int:
        return self.high - self.low

    @property
    def is_price(self) -> bool:
        """Say whether it is what evictions cost."""
        return any(self.goal is cost for cost in EVICTION_COSTS)


def stages_of(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    """Ask the goals for their terms (which may add rows to the board) and put them in order."""
    out: list[Stage] = []
    board.close()
    board.notes[PLAIN] = (len(board.lower), len(board.rows))
    contested = any(not v.given_up for v in board.victims)
    claims = _Claims(board) if contested else None
    costs = [g for g in goals if any(g is e for e in EVICTION_COSTS)]
    parts = [(g, list(g.parts(board))) for g in costs] if contested else []  # type: ignore[attr-defined]
    for g in goals:
        if isinstance(g, Work):
            weights = weights_of(board.scene, board.levels, g.name)
            for level in board.levels.order(g.name):
                terms = g.at_level(board, level)
                out.append(_stage(board, g, 1, terms, weights[level], level))
                if claims is not None:
                    out += _prices(board, claims, parts, level)
        elif not (contested and any(g is e for e in EVICTION_COSTS)):
            out.append(_stage(board, g, 1 if g.sense == "max" else -1, g.cost(board)))
    board.close()
    return [s for s in out if s.terms.vars]


def plain_of(board: Board) -> tuple[int, int]:
    """Return how many variables and rows the board had before goals added theirs."""
    found: tuple[int, int] = board.notes.get(PLAIN, (len(board.lower), len(board.rows)))
    return found


def _stage(
    board: Board,
    goal: Objective,
    sign: int,
    terms: Iterable[Term],
    weight: int = 1,
    level: Level | None = None,
) -> Stage:
    signed = goal_of((sign * c, v) for c, v in terms)
    low, high = signed.least(board.upper_), signed.most(board.upper_)
    grain = GRAIN.get(goal.name)
    coarse = grain is not None and high - low > grain
    if grain is not None and coarse:
        # Coarser units, rounded so that the bound stays on its side.
        by = -(-(high - low) // grain)
        signed = goal_of((c // by if c > 0 else -(-c // by), v) for c, v in terms_of(signed))
        low, high, weight = signed.least(board.upper_), signed.most(board.upper_), weight * by
    return Stage(goal, signed, low, high, weight, level, coarse)


class _Claims:
    """For each victim the levels of which work, if it starts, has a right to it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._sources: dict[int, dict[Level, list[Var]]] = {}
        self._flags: dict[tuple[int, Level], Var] = {}
        self._levels: dict[int, list[Level]] = {}
        victims = [v for v in board.victims if not v.given_up]
        alike: dict[tuple[int, Level, Var | bool], list[Var]] = {}
        for t in board.types:
            claimant = next((r.shape.claimant for r in board.rolesets_of(t)), None)
            starts = self._starts(t)
            for v in victims if starts else ():
                right = board.right(claimant, v)
                if right is not False:
                    for level, var in starts:
                        alike.setdefault((v.index, level, right), []).append(var)
        for (victim, level, right), of in alike.items():
            # Those with one and the same right: whether any of them starts.
            some = _any(board, of)
            both = _both(board, some, right, (some, victim))
            self._sources.setdefault(victim, {}).setdefault(level, []).append(both)
        self._levels = {v: sorted(of) for v, of in self._sources.items()}

    def _starts(self, t: GroupType) -> list[tuple[Level, Var]]:
        """Return by level a 0-1 variable: whether the type's minimum, or more than it, starts."""
        board = self._board
        m = t.sample
        start = board.started(t)
        minimum, elastic = board.levels.minimum.get(m.key), board.levels.elastic.get(m.key)
        out: list[tuple[Level, Var]] = []
        if start is not None and minimum is not None:
            var = _is_positive(board, [(1, start)], ("starts", t.index))
            out.append((minimum.level, var))
        if elastic is not None:
            counts: list[Term] = [(1, board.count(r)) for r in board.rolesets_of(t)]
            less: list[Term] = [] if start is None else [(-missing_of(m), start)]
            var = _is_positive(board, [*counts, *less], ("more", t.index))
            out.append((elastic.level, var))
        return out

    def levels(self, victim: int) -> list[Level]:
        return self._levels.get(victim, [])

    def flag(self, victim: int, level: Level) -> Var:
        """Return a 0-1 variable: whether work of the level with a right to the victim starts."""
        if (victim, level) not in self._flags:
            board = self._board
            sources = self._sources[victim][level]
            label = f"group {board.victims[victim].members.key} claimed"
            claim = sources[0] if len(sources) == 1 else board.flag(("claim", victim, level))
            self._flags[victim, level] = claim
            if len(sources) > 1:
                for x in sources:
                    board.at_most([(1, x), (-1, claim)], 0, "preemption", label)
                board.at_most([(1, claim), *((-1, x) for x in sources)], 0, "preemption", label)
        return self._flags[victim, level]


def _prices(
    board: Board,
    claims: _Claims,
    parts: Sequence[tuple[Objective, Sequence[Part]]],
    level: Level,
) -> list[Stage]:
    """Return what evictions cost to which work of this level has a right, and no later work."""
    out: list[Stage] = []
    for cost, mine in parts:
        terms: list[Term] = []
        for part in mine:
            terms += _gated(board, claims, part, level)
        out.append(_stage(board, cost, -1, terms, level=level))
    return out


def _gated(board: Board, claims: _Claims, part: Part, level: Level) -> list[Term]:
    """Return the part's term, worth nothing unless this level is the last to claim the victim."""
    victim, coef, var = part
    levels = claims.levels(victim)
    if level not in levels or not coef:
        return []
    if len(levels) == 1:
        return [(coef, var)]  # nobody else could have it evicted
    top = board.upper(var)
    known = ("price", var, level) in board.answers
    price = board.integer(0, top, ("price", var, level)).var
    if not known:
        board.answers["price", var, level] = price
        later = [claims.flag(victim, x) for x in levels[levels.index(level) + 1 :]]
        # price ≥ var − top · (1 − claim) − top · Σ later claims
        board.at_most(
            [(1, var), (-1, price), (top, claims.flag(victim, level)), *((-top, c) for c in later)],
            top, "preemption", f"group {board.victims[victim].members.key} price",
        )  # fmt: skip
    return [(coef, price)]


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


def _any(board: Board, flags: Sequence[Var]) -> Var:
    """Return a 0-1 variable that is 1 exactly where any of them is."""
    if len(flags) == 1:
        return flags[0]
    return _is_positive(board, [(1, f) for f in flags], ("any", *flags))


def _both(board: Board, a: Var, right: "Var | bool", name: Hashable) -> Var:
    """Return a 0-1 variable that is 1 exactly where both are."""
    if right is True:
        return a
    both = board.flag(("both", name))
    board.at_most([(1, both), (-1, a)], 0, "preemption", "claims")
    board.at_most([(1, both), (-1, Var(int(right)))], 0, "preemption", "claims")
    board.at_most([(1, a), (1, Var(int(right))), (-1, both)], 1, "preemption", "claims")
    return both
