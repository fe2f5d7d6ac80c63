"""The search: stage after stage, each proved or as good as time allows, each floored for the next.

Stages whose ranges are small enough are solved in one go, the earlier weighted above the later.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models import Config
from ..policies.board import Board
from ..policies.fairness import Work
from .allowance import Allowance
from .leap import (
    AND_THEN,
    HOW_LONG,
    NEAR,
    PARAMETERS,
    WHEN,
    far_work,
    is_better,
    leap_floors,
    leap_goal,
    open_prices,
    plain_model,
    work_floors,
)
from .linear import goal_of, linear_of
from .process import NO_ANSWER, Floor, Reply, SolverProcess
from .stages import Stage

MERGE_RANGE = 1 << 48
"""Stages are merged while the product of their ranges stays below this."""
SYMMETRIC = 10_000
"""Up to so many variables equal nodes are looked for: that takes 0.1 s there, and more beyond."""
EARLY = 1.2
"""So much earlier than planned it leaps, rather than begin a solve that has no time."""
LEAP_TAKES = 4
"""Times that a leap takes as long as to complete a known decision, on the same board. Without that
much time there is none: what it found would come too late, and first things first."""
FOR_WORK, FOR_OTHERS = 0.8, 0.6
"""Part of the time left for one solve: of work that nobody is evicted for, and of all else."""
JUDGING = 0.25
"""Less time than this part of what a plan took so far will not do for a change of it: that has to
be judged, too."""


@dataclass
class Clock:
    """Time left for one plan; a clock that does not run in deterministic mode."""

    budget_s: float | None
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        if self.budget_s is None:
            return None
        return self.budget_s - self.spent()

    def is_out(self) -> bool:
        left = self.left()
        return left is not None and left <= 0

    def is_nearly_out(self) -> bool:
        """Say whether there is too little time left to change a plan and judge it."""
        left = self.left()
        return left is not None and left < JUDGING * self.spent()

    def spent(self) -> float:
        return time.monotonic() - self.started

    def no_longer_than(self, seconds: float) -> "Clock":
        """Return a clock that is out so many seconds from now, if this one is not out before."""
        if self.budget_s is None:
            return self
        return Clock(min(self.budget_s, self.spent() + seconds), self.started)

    def before(self, seconds: float) -> "Clock":
        """Return a clock that is out so many seconds earlier."""
        return Clock(None if self.budget_s is None else self.budget_s - seconds, self.started)


@dataclass
class Found:
    """The best solution found, with each stage's value in it and its bound (None: unknown)."""

    values: tuple[int, ...] | None
    bounds: list[int | None]
    proven: bool
    detail: str = ""


def search(
    board: Board,
    stages: Sequence[Stage],
    process: SolverProcess,
    config: Config,
    clock: Clock,
    hint: Sequence[int | None] | None = None,
) -> Found:
    """Solve the stages in order. Values and bounds are those of the (maximised) stages."""
    contested = any(not v.given_up for v in board.victims)
    return _Search(board, stages, process, config, clock, contested).run(hint)


