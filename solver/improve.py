"""Improving: a plan gets better neighbourhood by neighbourhood, as long as there is time.

Where the model of the whole cluster is too large to be built in the time left, parts of it are
not. Each answer counts only where it is better by the vector of the contract and the checker bears
it. Sizes follow success: a neighbourhood in which there surely is nothing better grows, one that
takes too long shrinks.
"""

import time
from collections.abc import Sequence

from ..policies.api import Objective
from ..policies.legality import verify
from ..policies.levels import Levels
from ..policies.scene import Scene
from .contended import Contended
from .decode import Decision, outcome_of
from .neighbourhood import Part
from .process import SolverProcess
from .rows import vector_of
from .search import Clock

LEAST, MOST = 16, 256
"""How many nodes the first neighbourhood has: as many as there is time for."""
GROWTH = 3
"""So many times as many has the next one, where there surely is nothing better in it."""
S_PER_VARIABLE = 100e-6
"""Seconds of a core of 2024 until a variable is in the solver, its rows told and its answer judged:
a guess, until a first neighbourhood has been built. On a busy machine it takes longer by as much as
judging the first plan does."""
SHARE, FIRST_SHARE = 0.5, 0.2
"""Part of the time left that building one may take, as far as is known; and the first one."""
SOLVE = 0.6
"""Part of what is then left that one solve may take."""
SHORTEST_S = 1e-6
"""Less time than that is not told from none."""
ROUNDS, EFFORT = 8, 2000
"""Without a clock: so many neighbourhoods, each with so much of the solver's time, in ms."""


def improved(
    scene: Scene,
    levels: Levels,
    goals: Sequence[Objective],
    first: Decision,
    process: SolverProcess,
    clock: Clock,
) -> Decision:
    """Return a better plan where a neighbourhood of it has one, else the plan as it was."""
    if clock.is_nearly_out():
        return first
    return _Improvement(scene, levels, goals, first, process, clock).run()


class _Improvement:
    def __init__(
        self,
        scene: Scene,
        levels: Levels,
        goals: Sequence[Objective],
        first: Decision,
        process: SolverProcess,
        clock: Clock,
    ) -> None:
        self._scene, self._levels, self._goals = scene, levels, goals
        self._best, self._process, self._clock = first, process, clock
        began_s, used_s = clock.spent(), time.process_time()
        self._value = vector_of(outcome_of(scene, first, levels), goals)
        used_s = max(SHORTEST_S, time.process_time() - used_s)
        self._rate_s = S_PER_VARIABLE * max(1.0, (clock.spent() - began_s) / used_s)
        """What a variable took in the last neighbourhood, besides solving it."""

    def run(self) -> Decision:
        size: int | None = None
        for _ in range(ROUNDS) if self._clock.left() is None else iter(int, 1):
            around = Contended(outcome_of(self._scene, self._best, self._levels))
            if size is None:
                size = self._first_size(around)
            size = min(size, around.size)
            if not around.groups or not size or not self._has_time(around, size):
                break
            is_better, is_closed = self._round(around, size)
            if is_better is None:
                break
            if is_better:
                continue
            if not is_closed:
                size //= GROWTH
            elif size >= around.size:
                break
            else:
                size *= GROWTH
        return self._best

    def _first_size(self, around: Contended) -> int:
        left, size = self._clock.left(), MOST
        while left is not None and size > LEAST:
            if around.variables(size) * self._rate_s <= FIRST_SHARE * left:
                break
            size //= 2
        return size

    def _has_time(self, around: Contended, size: int) -> bool:
        left = self._clock.left()
        return left is None or around.variables(size) * self._rate_s <= SHARE * left

    def _round(self, around: Contended, size: int) -> tuple[bool | None, bool]:
        """Solve one neighbourhood: whether it is better (None: no answer), and closed."""
        clock, began_s = self._clock, self._clock.spent()
        outcome = outcome_of(self._scene, self._best, self._levels)
        neighbourhood = around.around(size)
        if not neighbourhood.groups:
            return False, True
        part = Part(outcome, neighbourhood)
        built_s = clock.spent() - began_s
        left = clock.left()
        # What comes out is decoded and judged, which takes about as long as half of building.
        limit = None if left is None else (left - built_s / 2) * SOLVE
        if limit is not None and limit <= 0:
            return None, False
        answer = part.more_work(self._goals, self._process, limit, EFFORT)
        solved_s = clock.spent() - began_s - built_s
        is_better = answer.decision is not None and self._accept(answer.decision)
        self._rate_s = (clock.spent() - began_s - solved_s) / around.variables(size)
        return is_better, answer.is_closed

    def _accept(self, decision: Decision) -> bool:
        after = outcome_of(self._scene, decision, self._levels)
        value = vector_of(after, self._goals)
        if value <= self._value or verify(after):
            return False
        self._value = value
        self._best = Decision(decision.places, decision.evicted, after)
        return True
