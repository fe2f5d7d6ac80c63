"""Capacity: what starts fits, at once where it is bound, in the end where it is nominated."""

import pytest

from apportion.models import Amounts, PodState, Snapshot
from apportion.policies.testing import accepts, refuses

from .builders import (
    GPU,
    Members,
    after,
    evicted,
    foreign,
    node,
    placed,
    queue,
    reasons,
    replace,
    rule,
    snapshot,
)
from .conftest import Solve

CAPACITY = rule("capacity")


@pytest.mark.parametrize(
    ("about", "offer", "want"),
    [
        ("exactly full", {"cpu": 3000, GPU: 2000, "pods": 2}, True),
        ("one milli-core short", {"cpu": 2999, GPU: 2000, "pods": 2}, False),
        ("one milli-device short", {"cpu": 3000, GPU: 1999, "pods": 2}, False),
        ("one pod slot short", {"cpu": 3000, GPU: 2000, "pods": 1}, False),
        ("no such resource", {"cpu": 3000, "pods": 2}, False),
    ],
)
def test_capacity_holds_up_to_the_last_unit(about: str, offer: dict[str, int], want: bool) -> None:
    world = snapshot(
        replace(node("n1", 0), allocatable=Amounts(offer)),
        queue("q"),
        Members("g", "q", cpu=1, gpus=2, waiting=1),
        Members("h", "q", cpu=2, waiting=1),
    )

    outcome = after(world, "g0@n1 h0@n1")

    assert bool(accepts(CAPACITY, outcome)) is want, about
    assert bool(refuses(CAPACITY, outcome, "node n1", "in the end")) is not want, about


def test_capacity_names_node_resource_and_how_much_too_much() -> None:
    world = snapshot(node("n1", 3), node("n2", 9), queue("q"), Members("g", "q", cpu=2, waiting=3))

    assert accepts(CAPACITY, after(world, "g0@n1 g1@n2 g2@n2"))
    assert refuses(
        CAPACITY, after(world, "g0@n1 g1@n1"), "node n1", "cpu is overfull in the end by 1"
    )


def leaving() -> Snapshot:
    return snapshot(
        node("n1", 2),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("g", "q", waiting=1, cpu=2, priority=1),
        foreign("f", 1, "n1", PodState.TERMINATING),
    )


def test_capacity_counts_those_who_leave_for_nominated_pods_only() -> None:
    world = leaving()

    assert accepts(CAPACITY, after(world, "g0@n1", "low0"))
    assert refuses(CAPACITY, after(world, "g0@n1"), "node n1", "in the end by 1")
    assert refuses(CAPACITY, after(world, "g0@n1", "low0", at_once="g0"), "node n1", "at once by 2")


def test_a_node_that_is_overfull_already_takes_what_asks_for_something_else() -> None:
    world = snapshot(
        node("n1", 1, 1),
        queue("q"),
        Members("old", "q", on=["n1", "n1"], minimum=2),
        Members("g", "q", cpu=0, gpus=1, waiting=1),
        Members("h", "q", cpu=1, waiting=1),
    )

    assert accepts(CAPACITY, after(world))
    assert accepts(CAPACITY, after(world, "g0@n1"))
    assert refuses(CAPACITY, after(world, "h0@n1"), "node n1", "by 2")


def test_foreign_pods_on_their_way_hold_their_place() -> None:
    there = foreign("f", 1, "n1")
    coming = replace(there, state=PodState.PENDING, node=None, nominated=there.node)
    world = snapshot(node("n1", 2), queue("q"), Members("g", "q", cpu=2, waiting=1), coming)

    assert refuses(CAPACITY, after(world, "g0@n1"), "node n1", "by 1")


def test_a_group_that_does_not_fit_is_held_with_what_is_short(solve: Solve) -> None:
    world = snapshot(
        node("n1", 3), node("n2", 1), queue("q"), Members("g", "q", cpu=2, waiting=2, minimum=2)
    )

    plan = solve(world)

    assert placed(plan) == {}
    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert "1 of 2 members would fit" in reason.message
    assert "2 of 2 nodes: too little cpu" in reason.message


def test_who_waits_for_room_is_nominated_and_who_has_room_is_bound(solve: Solve) -> None:
    plan = solve(leaving())

    assert evicted(plan) == {"low0"}
    assert [(n.pod, n.node) for n in plan.nominations] == [("x/g0", "n1")]
    assert plan.binds == ()
