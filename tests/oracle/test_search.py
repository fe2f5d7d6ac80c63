"""What evictions cost, which plan is best, and that the search finds them all."""

from itertools import product
from typing import Any

import pytest

from apportion.models import (
    GroupKey,
    NodeName,
    PodState,
)
from oracle.build import Members, node, queue, snapshot
from oracle.clean import clean_plan
from oracle.envy import eviction_cost, objections
from oracle.legality import violations
from oracle.search import Oversize, optimum, plans, worth
from oracle.standing import standing_of
from oracle.verdicts import DEFAULT, plan_of
from oracle.worlds import world


def test_cost_counts_priorities_then_gangs_then_work_then_age() -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("q"),
        Members("a", "q", cpu=1, gpus=2, on=["n1"] * 2, minimum=2),
        Members("b", "q", cpu=2, on=["n1"], priority=1),
        Members("g", "q", cpu=6, waiting=1, priority=2),
    )

    gang = eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "a0", "a1"))
    single = eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "b0"))

    assert gang == (0, 0, 2, 0, 1, 2 * 2000 * 50, 2 * 100)
    assert single == (1, 1, 0, 0, 0, 2000 * 50, 100)  # it is in: g and b come to 8 of 9 cores


def test_cost_counts_first_who_would_be_in_once_everything_else_that_goes_is_gone() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=2),
        Members("u", "a", on=["n1"], created_s=1),
        Members("v", "a", on=["n1"] * 3, minimum=1, created_s=2),
        Members("g", "b", waiting=2, minimum=1),
    )

    # Two of a are in. Without u, two of v are: only one of its elastic members is out.
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1", "g1": "n1"}, "v1", "v2"))[0] == 0
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1"}, "u0"))[0] == 1
    assert eviction_cost(s, DEFAULT, *plan_of({"g0": "n1", "g1": "n1"}, "u0", "v1", "v2"))[0] == 2


def test_optimum_takes_the_best_vector_and_then_the_cheapest_victims() -> None:
    s = snapshot(
        node("n1", 3),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("mid", "q", on=["n1"], priority=1),
        Members("g", "q", waiting=3, minimum=1, priority=2),
        Members("h", "q", waiting=1),
    )
    g, h = GroupKey("x/g"), GroupKey("x/h")
    first = [{(g, "minimum"): 1}, {(h, "minimum"): 1, (g, "elastic"): 2}]

    found = optimum(s, DEFAULT, first)
    kept = optimum(s, DEFAULT, first, forced=[h])

    none = (0,) * 7
    work, ages = 2 * 1000 * 50, 2 * 100
    assert found is not None
    assert found[0] == (1, *none, 4, 0, -1, -1, 0, 0, -work, -ages)
    assert kept is not None
    assert kept[0] == (1, *none, 3, -2, -1, -1, 0, 0, -work, -ages)  # both would be in before h
    assert kept[1][1] == {"x/low0", "x/mid0"}


@pytest.mark.parametrize("has_right", [False, True])
def test_victims_are_priced_at_the_last_level_that_has_a_right_to_them(has_right: bool) -> None:
    s = snapshot(
        node("n1", 1),
        node("n2", 1),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("g", "q", waiting=1, priority=2),
        Members("h", "q", waiting=1, priority=int(has_right)),
    )
    levels = [{(GroupKey("x/g"), "minimum"): 1}, {(GroupKey("x/h"), "minimum"): 1}]
    none, would_be_in = (0,) * 6, int(not has_right)
    minus = (-would_be_in, -1, 0, 0, -1000 * 50, -100)

    found = optimum(s, DEFAULT, levels)
    moved = worth(s, DEFAULT, levels, *plan_of({"g0": "n1", "h0": "n2"}, "low0"))

    # Without a right of its own h would be bought with a victim of g.
    assert found is not None
    if has_right:
        assert found[0] == moved == (1, *none, 1, *minus)
    else:
        assert found == ((1, *none, 0, *none), plan_of({"g0": "n2"}))
        assert moved == (1, *minus, 1, *none)


def test_elastic_members_of_a_repaired_group_count_beyond_what_it_misses() -> None:
    s = snapshot(
        node("n1", 4),
        queue("q"),
        Members("g", "q", on=["n1"], waiting=3, minimum=2),
    )
    g = GroupKey("x/g")

    found = optimum(s, DEFAULT, [{(g, "minimum"): 5}, {(g, "elastic"): 3}])

    assert found is not None
    assert [x for x in found[0] if x] == [5, 6]


def test_an_enumeration_beyond_its_limit_says_so() -> None:
    s = snapshot(node("n1", 9), node("n2", 9), queue("q"), Members("g", "q", waiting=9))

    with pytest.raises(Oversize):
        list(plans(s, DEFAULT, limit=20))


@pytest.mark.parametrize("seed", range(12))
def test_plans_are_what_violations_lets_pass(seed: int) -> None:
    s = world(seed, "tiny")
    c = standing_of(s, DEFAULT).cluster
    waiting = [p.key for p in s.pods if p.state is PodState.PENDING]
    running = [p.key for p in s.pods if p.state is PodState.RUNNING and p.ours]
    where: list[NodeName | None] = [None, *(n.name for n in s.nodes)]

    def form(places: Any, evicted: Any) -> object:
        started = sorted((c.kind[c.pod_index[p]], n) for p, n in places.items())
        return tuple(started), tuple(sorted(c.kind[c.pod_index[p]] for p in evicted))

    want = set()
    for at in product(where, repeat=len(waiting)):
        places = {p: n for p, n in zip(waiting, at, strict=True) if n}
        for bits in product((False, True), repeat=len(running)):
            evicted = frozenset(p for p, gone in zip(running, bits, strict=True) if gone)
            if not violations(s, DEFAULT, places, evicted):
                want.add(form(places, evicted))
    got = [form(*plan) for plan in plans(s, DEFAULT)]

    assert len(got) == len(set(got))
    assert set(got) == want


@pytest.mark.parametrize("seed", range(20))
def test_worlds_have_a_plan_that_nobody_objects_to(seed: int) -> None:
    s = world(seed, "small")

    plan = clean_plan(s, DEFAULT)

    assert plan is not None
    assert not violations(s, DEFAULT, *plan)
    assert not objections(s, DEFAULT, *plan)


def test_worlds_repeat() -> None:
    assert world(3, "small").digest == world(3, "small").digest
