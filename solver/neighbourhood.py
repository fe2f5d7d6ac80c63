"""A neighbourhood: a part of a plan that is chosen anew with the model of the whole.

Some groups, nodes and victims are free, all else stays as the plan has it. The rules tell the
solver what they always tell it, of fewer parts; what is fixed is fixed by ranges of variables. So
what comes out is a plan of the whole cluster. It is never a bound: a heuristic has fixed the rest.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..models import GroupKey
from ..policies.api import Constraint, Objective
from ..policies.board import Board, Var
from ..policies.fairness import Work
from ..policies.goals import EVICTION_COSTS
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .allowance import Allowance
from .compile import compile_board
from .decode import Decision, decode
from .hints import hint_of
from .linear import Goal, goal_of, linear_of
from .process import Floor, SolverProcess
from .scope import Scope
from .search import MERGE_RANGE, parameters_of

PRICES = EVICTION_COSTS[:3]
"""Of what evictions cost: by right, by priority, by gang; lost work and age have too many steps."""
PART = 0.6
"""Part of the time left that one solve may take."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What is chosen anew."""

    groups: frozenset[GroupKey]
    """Groups that may start, or start more pods."""
    nodes: frozenset[int]
    """Nodes of which all that starts there may start on another one of them."""
    victims: frozenset[GroupKey] = frozenset()
    """Running groups of which other pods may leave than do; then evictions are priced, too."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: a decision with more work, and whether there surely is none with more."""

    decision: Decision | None
    is_closed: bool


def _nodes_of(scene: Scene, group: GroupKey) -> Iterable[int]:
    """Yield the nodes of the group's running pods that the snapshot knows."""
    return [scene.index[p.node] for p in scene.roster[group].running if p.node in scene.index]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A goal, and its value in the plan at hand where the main variables do not say it."""

    goal: Goal
    value: int | None = None


class Part:
    """The board of a neighbourhood, with all else fixed as the plan has it."""

    def __init__(self, outcome: Outcome, of: Neighbourhood) -> None:
        assert outcome.levels is not None
        scene = outcome.scene
        places = {k: scene.index[n] for k, n in outcome.places.items()}
        scope = Scope(
            frozenset(outcome.started) | of.groups,
            of.groups,
            frozenset(outcome.losses) | of.victims,
            of.nodes,
            places,
            frozenset(i for v in of.victims for i in _nodes_of(scene, v)),
        )
        self._of, self._outcome = of, outcome
        self._compiled = compile_board(scene, outcome.levels, scope=scope)
        self._board = Board(scene, self._compiled.parts, outcome.levels)
        for rule in scene.rules:
            if isinstance(rule, Constraint):
                rule.constrain(self._board)
        self._board.close()
        self._now = hint_of(self._board, self._compiled, Decision(places, outcome.evicted))
        if self._now is not None:
            for var in self._fixed():
                value = self._now[var]
                assert value is not None
                self._board.lower[var] = self._board.upper_[var] = value

    @property
    def size(self) -> int:
        """How many variables there are."""
        return len(self._board.lower)

    def _fixed(self) -> Iterable[Var]:
        board, of = self._board, self._of
        for c in board.classes:
            if c.nodes[0] not in of.nodes:
                yield from (var for _, var in board.on(c))
        for t in board.types:
            if not any(m.key in of.groups for m in t.members):
                start = board.started(t)
                if start is not None:
                    yield start
                yield from (board.count(r) for r in board.rolesets_of(t))
        for v in board.victims:
            if v.members.key not in of.victims:
                yield board.gone(v)
                yield from (board.lost(u) for u in board.units_of(v))

    def more_work(
        self,
        goals: Sequence[Objective],
        process: SolverProcess,
        limit_s: float | None,
        allowance: Allowance | None = None,
    ) -> Answer:
        """Look for a decision with more work of a level, and none less of the levels before.

        Where other victims may leave: with as much work, and less of what evictions cost.
        ``limit_s`` is for all solves, of which each gets a part of what is left; where no clock
        counts, ``allowance`` is, which is charged.
        """
        if self._now is None:
            return Answer(None, is_closed=False)
        asked = [_Asked(g) for g in self._merged(self._levels(goals))] + self._prices(goals)
        deadline = None if limit_s is None else time.monotonic() + limit_s
        model = linear_of(self._board)
        parameters = parameters_of(self._board.scene.config, contested=bool(self._board.victims))
        floors: list[Floor] = []
        found: tuple[int, ...] | None = None
        is_closed = True
        now = [*self._now, *[None] * (len(self._board.lower) - len(self._now))]
        for one in asked:
            goal = one.goal
            known = found if found is not None else now
            value = one.value
            if value is None or found is not None:
                value = sum(c * (known[v] or 0) for v, c in zip(goal.vars, goal.coefs, strict=True))
            least = value if found is not None else value + 1
            left = None if deadline is None else PART * (deadline - time.monotonic())
            if (left is not None and left <= 0) or (allowance is not None and allowance.is_out):
                is_closed = False
                break
            if allowance is not None:
                parameters["max_deterministic_time"] = allowance.effort(PART)
            reply = process.solve(
                model, goal, [*floors, (goal.vars, goal.coefs, least)], known, parameters, left
            )
            if allowance is not None:
                allowance.solve(len(model.vars), reply.effort_s)
            is_closed = is_closed and reply.status in ("OPTIMAL", "INFEASIBLE")
            if reply.values is not None:
                found = reply.values
                value = goal.value(found)
            elif reply.status != "INFEASIBLE":
                break
            floors.append((goal.vars, goal.coefs, value))
        if found is None:
            return Answer(None, is_closed)
        return Answer(decode(self._board, self._compiled, found), is_closed)

    def _levels(self, goals: Sequence[Objective]) -> list[Goal]:
        """Return the levels of work, first things first; what is fixed as a whole is left out."""
        board, out = self._board, list[Goal]()
        for g in goals:
            if isinstance(g, Work):
                for level in board.levels.order(g.name):
                    goal = goal_of(g.at_level(board, level))
                    if self._range(goal):
                        out.append(goal)
        return out

    def _prices(self, goals: Sequence[Objective]) -> list["_Asked"]:
        """Return what evictions cost, first things first, where other victims may leave."""
        if not self._of.victims:
            return []
        board, out = self._board, list[_Asked]()
        for g in goals:
            if any(g is e for e in PRICES):
                goal = goal_of((-c, v) for c, v in g.cost(board))
                if goal.vars:
                    out.append(_Asked(goal, -g.measure(self._outcome)))
        board.close()
        return out

    def _range(self, goal: Goal) -> int:
        low, high = self._board.lower, self._board.upper_
        terms = zip(goal.vars, goal.coefs, strict=True)
        return sum(abs(c) * (high[v] - low[v]) for v, c in terms)

    def _merged(self, levels: Sequence[Goal]) -> Iterable[Goal]:
        """Merge neighbours as long as numbers allow, the earlier weighted above all later ones."""
        rest = list(levels)
        while rest:
            reach, chunk = self._range(rest[0]) + 1, [rest.pop(0)]
            while rest and reach * (self._range(rest[0]) + 1) <= MERGE_RANGE:
                reach *= self._range(rest[0]) + 1
                chunk.append(rest.pop(0))
            weight, terms = 1, list[tuple[int, int]]()
            for goal in reversed(chunk):
                terms += [(weight * c, v) for v, c in zip(goal.vars, goal.coefs, strict=True)]
                weight *= self._range(goal) + 1
            yield goal_of(terms)
