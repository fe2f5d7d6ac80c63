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

    A stage was solved among the plans that reach what the search had reached before it. So its
    bound holds for every plan that reaches as much in all of these, be it another than the search
    found. From the first stage on in which the plan has less, later stages know no bound.
    """
    if found.values is None:
        # No stage at all: nothing could start and nobody could be evicted for anybody.
        return [TierResult(g, v, v) for g in goals for v in [g.measure(outcome)]]
    before, after = entries(searched, goals), entries(outcome, goals)
    same = outcome.evicted == searched.evicted
    known: list[_Known] = []
    holds = board.exact
    for s, b in zip(stages, found.bounds, strict=True):
        at = (s.goal.name, s.level)
        floor = s.terms.value(found.values)
        if s.coarse:
            # In coarser units, what is reached is known for the same victims alone.
            value = floor if same else None
        elif isinstance(s.goal, Work):
            # The search may have counted pods that then found no node.
            value = after[at]
        else:
            value = floor + after[at] - before[at]
        known.append(_Known(s, b if holds else None, value))
        holds = holds and value is not None and value >= floor
    out = []
    for g in goals:
        mine = [k for k in known if k.stage.goal is g]
        value, bound = g.measure(outcome), None
        if board.exact:
            closed = all(k.bound == k.value and not k.stage.coarse for k in mine)
            closed = closed and (bool(mine) or value == g.measure(searched))
            bound = value if closed else _bound(g, mine)
        out.append(TierResult(g, value, bound))
    return out


@dataclass(frozen=True, slots=True)
class _Known:
    """A stage, its bound where one holds for the plan, and what the plan reaches in it."""

    stage: Stage
    bound: int | None
    value: int | None


def _bound(goal: Objective, mine: Sequence[_Known]) -> int | None:
    """Return the sum of the stages' bounds; where one is open, all that follow are fully open."""
    if all(k.bound is None for k in mine):
        return None
    total, is_open = 0, False
    for k in mine:
        top = k.stage.high if k.bound is None or is_open else k.bound
        total += k.stage.weight * top
        is_open = is_open or k.value is None or top > k.value
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
    claims: list[tuple[Level, GroupKey]] = []
    for key, pods in outcome.started.items():
        m = roster[key]
        minimum, elastic = levels.minimum.get(key), levels.elastic.get(key)
        mine: list[Level] = []
        if minimum is not None and m.standing is not Standing.WHOLE:
            mine.append(minimum.level)
        if elastic is not None and len(pods) > missing_of(m):
            mine.append(elastic.level)
        if mine:
            claims.append((max(mine), key))
    out: dict[GroupKey, Level] = {}
    left = list(victims)
    for level, key in sorted(claims, reverse=True):
        taken = {v for v in left if rights.may(key, v)}
        out.update(dict.fromkeys(taken, level))
        left = [v for v in left if v not in taken]
        if not left:
            break
    return out