class _Search:
    def __init__(
        self,
        board: Board,
        stages: Sequence[Stage],
        process: SolverProcess,
        config: Config,
        clock: Clock,
        contested: bool,
    ) -> None:
        self._contested = contested
        self._board = board
        self._model = linear_of(board)
        self._stages = stages
        self._process = process
        self._config = config
        self._clock = clock
        self._best: tuple[int, ...] | None = None
        self._floors: list[Floor] = []
        self._detail = ""
        left = clock.left()
        # Without a clock nothing runs short; without victims there are no prices between.
        self._leaps_at = None if left is None or not contested else left * WHEN
        self._began_with = left or 0.0
        self._solves = 0
        self._allowance = Allowance.of_search(config) if config.deterministic else None
        """What is left to the solves where no clock counts."""
        if self._allowance is not None:
            self._allowance.solve(len(self._model.vars), 0.0)

    def run(self, hint: Sequence[int | None] | None) -> Found:
        bounds: list[int | None] = [None] * len(self._stages)
        proven = True
        at = 0
        if not self._stages:
            return Found(None, [], True)
        if hint is not None:
            self._begin(hint)
        while at < len(self._stages):
            after = self._leap(at)
            proven, at = proven and after == at, after
            chunk = self._chunk(at, proven)
            if self._best is not None and self._is_settled(chunk):
                bounds[at : at + len(chunk)] = [s.high for s in chunk]
            else:
                reply = self._ask(chunk, at)
                if reply is None or self._best is None:
                    proven = False
                    break
                proven = proven and reply.status == "OPTIMAL"
                bounds[at : at + len(chunk)] = self._split(chunk, reply)
            for s in chunk:
                self._floors.append((s.terms.vars, s.terms.coefs, s.terms.value(self._best)))
            at += len(chunk)
        return Found(self._best, bounds, proven, self._detail)

    def _begin(self, hint: Sequence[int | None]) -> None:
        """Take a known decision for a start, if the solver agrees that there is one."""
        self._solves += 1
        before_s = self._clock.spent()
        reply = self._completed([(v, x) for v, x in enumerate(hint) if x is not None])
        takes_s = LEAP_TAKES * (self._clock.spent() - before_s)
        if self._leaps_at is not None and self._leaps_at < takes_s:
            self._leaps_at = None
        self._best = reply.values
        if reply.status in ("INFEASIBLE", "INVALID"):
            self._detail = f"the greedy plan is {reply.status} to the solver"
        elif reply.status in NO_ANSWER:
            self._detail = reply.detail

    def _completed(self, fixed: Sequence[tuple[int, int]]) -> Reply:
        """Turn a known decision into a full solution: only auxiliary variables are left to find.

        They are pushed to the good side of every stage, so that the decision is not undervalued.
        """
        known = {v for v, _ in fixed}
        wish: dict[int, int] = {}
        for s in self._stages:
            for v, c in zip(s.terms.vars, s.terms.coefs, strict=True):
                if v not in known:
                    wish[v] = wish.get(v, 0) + (1 if c > 0 else -1)
        left = self._clock.left()
        limit = None if left is None else max(0.002, left * 0.5)
        return self._process.solve(
            self._model, goal_of((c, v) for v, c in wish.items()), (), None,
            parameters_of(self._config), limit, fixed,
        )  # fmt: skip

    def _leap(self, at: int) -> int:
        """Look once for work of the last tier, when time runs short and it is far away.

        Return the stage to go on with: the first of that tier where more of its work is found, as
        going through the stages before it might cost that again.
        """
        left = self._clock.left()
        if self._best is None or self._leaps_at is None or left is None:
            return at
        if left > self._leaps_at * EARLY and not self._is_short(at, left):
            return at
        self._leaps_at = None
        first = far_work(self._stages, at, self._best)
        found = None if first is None else self._leapt(at, first)
        if first is None or found is None or not is_better(self._stages, found, self._best):
            return at
        self._best = found
        self._floors += [
            (s.terms.vars, s.terms.coefs, s.terms.value(found)) for s in self._stages[at:first]
        ]
        return first

    def _until_leap(self, left: float) -> float:
        """Return after how many seconds it leaps; what is left, where it does not."""
        if self._best is None or self._leaps_at is None or left <= self._leaps_at:
            return left
        return left - self._leaps_at

    def _is_short(self, at: int, left: float) -> bool:
        """Say whether prices are next that are paid, and time will not do for all that follows."""
        assert self._best is not None
        chunk = self._chunk(at, proven=True)
        if not any(s.is_price and s.terms.value(self._best) < s.high for s in chunk):
            return False
        more = 0
        while at < len(self._stages):
            chunk = self._chunk(at, proven=True)
            more += not self._is_settled(chunk)
            at += len(chunk)
        return more * (self._began_with - left) > left * self._solves

    def _leapt(self, at: int, first: int) -> tuple[int, ...] | None:
        """Return a solution with most of the work that there is in the tier."""
        best, stages = self._best, self._stages
        assert best is not None
        parameters = parameters_of(self._config, contested=True)
        model, limit = plain_model(self._board), self._part(HOW_LONG)
        far = self._process.solve(
            model, leap_goal(stages, first), work_floors(stages, first, best),
            best[: len(model.lower)], parameters | {"relative_gap_limit": NEAR}, limit,
        ).values  # fmt: skip
        if far is None:
            return None
        return self._process.solve(
            self._model, open_prices(stages, at, first, best),
            leap_floors(stages, at, first, best, far), far,
            parameters | PARAMETERS, self._part(AND_THEN),
        ).values  # fmt: skip

    def _part(self, share: float) -> float | None:
        left = self._clock.left()
        return None if left is None else max(0.002, left * share)

    def _is_settled(self, chunk: Sequence[Stage]) -> bool:
        assert self._best is not None
        return all(s.terms.value(self._best) == s.high for s in chunk)

    def _chunk(self, at: int, proven: bool) -> list[Stage]:
        """Return what is solved in one go.

        Work that nobody is evicted for goes alone, level by level, while all before it is proven:
        what is merged has to be proven as a whole, with much larger numbers.
        """
        chunk, reach = [self._stages[at]], self._stages[at].range + 1
        if proven and self._is_plain_work(at):
            return chunk
        for s in self._stages[at + 1 :]:
            reach *= s.range + 1
            if reach > MERGE_RANGE:
                break
            chunk.append(s)
        return chunk

    def _is_symmetric(self, chunk: Sequence[Stage]) -> bool:
        """Say whether packing is all that the chunk is about, on a model small enough."""
        small = len(self._model.lower) <= SYMMETRIC
        return small and not self._contested and all(isinstance(s.goal, Work) for s in chunk)

    def _is_plain_work(self, at: int) -> bool:
        return not self._contested and isinstance(self._stages[at].goal, Work)

    def _ask(self, chunk: Sequence[Stage], at: int) -> Reply | None:
        """Solve a chunk; None where no time is left or the solver cannot be used further."""
        self._solves += 1
        left = self._clock.left()
        allowance = self._allowance
        if (left is not None and left <= 0.002) or (allowance is not None and allowance.is_out):
            self._detail = self._detail or "out of time"
            return None
        last = at + len(chunk) >= len(self._stages)
        share = 1.0 if last else FOR_WORK if self._is_plain_work(at) else FOR_OTHERS
        limit = None if left is None else max(0.002, left * share)
        if left is not None and limit is not None:
            limit = min(limit, self._until_leap(left))
        weights = _weights(chunk)
        goal = goal_of(
            (w * c, v)
            for s, w in zip(chunk, weights, strict=True)
            for v, c in zip(s.terms.vars, s.terms.coefs, strict=True)
        )
        parameters = parameters_of(self._config, self._contested, self._is_symmetric(chunk))
        if allowance is not None:
            parameters["max_deterministic_time"] = allowance.effort(share)
        reply = self._process.solve(self._model, goal, self._floors, self._best, parameters, limit)
        if allowance is not None:
            allowance.solve(len(self._model.vars), reply.effort_s)
        if reply.values is not None:
            self._best = reply.values
        if reply.status in ("INFEASIBLE", "INVALID", *NO_ANSWER):
            # A known solution makes "infeasible" the solver's fault, never the plan's.
            why = reply.detail or f"the solver answered {reply.status}"
            self._detail = why if reply.status in NO_ANSWER else self._detail or why
            return reply if reply.values is not None else None
        return reply

    def _split(self, chunk: Sequence[Stage], reply: Reply) -> list[int | None]:
        """Split a merged bound: an earlier stage's bound is what the sum allows it at most."""
        assert self._best is not None
        values = [s.terms.value(self._best) for s in chunk]
        if reply.status == "OPTIMAL":
            return list(values)
        weights = _weights(chunk)
        out: list[int | None] = []
        rest = reply.bound
        for i, (s, w) in enumerate(zip(chunk, weights, strict=True)):
            if rest is None:
                out.append(None)
                continue
            least = sum(t.low * x for t, x in zip(chunk[i + 1 :], weights[i + 1 :], strict=True))
            bound = min(s.high, (rest - least) // w)
            out.append(bound)
            rest = rest - w * values[i] if bound == values[i] else None
        return out


def _weights(chunk: Sequence[Stage]) -> list[int]:
    weights = [1] * len(chunk)
    for i in range(len(chunk) - 2, -1, -1):
        weights[i] = weights[i + 1] * (chunk[i + 1].range + 1)
    return weights


def parameters_of(
    config: Config, contested: bool = False, symmetric: bool = False
) -> dict[str, Any]:
    """Return the solver's parameters: few workers, little symmetry search, no unsafe presolve step.

    ``contested``: somebody could be evicted for somebody. ``symmetric``: equal nodes are worth
    being looked for.
    """
    out: dict[str, Any] = {
        "num_workers": 1 if config.deterministic else config.workers,
        "random_seed": config.seed,
        # Finding equal nodes takes longer than it saves, but where packing them is all there is.
        "symmetry_level": 2 if symmetric else 0,
        # 9.15 can prove what is not so while it looks for included rows (a public report).
        "presolve_inclusion_work_limit": 0,
        "catch_sigint_signal": False,
        # Many short solves: one look before the search is enough.
        "max_presolve_iterations": 1,
        "cp_model_probing_level": 0,
    }
    if contested:
        # Rights, claims and gangs that go as a whole say little to an LP: clauses prove in a tenth
        # of the time what it proves. Beside it an LP for what is packing after all.
        if out["num_workers"] > 1:
            out["subsolvers"] = ["no_lp", "default_lp"]
        else:
            out["linearization_level"] = 0
    if config.deterministic:
        out["max_deterministic_time"] = config.budget_ms / 1000.0
    return out
