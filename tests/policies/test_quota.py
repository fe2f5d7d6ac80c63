"""Quota: nothing starts that takes a queue, at any level, above what it may have."""

from typing import Any

import pytest

from apportion.models import UNLIMITED, Amounts, Config, QueueShare, Snapshot
from apportion.policies.testing import accepts, held, refuses

from .builders import (
    Members,
    after,
    cores,
    evicted,
    node,
    placed,
    queue,
    reasons,
    rule,
    snapshot,
)
from .conftest import Solve

QUOTA = rule("quota")


def capped(top: int, *groups: Members, **limits: int) -> Snapshot:
    return snapshot(node("n1", 20, 9), queue("q", capability={"cpu": top, **limits}), *groups)


@pytest.mark.parametrize(("top", "want"), [(3000, True), (2999, False), (UNLIMITED, True)])
def test_capability_holds_up_to_the_last_unit(top: int, want: bool) -> None:
    world = capped(top, Members("old", "q", on=["n1"]), Members("g", "q", cpu=2, waiting=1))

    outcome = after(world, "g0@n1")

    assert bool(accepts(QUOTA, outcome)) is want
    assert bool(refuses(QUOTA, outcome, "queue q", "would use 3 of cpu, its limit is")) is not want


def test_a_resource_without_a_limit_is_not_limited() -> None:
    world = capped(1000, Members("g", "q", cpu=0, gpus=9, waiting=1))

    assert accepts(QUOTA, after(world, "g0@n1"))


def test_pod_slots_may_be_limited_too() -> None:
    world = capped(9000, Members("g", "q", waiting=2), pods=1)

    assert accepts(QUOTA, after(world, "g0@n1"))
    assert refuses(QUOTA, after(world, "g0@n1 g1@n1"), "queue q", "would use 2 of pods")


def test_the_limit_of_every_ancestor_holds() -> None:
    world = snapshot(
        node("n1", 20),
        queue("up", capability={"cpu": 3000}),
        queue("a", parent="up", capability={"cpu": 2000}),
        queue("b", parent="up"),
        Members("g", "a", waiting=3),
        Members("h", "b", waiting=3),
    )

    assert accepts(QUOTA, after(world, "g0@n1 g1@n1 h0@n1"))
    assert refuses(QUOTA, after(world, "g0@n1 g1@n1 g2@n1"), "queue a", "would use 3 of cpu")
    assert refuses(QUOTA, after(world, "g0@n1 h0@n1 h1@n1 h2@n1"), "queue up", "its limit is 3")


def test_what_is_evicted_makes_room_in_the_queue() -> None:
    world = capped(2000, Members("low", "q", on=["n1"] * 2), Members("g", "q", waiting=1))

    assert refuses(QUOTA, after(world, "g0@n1"), "queue q", "would use 3 of cpu")
    assert accepts(QUOTA, after(world, "g0@n1", "low1"))


def test_a_queue_above_its_limit_keeps_what_runs_and_starts_what_asks_for_something_else() -> None:
    world = capped(
        1000,
        Members("old", "q", on=["n1"] * 2),
        Members("g", "q", waiting=1),
        Members("h", "q", cpu=0, gpus=1, waiting=1),
    )

    assert accepts(QUOTA, after(world))
    assert accepts(QUOTA, after(world, "h0@n1"))
    assert accepts(QUOTA, after(world, gone="old1"))
    assert refuses(QUOTA, after(world, "g0@n1", "old1"), "queue q", "would use 2 of cpu")
    assert accepts(QUOTA, after(world, "g0@n1", "old0 old1"))


def test_guarantees_of_the_others_are_out_of_reach() -> None:
    world = snapshot(
        node("n1", 10),
        queue("a", guarantee=Amounts(cores(4))),
        queue("b"),
        Members("g", "b", waiting=7),
    )
    six = " ".join(f"g{i}@n1" for i in range(6))

    assert accepts(QUOTA, after(world, six))
    assert refuses(QUOTA, after(world, f"{six} g6@n1"), "queue b", "its limit is 6")


# Work that cannot be preempted


def fixed(due: int | None, **group: Any) -> Snapshot:
    return snapshot(
        node("n1", 20, 9),
        queue("q", due=due),
        Members("old", "q", on=["n1"], preemptable=False),
        Members("loan", "q", cpu=9, on=["n1"]),
        Members("g", "q", waiting=2, preemptable=False, **group),
    )


@pytest.mark.parametrize(
    ("due", "starts", "want"),
    [(3, "g0@n1 g1@n1", True), (2, "g0@n1 g1@n1", False), (2, "g0@n1", True)],
)
def test_non_preemptible_work_starts_up_to_what_is_due(due: int, starts: str, want: bool) -> None:
    outcome = after(fixed(due), starts)

    said = "non-preemptible work would use 3 of cpu, due is 2"
    assert bool(accepts(QUOTA, outcome)) is want
    assert bool(refuses(QUOTA, outcome, "queue q", said)) is not want


