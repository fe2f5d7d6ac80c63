"""Tier rows: what was reached in each tier, and what no plan can surpass there."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..models import GroupKey
from ..policies.api import Objective
from ..policies.board import Board
from ..policies.eviction_cost import Victims, victims_of
from ..policies.fairness import Work, missing_of
from ..policies.goals import EVICTION_COSTS
from ..policies.levels import Level
from ..policies.members import Standing
from ..policies.outcome import Outcome
from ..policies.preemption import rights_of
from .search import Found
from .stages import Stage


@dataclass
class TierResult:
    """What is known of one tier: its value in the plan, and its bound."""

    goal: Objective
    value: int
    bound: int | None


def tier_results(
    goals: Sequence[Objective],
    outcome: Outcome,
    board: Board,
    stages: Sequence[Stage],
    found: Found,
) -> list[TierResult]:
    """Measure every tier in plain Python; take bounds from a model in which nothing was fixed."""
    out = []
    if found.values is None:
        # No stage at all: nothing could start and nobody could be evicted for anybody.
        return [TierResult(g, v, v) for g in goals for v in [g.measure(outcome)]]
    for g in goals:
        value = g.measure(outcome)
        mine = [(s, b) for s, b in zip(stages, found.bounds, strict=True) if s.goal is g]
        bound = _bound(g, value, mine, found.values) if board.exact else None
        out.append(TierResult(g, value, bound))
    return out


def _bound(
    goal: Objective,
    value: int,
    mine: Sequence[tuple[Stage, int | None]],
    solution: Sequence[int],
) -> int | None:
    """Return the tier's bound; where a stage is open, all that follows counts as fully open."""
    total = 0
    for i, (s, bound) in enumerate(mine):
        reached = s.terms.value(solution)
        if bound is None:
            bound = s.high
        total += s.weight * bound
        if bound > reached:
            total += sum(t.weight * t.high for t, _ in mine[i + 1 :])
            return total if goal.sense == "max" else -total
    # Every stage is proven: nothing surpasses what was measured.
    return value


def vector_of(outcome: Outcome, goals: Sequence[Objective]) -> tuple[int, ...]:
    """Return what plans are compared by: larger is better, first things first.

    After each level of work comes what is evicted for it, as in :func:`stages_of`.
    """
    levels = outcome.levels
    assert levels is not None
    victims = victims_of(outcome)
    last = _last_claims(outcome, victims)
    out: list[int] = []
    for g in goals:
        if isinstance(g, Work):
            for level in levels.order(g.name):
                out.append(g.measure_at(outcome, level))
                mine = {v: ps for v, ps in victims.items() if last.get(v) == level}
                out += [-e.measure_of(outcome, mine) if mine else 0 for e in EVICTION_COSTS]
        elif not any(g is e for e in EVICTION_COSTS):
            value = g.measure(outcome)
            out.append(value if g.sense == "max" else -value)
    return tuple(out)


def _last_claims(outcome: Outcome, victims: Victims) -> dict[GroupKey, Level]:
    """Return for each victim the last level of which work starts that has a right to it."""
    levels, roster = outcome.levels, outcome.scene.roster
    assert levels is not None
    if not victims:
        return {}
    rights = rights_of(outcome)
    out: dict[GroupKey, Level] = {}
    for key, pods in outcome.started.items():
        m = roster[key]
        minimum, elastic = levels.minimum.get(key), levels.elastic.get(key)
        mine: list[Level] = []
        if minimum is not None and m.standing is not Standing.WHOLE:
            mine.append(minimum.level)
        if elastic is not None and len(pods) > missing_of(m):
            mine.append(elastic.level)
        for v in victims:
            if mine and rights.may(key, v):
                out[v] = max(mine) if v not in out else max(out[v], *mine)
    return out
