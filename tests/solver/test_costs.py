"""Bounds of what evictions cost, against every way to clear nodes for a gang."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest
from benchmarks.edges import reclaim

from apportion.models import Config, Plan, Snapshot, TierRow
from apportion.policies.goals import EVICTION_COSTS
from apportion.policies.legality import is_legal
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.bounding.returning import Returning
from apportion.solver.entry import plan
from oracle.build import Members, budget, node, queue, snapshot

from .children import InProcess

NODES, GANG = 6, 3
GREEDY = Config(engine="greedy", deterministic=True)
SEEDS = range(1, 5)
COSTS = [e.name for e in EVICTION_COSTS]


def ways(of: Snapshot) -> Iterator[tuple[int, ...]]:
    """Give what every legal way to clear nodes for the gang costs."""
    scene = Scene(of, GREEDY, rules_for(GREEDY))
    waiting = [p for p in of.pods if p.state == "pending"]
    running = [p for p in of.pods if p.state == "running"]
    for chosen in combinations([n.name for n in of.nodes], GANG):
        places = dict(zip([p.key for p in waiting], chosen, strict=True))
        outcome = Outcome(scene, places, {p.key for p in running if p.node in chosen}, bound=())
        if is_legal(outcome):
            yield tuple(e.measure(outcome) for e in EVICTION_COSTS)


@cache
def cheapest(seed: int) -> tuple[int, ...]:
    return min(ways(reclaim(NODES, GANG, seed)))


def costs(made: Plan) -> list[TierRow]:
    rows = {row.name: row for row in made.objective}
    return [rows[name] for name in COSTS]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_reclaims_as_cheaply_as_can_be(seed: int) -> None:
    made = plan(
        reclaim(NODES, GANG, seed), Config(deterministic=True, budget_ms=20_000), None, InProcess()
    )

    found = costs(made)
    assert (made.solver.engine, made.solver.status) == ("exact", "optimal")
    assert tuple(row.value for row in found)[:3] == cheapest(seed)[:3]
    for row, least in zip(found, cheapest(seed), strict=True):
        assert row.bound is not None
        assert row.bound <= min(row.value, least)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_without_a_search_are_near_what_is_cheapest(seed: int) -> None:
    """Of plans that cost no more before: each cost is at least its bound, and not far from it."""
    made = plan(reclaim(NODES, GANG, seed), GREEDY)

    left = list(ways(reclaim(NODES, GANG, seed)))
    for n, row in enumerate(costs(made)):
        least = min(way[n] for way in left)
        assert row.bound is not None
        assert row.bound <= least <= row.value
        assert row.bound >= 0.8 * least
        left = [way for way in left if way[n] <= row.value]


@pytest.mark.parametrize(("length", "wrong"), [(None, False), (0, True), (2, True)])
def test_tail_that_is_too_short_is_caught(
    length: int | None, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say that fewer of the last pods could all have left than could."""
    found = Returning._found
    monkeypatch.setattr(
        Returning, "_found", lambda self, tail: found(self, tail) if length is None else length
    )

    row = costs(plan(reclaim(NODES, GANG, 1), GREEDY))[0]

    assert row.bound is not None
    assert (row.bound > cheapest(1)[0]) == wrong


def test_a_gang_goes_as_a_whole_in_the_bound_too() -> None:
    made = plan(
        snapshot(
            node("n1", 4), node("n2", 4), queue("q"),
            Members("pair", "q", 4, on=["n1", "n2"], minimum=2),
            Members("one", "q", 4, waiting=1, priority=9),
        ),
        GREEDY,
    )  # fmt: skip

    rows = {row.name: row for row in made.objective}
    assert (rows["victims"].value, rows["gangs broken"].value) == (2, 1)
    assert (rows["victims"].bound, rows["gangs broken"].bound) == (2, 1)


@pytest.mark.parametrize(("guarded", "want"), [(False, 1), (True, 2)])
def test_budgets_count_in_the_bound(guarded: bool, want: int) -> None:
    """Where the cheaper victim is guarded, the dearer one has to leave."""
    made = plan(
        snapshot(
            node("n1", 4), node("n2", 4), queue("q"), *([budget("low", 0)] if guarded else []),
            Members("low", "q", 4, on=["n1"]), Members("mid", "q", 4, on=["n2"], priority=1),
            Members("one", "q", 4, waiting=1, priority=9),
        ),
        GREEDY,
    )  # fmt: skip

    (row,) = [r for r in made.objective if r.name == "victims"]
    assert (row.value, row.bound) == (want, want)
