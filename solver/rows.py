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
from ..policies.rights import rights_of
from .search import Found
from .stages import Stage


@dataclass
class TierResult:
    """What is known of one tier: its value in the plan, and its bound."""

    goal: Objective
    value: int
    bound: int | None


Entry = tuple[str, Level | None]
"""A goal's name, and of which level of work it is asked: None for the whole plan."""


def tier_results(
    goals: Sequence[Objective],
    outcome: Outcome,
    searched: Outcome,
    board: Board,
    stages: Sequence[Stage],
    found: Found,
) -> list[TierResult]:
    """Measure every tier in plain Python; take bounds from a model in which nothing was fixed.

    A stage was solved among the plans that reach what the search had reached before it. Where the
    plan has less since (an exchange for the sake of order), later stages know no bound.
    """
    if found.values is None:
        # No stage at all: nothing could start and nobody could be evicted for anybody.
        return [TierResult(g, v, v) for g in goals for v in [g.measure(outcome)]]
    before, after = entries(searched, goals), entries(outcome, goals)
    changed = len(stages)
    for i, s in enumerate(stages):
        if before[s.goal.name, s.level] != after[s.goal.name, s.level]:
            changed = i
            break
    out = []
    for g in goals:
        mine = [
            (s, b if i <= changed else None)
            for i, (s, b) in enumerate(zip(stages, found.bounds, strict=True))
            if s.goal is g
        ]
        value, bound = g.measure(outcome), None
        if board.exact:
            closed = value == g.measure(searched) and all(
                b == s.terms.value(found.values) and not s.coarse for s, b in mine
            )
            bound = value if closed else _bound(g, mine, found.values)
        out.append(TierResult(g, value, bound))
    return out


def _bound(
    goal: Objective, mine: Sequence[tuple[Stage, int | None]], solution: Sequence[int]
) -> int | None:
    """Return the sum of the stages' bounds; where one is open, all that follow are fully open."""
    if all(b is None for _, b in mine):
        return None
    total, is_open = 0, False
    for s, b in mine:
        top = s.high if b is None or is_open else b
        total += s.weight * top
        is_open = is_open or top > s.terms.value(solution)
    return total if goal.sense == "max" else -total


def entries(outcome: Outcome, goals: Sequence[Objective]) -> dict[Entry, int]:
    """Return what plans are compared by: larger is better, first things first.

    After each level of work comes what is evicted for it, as in :func:`stages_of`.
    """
    levels = outcome.levels
    assert levels is not None
    victims = victims_of(outcome)
    last = _last_claims(outcome, victims)
    out: dict[Entry, int] = {}
    for g in goals:
        if isinstance(g, Work):
            for level in levels.order(g.name):
                out[g.name, level] = g.measure_at(outcome, level)
                mine = {v: ps for v, ps in victims.items() if last.get(v) == level}
                for e in EVICTION_COSTS:
                    out[e.name, level] = -e.measure_of(outcome, mine) if mine else 0
            out[g.name, None] = g.measure(outcome)
        elif not any(g is e for e in EVICTION_COSTS):
            value = g.measure(outcome)
            out[g.name, None] = value if g.sense == "max" else -value
    return out


def vector_of(outcome: Outcome, goals: Sequence[Objective]) -> tuple[int, ...]:
    """Return the entries' values, to be compared lexicographically."""
    return tuple(entries(outcome, goals).values())


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
