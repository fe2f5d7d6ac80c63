"""Branching: groups start or do not; a few of them are tried either way.

Every part that is put aside is so by a bound of its own; the worst of what is left is the bound.
"""

import heapq
import time
from math import isfinite

import numpy as np

from .duality import upper_bound
from .program import Index, Program, Real
from .solving import Solver

NODES = 60
"""Most parts that are looked at."""
LIMIT_S, NEVER_S = 1.0, 1e6
"""Time for one solve: where a clock counts, and where none does."""
WHOLE = 1e-6
"""What is so near to an integer is one."""


class Branching:
    """Bounds a goal where the columns named are integers."""

    def __init__(
        self, program: Program, goal: Real, integers: Index, solver: Solver | None = None
    ) -> None:
        self._program, self._goal, self._integers = program, goal, integers
        self._solver = solver if solver is not None else Solver(program, goal)
        self._limit_s = LIMIT_S
        self._most = float(np.maximum(goal, 0.0) @ program.upper)

    def run(
        self, reached: float, until: float, nodes: int = NODES, upper: Real | None = None
    ) -> float:
        """Return a bound of the goal; not below what is known to be reached.

        ``upper``: bounds of the columns, where they are others than the program's.
        """
        self._limit_s = LIMIT_S if isfinite(until) else NEVER_S
        lower = np.zeros(self._program.columns)
        upper = self._program.upper if upper is None else upper
        open_: list[tuple[float, int, Real, Real, Real | None]] = []
        first = self._bound(lower, upper, self._most)
        heapq.heappush(open_, (-first[0], 0, lower, upper, first[1]))
        count = 0
        while True:
            worst, _, lower, upper, point = open_[0]
            column = self._fractional(point, lower, upper)
            best = -worst
            if np.floor(best) <= reached or column is None or count >= nodes:
                return max(best, reached)
            if time.process_time() > until:
                return max(best, reached)
            heapq.heappop(open_)
            assert point is not None
            at = float(np.floor(np.clip(point[column], lower[column], upper[column])))
            below, above = upper.copy(), lower.copy()
            below[column], above[column] = at, at + 1.0
            for low, high, sign, least in (
                (lower, below, -1.0, -at),
                (above, upper, 1.0, at + 1.0),
            ):
                count += 1
                bound, found = self._bound(low, high, best)
                if found is None and self._never(column, sign, lower, upper, least):
                    continue
                heapq.heappush(open_, (-bound, count, low, high, found))
            if not open_:
                return reached

    def _bound(self, lower: Real, upper: Real, known: float) -> tuple[float, Real | None]:
        found = self._solver.maximize(self._goal, lower, upper, self._limit_s)
        if found is None:
            return known, None
        own = upper_bound(self._program, self._goal, found.multipliers, lower, upper)
        return min(own, known), found.values

    def _never(self, column: int, sign: float, lower: Real, upper: Real, least: float) -> bool:
        """Prove that a column (or its negative) reaches so much nowhere."""
        goal = np.zeros(self._program.columns)
        goal[column] = sign
        found = self._solver.maximize(goal, lower, upper, self._limit_s)
        if found is None:
            return False
        return upper_bound(self._program, goal, found.multipliers, lower, upper) < least

    def _fractional(self, point: Real | None, lower: Real, upper: Real) -> int | None:
        """Return the column whose missing part is worth the most; None where all are integers."""
        if point is None:
            return None
        mine = np.clip(point, lower, upper)[self._integers]
        parts = mine - np.floor(mine + WHOLE)
        worth = np.where(parts > WHOLE, np.abs(self._goal[self._integers]) * (parts + 0.01), -1.0)
        at = int(np.argmax(worth)) if len(worth) else -1
        return int(self._integers[at]) if at >= 0 and worth[at] >= 0 else None
