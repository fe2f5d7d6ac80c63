"""Budgets: no PodDisruptionBudget bears more evictions than it allows, all together."""

from typing import Any

import pytest

from apportion.models import Budget, LabelSelector, PodState, Requirement, Snapshot
from apportion.models.budget import disruptions_allowed, is_met
from apportion.policies.testing import accepts, refuses

from .builders import (
    Members,
    after,
    budget,
    but,
    evicted,
    node,
    only,
    placed,
    queue,
    reasons,
    rule,
    snapshot,
)
from .conftest import Solve

BUDGET = rule("budget")
ALL = LabelSelector()


def world_of(*budgets: Budget) -> Snapshot:
    return snapshot(
        node("n1", 4),
        queue("q"),
        Members("a", "q", on=["n1"] * 2),
        Members("b", "q", on=["n1"] * 2),
        Members("g", "q", cpu=2, waiting=1, priority=1),
        *budgets,
    )


@pytest.mark.parametrize(("allowed", "want"), [(2, True), (1, False), (0, False)])
def test_budget_bears_as_many_as_it_allows(allowed: int, want: bool) -> None:
    outcome = after(world_of(budget("a", allowed)), "g0@n1", "a0 a1")

    said = f"bears {allowed} evictions, the plan has 2"
    assert bool(accepts(BUDGET, outcome)) is want
    assert bool(refuses(BUDGET, outcome, "budget x/a", said)) is not want


def test_a_budget_without_evictions_bears_none_and_is_content() -> None:
    assert accepts(BUDGET, after(world_of(budget("a", 0)), gone="b0 b1"))


def test_groups_that_share_a_budget_share_its_evictions() -> None:
    both = LabelSelector((Requirement("app", "In", ("a", "b")),))
    world = world_of(Budget("x", "both", both, 1))

    assert accepts(BUDGET, after(world, gone="a0"))
    assert refuses(BUDGET, after(world, gone="a0 b0"), "budget x/both", "the plan has 2")


def test_every_budget_over_a_pod_holds() -> None:
    world = world_of(budget("a", 2), Budget("x", "all", ALL, 1))

    assert refuses(BUDGET, after(world, gone="a0 a1"), "budget x/all")
    assert refuses(
        BUDGET,
        after(world_of(budget("a", 1), Budget("x", "all", ALL, 2)), gone="a0 a1"),
        "budget x/a",
    )


@pytest.mark.parametrize(
    ("about", "one"),
    [
        ("of another namespace", Budget("y", "a", only("a"), 0)),
        ("that selects nothing", Budget("x", "a", None, 0)),
        ("over other pods", budget("g", 0)),
    ],
)
def test_other_budgets_do_not_matter(about: str, one: Budget) -> None:
    assert accepts(BUDGET, after(world_of(one), gone="a0 a1")), about


def test_victims_are_chosen_where_budgets_bear_them(solve: Solve) -> None:
    plan = solve(world_of(budget("a", 1), budget("b", 2)))

    assert placed(plan) == {"g0": "n1"}
    assert len(evicted(plan) & {"a0", "a1"}) <= 1


def test_a_group_that_budgets_keep_out_is_held_for_want_of_room(solve: Solve) -> None:
    plan = solve(world_of(Budget("x", "all", ALL, 1)))

    assert (placed(plan), evicted(plan)) == ({}, set())
    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert reason.message == "0 of 1 members would fit; 1 of 1 nodes: too little cpu"


def test_groups_that_are_given_up_count(solve: Solve) -> None:
    broken = Members("a", "q", on=["n1"] * 2, minimum=3, broken_since_s=0)

    def gone(allowed: int) -> set[str]:
        return evicted(solve(snapshot(node("n1", 4), queue("q"), broken, budget("a", allowed))))

    assert (gone(2), gone(1)) == ({"a0", "a1"}, set())


# How many disruptions a budget bears, as the disruption controller has it


@pytest.mark.parametrize(
    ("about", "fields", "want"),
    [
        ("two of four are to stay", {"min_available": 2}, 1),
        ("as many as run are to stay", {"min_available": 3}, 0),
        ("half of four, exactly", {"min_available_percent": 50}, 1),
        ("51 % of four is three, rounded up", {"min_available_percent": 51}, 0),
        ("one may be missing, and is", {"max_unavailable": 1}, 0),
        ("two may be missing, one is", {"max_unavailable": 2}, 1),
        ("26 % of four is two, rounded up", {"max_unavailable_percent": 26}, 1),
        ("25 % of four is one, and it is missing", {"max_unavailable_percent": 25}, 0),
        ("all may go", {"max_unavailable_percent": 100}, 3),
        ("nothing is written: one is to stay", {}, 2),
        ("of ten expected two may be missing", {"max_unavailable": 2, "expected": 10}, 0),
        ("of two expected one is to stay", {"min_available_percent": 50, "expected": 2}, 2),
    ],
)
def test_disruptions_are_computed_from_what_runs_and_what_is_expected(
    about: str, fields: dict[str, Any], want: int
) -> None:
    group = but(Members("a", "q", on=["n1"] * 4), 3, state=PodState.PENDING, node=None)
    one = Budget("x", "a", only("a"), 0, **fields)

    assert disruptions_allowed(one, group.pods) == want, about


# Pods that are not ready


def test_what_is_not_ready_goes_for_nothing_where_the_budget_says_so(solve: Solve) -> None:
    low = but(Members("a", "q", on=["n1"] * 4), 2, ready=False)
    low = but(low, 3, ready=False)
    high = Members("h", "q", waiting=4, priority=9, minimum=1)

    def gone(**fields: bool) -> set[str]:
        one = Budget("x", "a", only("a"), 1, **fields)
        return evicted(solve(snapshot(node("n1", 4), queue("q"), low, high, one)))

    # One may go; with two that count for nothing, three may.
    assert len(gone()) == 1
    assert gone(always_unready=True) == gone(met=True)
    assert len(gone(met=True)) == 3
    assert {"a2", "a3"} <= gone(met=True)


@pytest.mark.parametrize(
    ("minimum", "unready", "met"),
    [(2, 1, True), (3, 1, True), (4, 1, False), (0, 0, False), (1, 4, False)],
)
def test_a_budget_is_met_while_enough_are_healthy(minimum: int, unready: int, met: bool) -> None:
    group = Members("a", "q", on=["n1"] * 4)
    for i in range(unready):
        group = but(group, i, ready=False)
    assert is_met(Budget("x", "a", only("a"), 0, min_available=minimum), group.pods) is met
