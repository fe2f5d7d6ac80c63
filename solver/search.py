"""The search: tier after tier, each proved or as good as time allows, each floored for the next.

Tiers whose ranges are small enough are solved in one go, the earlier weighted above all later ones.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models import Config
from ..policies.api import Objective
from ..policies.board import Board
from .linear import Goal, Linear, goal_of, linear_of
from .process import Floor, Reply, SolverProcess

MERGE_RANGE = 1 << 52
"""Tiers are merged while the product of their ranges stays below this."""


@dataclass
class TierResult:
    """What the search knows of one tier: its value in the best solution, and its bound."""

    goal: Objective
    value: int
    bound: int | None


@dataclass
class Found:
    """The best solution found, and what is known of each tier."""

    values: tuple[int, ...] | None
    tiers: list[TierResult]
    proven: bool
    detail: str = ""


@dataclass
class _Stage:
    goal: Objective
    terms: Goal
    """Always to be maximised."""
    low: int
    high: int
    floor: int | None = None

    @property
    def range(self) -> int:
        return self.high - self.low


@dataclass
class Clock:
    """Time left for one plan; a clock that does not run in deterministic mode."""

    budget_s: float | None
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        if self.budget_s is None:
            return None
        return self.budget_s - (time.monotonic() - self.started)

    def spent(self) -> float:
        return time.monotonic() - self.started


def stages_of(board: Board, goals: Sequence[Objective]) -> list[_Stage]:
    """Ask every goal for its terms (which may add rows to the board)."""
    out = []
    for g in goals:
        sign = 1 if g.sense == "max" else -1
        terms = goal_of((sign * c, v) for c, v in g.cost(board))
        out.append(_Stage(g, terms, terms.least(board.upper_), terms.most(board.upper_)))
    board.close()
    return out


def search(
    board: Board,
    stages: Sequence[_Stage],
    process: SolverProcess,
    config: Config,
    clock: Clock,
    hint: Sequence[int] | None = None,
) -> Found:
    """Solve the tiers in order."""
    model = linear_of(board)
    floors: list[Floor] = []
    best: tuple[int, ...] | None = tuple(hint) if hint is not None else None
    results: list[TierResult] = []
    proven = True
    detail = ""
    waiting = [s for s in stages]
    while waiting:
        chunk = _next_chunk(waiting)
        del waiting[: len(chunk)]
        if all(s.range == 0 for s in chunk) and best is not None:
            results += [TierResult(s.goal, _signed(s, s.low), _signed(s, s.low)) for s in chunk]
            continue
        left = clock.left()
        if left is not None and left <= 0.005:
            proven = False
            detail = detail or "out of time"
            results += [_unsolved(s, best) for s in chunk]
            continue
        share = None if left is None else max(0.005, left * (0.6 if waiting else 1.0))
        reply = _ask(model, chunk, floors, best, process, config, share)
        if reply.status == "INFEASIBLE" or reply.status == "INVALID":
            # The incumbent is legal: such an answer is the solver's fault, not the plan's.
            detail = f"the solver called a model with a known solution {reply.status}"
            proven = False
            results += [_unsolved(s, best) for s in (*chunk, *waiting)]
            break
        if reply.values is not None:
            best = reply.values
        elif reply.status == "KILLED":
            detail = reply.detail
        optimal = reply.status == "OPTIMAL"
        proven = proven and optimal
        if best is None:
            results += [_unsolved(s, None) for s in (*chunk, *waiting)]
            break
        results += _read(chunk, reply, best, optimal)
        for s in chunk:
            floors.append((s.terms.vars, s.terms.coefs, s.terms.value(best)))
    return Found(best, results, proven, detail)


def _next_chunk(waiting: Sequence[_Stage]) -> list[_Stage]:
    chunk, reach = [waiting[0]], waiting[0].range + 1
    for s in waiting[1:]:
        reach *= s.range + 1
        if reach > MERGE_RANGE:
            break
        chunk.append(s)
    return chunk


def _weights(chunk: Sequence[_Stage]) -> list[int]:
    weights = [1] * len(chunk)
    for i in range(len(chunk) - 2, -1, -1):
        weights[i] = weights[i + 1] * (chunk[i + 1].range + 1)
    return weights


def _ask(
    model: Linear,
    chunk: Sequence[_Stage],
    floors: Sequence[Floor],
    hint: Sequence[int] | None,
    process: SolverProcess,
    config: Config,
    limit_s: float | None,
) -> Reply:
    weights = _weights(chunk)
    goal = goal_of(
        (w * c, v)
        for s, w in zip(chunk, weights)
        for v, c in zip(s.terms.vars, s.terms.coefs)  # type: ignore[misc]
    )
    return process.solve(model, goal, floors, hint, parameters_of(config), limit_s)


def parameters_of(config: Config) -> dict[str, Any]:
    """Return the solver's parameters: few workers, no symmetry search, no unsafe presolve step."""
    out: dict[str, Any] = {
        "num_workers": 1 if config.deterministic else config.workers,
        "random_seed": config.seed,
        "symmetry_level": 0,
        # 9.15 can prove what is not so while it looks for included rows (a public report).
        "presolve_inclusion_work_limit": 0,
        "catch_sigint_signal": False,
    }
    if config.deterministic:
        out["max_deterministic_time"] = config.budget_ms / 1000.0
    return out


def _signed(s: _Stage, value: int) -> int:
    return value if s.goal.sense == "max" else -value


def _unsolved(s: _Stage, best: Sequence[int] | None) -> TierResult:
    return TierResult(s.goal, _signed(s, s.terms.value(best)) if best is not None else 0, None)


def _read(
    chunk: Sequence[_Stage], reply: Reply, best: Sequence[int], optimal: bool
) -> list[TierResult]:
    """Split a merged bound: an earlier tier's bound is what the sum allows it at most."""
    out: list[TierResult] = []
    rest = reply.bound
    exact = True
    for s, w in zip(chunk, _weights(chunk), strict=True):
        value = s.terms.value(best)
        if optimal:
            out.append(TierResult(s.goal, _signed(s, value), _signed(s, value)))
            continue
        bound: int | None = None
        if rest is not None and exact:
            # Everything after this tier adds at least its lows.
            later = chunk[chunk.index(s) + 1 :]
            least = sum(
                t.low * wt for t, wt in zip(later, _weights(chunk)[len(chunk) - len(later) :])
            )
            bound = min(s.high, (rest - least) // w)
            exact = bound == value
            rest -= w * value
        out.append(
            TierResult(s.goal, _signed(s, value), None if bound is None else _signed(s, bound))
        )
    return out
