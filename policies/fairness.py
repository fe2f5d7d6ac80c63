"""Fairness: work in the order of its levels, as much of each as can be.

Value of a tier: Σ weight(level) · worth, over what starts. Weights are lexicographic as long as
their range stays below 2^50 (a level then comes wholly before the next); beyond, they fall
geometrically.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .levels import TIERS, Level, Levels, Tier
from .members import Members, Standing
from .outcome import Outcome
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board, Term

LEXICOGRAPHIC = 1 << 50
GEOMETRIC_BITS = 30


def missing_of(m: Members) -> int:
    """Return how many pods have to start for the group to have its minimum."""
    if m.standing is Standing.WHOLE:
        return 0
    return max(0, m.need - len(m.running))


def weights_of(scene: Scene, levels: Levels, tier: Tier) -> Mapping[Level, int]:
    """Return the weight of each level of a tier."""
    order = levels.order(tier)
    if not order:
        return {}
    reach = dict.fromkeys(order, 0)
    for minimum in levels.minimum.values() if order else ():
        if minimum.level in reach:
            reach[minimum.level] += minimum.value
    for key, elastic in levels.elastic.items() if order else ():
        if elastic.level in reach:
            m = scene.roster[key]
            reach[elastic.level] += elastic.value * max(0, len(m.pending) - missing_of(m))
    weights: dict[Level, int] = {}
    weight = 1
    for level in reversed(order):
        weights[level] = weight
        weight *= reach[level] + 1
    if weight <= LEXICOGRAPHIC:
        return weights
    steps = max(1, len(order) - 1)
    return {
        level: 1 << (GEOMETRIC_BITS // 2 * (steps - i) // steps) for i, level in enumerate(order)
    }


@dataclass(frozen=True, slots=True)
class Work:
    """One tier of work: repair of broken gangs, work inside entitlements, work beyond them."""

    name: Tier
    unit: str = "weighted share"
    sense: Literal["max", "min"] = "max"

    def cost(self, board: "Board") -> "Iterable[Term]":
        return self._terms(board, weights_of(board.scene, board.levels, self.name))

    def at_level(self, board: "Board", level: Level) -> "Iterable[Term]":
        """Return the work of one level alone."""
        return self._terms(board, {level: 1})

    def _terms(self, board: "Board", weights: Mapping[Level, int]) -> "Iterable[Term]":
        levels = board.levels
        out: list[Term] = []
        for t in board.types:
            m = t.sample
            minimum, elastic = levels.minimum.get(m.key), levels.elastic.get(m.key)
            start = board.started(t)
            if minimum is not None and start is not None and minimum.level in weights:
                out.append((weights[minimum.level] * minimum.value, start))
            if elastic is not None and elastic.level in weights:
                each = weights[elastic.level] * elastic.value
                out += [(each, board.count(r)) for r in board.rolesets_of(t)]
                if start is not None:
                    out.append((-each * missing_of(m), start))
        return out

    def measure(self, outcome: Outcome) -> int:
        assert outcome.levels is not None
        return self._measure(outcome, weights_of(outcome.scene, outcome.levels, self.name))

    def measure_at(self, outcome: Outcome, level: Level) -> int:
        """Return the work of one level alone."""
        return self._measure(outcome, {level: 1})

    @staticmethod
    def _measure(outcome: Outcome, weights: Mapping[Level, int]) -> int:
        levels = outcome.levels
        assert levels is not None
        total = 0
        for key, pods in outcome.started.items():
            m = outcome.scene.roster[key]
            minimum, elastic = levels.minimum.get(key), levels.elastic.get(key)
            if minimum is not None and m.standing is not Standing.WHOLE:
                total += weights.get(minimum.level, 0) * minimum.value
            if elastic is not None:
                more = len(pods) - missing_of(m)
                total += weights.get(elastic.level, 0) * elastic.value * more
        return total


def work_tiers() -> tuple[Work, ...]:
    """Return the three tiers of work, in order."""
    return tuple(Work(t) for t in TIERS)