def test_non_preemptible_work_is_free_where_no_due_is_named() -> None:
    assert accepts(QUOTA, after(fixed(None), "g0@n1 g1@n1"))
    assert accepts(QUOTA, after(fixed(1, cpu=0, gpus=4), "g0@n1 g1@n1"))


def test_preemptable_work_is_free_to_go_beyond_what_is_due() -> None:
    world = snapshot(node("n1", 9), queue("q", due=1), Members("g", "q", waiting=3))

    assert accepts(QUOTA, after(world, "g0@n1 g1@n1 g2@n1"))


def test_the_due_of_every_ancestor_that_names_the_resource_holds() -> None:
    world = snapshot(
        node("n1", 9),
        queue("up", due=1),
        queue("q", parent="up"),
        Members("g", "q", waiting=2, preemptable=False),
    )

    assert accepts(QUOTA, after(world, "g0@n1"))
    assert refuses(QUOTA, after(world, "g0@n1 g1@n1"), "queue up", "due is 1")


def test_work_that_is_given_up_frees_no_more_than_the_due_leaves(solve: Solve) -> None:
    """Five cores are in use, three are given up: of the due of three one is left for two groups."""
    world = snapshot(
        node("n1", 20),
        queue("q", due=3),
        Members("old", "q", on=["n1"] * 2, minimum=2, preemptable=False),
        Members("lost", "q", on=["n1"] * 3, minimum=4, broken_since_s=0, preemptable=False),
        Members("g", "q", waiting=1, preemptable=False),
        Members("h", "q", waiting=1, preemptable=False),
    )

    plan = solve(world)

    assert len(placed(plan)) == 1
    assert (plan.solver.engine, plan.solver.detail) == ("exact", "")


# Reasons


def test_a_group_too_big_for_its_queue_is_told_what_it_asks_for_and_what_there_may_be(
    solve: Solve,
) -> None:
    plan = solve(capped(3000, Members("g", "q", cpu=2, waiting=2, minimum=2)))

    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("quota", "queue q")
    assert reason.message == "asks for 4 of cpu and queue q may have 3"


def test_members_that_run_count_for_what_a_broken_group_asks_for() -> None:
    world = capped(3000, Members("g", "q", cpu=2, on=["n1"], waiting=1, minimum=2))

    [reason] = held(QUOTA, after(world), "x/g")

    assert reason.message == "asks for 4 of cpu and queue q may have 3"


def test_non_preemptible_work_beyond_the_due_is_told_the_due(solve: Solve) -> None:
    world = snapshot(
        node("n1", 9),
        queue("q", due=1),
        Members("g", "q", waiting=2, minimum=2, preemptable=False),
    )

    [reason] = reasons(solve(world), "g")

    assert (reason.rule, reason.about) == ("quota", "queue q")
    assert reason.message == "asks for 2 of cpu, cannot be preempted, and queue q is due 1"


def full() -> Snapshot:
    return capped(3000, Members("old", "q", on=["n1"] * 2), Members("g", "q", cpu=2, waiting=1))


def test_a_full_queue_is_said_with_use_limit_and_what_is_asked_for(solve: Solve) -> None:
    reason = reasons(solve(full()), "g")[0]

    assert (reason.rule, reason.about) == ("quota", "queue q")
    assert reason.message == "queue q is at 2 of its limit of 3 cpu; 2 more are asked for"


def test_a_full_queue_is_the_only_reason(solve: Solve) -> None:
    assert [r.rule for r in reasons(solve(full()), "g")] == ["quota"]


def test_a_plan_fills_a_queue_up_to_its_limit(solve: Solve) -> None:
    plan = solve(capped(3000, Members("g", "q", waiting=5, minimum=1)))

    assert len(placed(plan)) == 3
    assert evicted(plan) == set()


def test_quota_can_be_left_out(solve: Solve) -> None:
    plan = solve(capped(3000, Members("g", "q", waiting=5, minimum=1)), off=("quota",))

    assert len(placed(plan)) == 5


def test_percentages_of_the_configuration_lower_a_limit_and_never_raise_it() -> None:
    world = capped(10_000, Members("g", "q", waiting=12, minimum=1))
    starts = " ".join(f"g{i}@n1" for i in range(9))

    def config(percent: int) -> Config:
        return Config(queues={"q": QueueShare(capability_percent={"cpu": percent})})

    assert refuses(QUOTA, after(world, starts, config=config(44)), "queue q", "its limit is 8800m")
    assert accepts(QUOTA, after(world, starts, config=config(45)))
    assert refuses(
        QUOTA, after(world, f"{starts} g9@n1 g10@n1", config=config(100)), "queue q", "limit is 10"
    )
