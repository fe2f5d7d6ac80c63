"""What evictions cost: each measure by hand (order.md, section 6)."""

import pytest

from apportion.models import Amounts, Config, Snapshot
from apportion.policies.cost import age_s, devices_milli, lost_work, run_s
from apportion.policies.goals import goals_for
from apportion.policies.testing import priced

from .builders import (
    GPU,
    NOW,
    Members,
    after,
    but,
    goal,
    node,
    queue,
    replace,
    scene,
    snapshot,
)

PARTS = (
    "returning victims",
    "victims",
    "gangs broken",
    "lost work",
    "age of victims",
)


def test_the_parts_are_in_order_and_each_is_minimised() -> None:
    goals = [g for g in goals_for(Config()) if g.name in PARTS]

    assert [g.name for g in goals] == list(PARTS)
    assert {g.sense for g in goals} == {"min"}


def test_a_plan_without_evictions_costs_nothing() -> None:
    world = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=1))

    assert {priced(goal(p), after(world, "g0@n1")) for p in PARTS} == {0}


def test_groups_that_are_given_up_cost_nothing() -> None:
    lost = Members("v", "q", on=["n1"], minimum=2, broken_since_s=0, priority=5)

    outcome = after(snapshot(node("n1", 2), queue("q"), lost), gone="v0")

    assert {priced(goal(p), outcome) for p in PARTS} == {0}


# Who comes back by right


def queues(due: int) -> Snapshot:
    """Return queue a with so much due, where a gang of two with two more members runs."""
    return snapshot(
        node("n1", 6),
        queue("a", due=due),
        queue("b", due=6),
        Members("v", "a", on=["n1"] * 4, minimum=2),
        Members("g", "b", waiting=6, minimum=1),
    )


def returning(world: Snapshot, starts: str = "", gone: str = "") -> int:
    return priced(goal("returning victims"), after(world, starts, gone))


@pytest.mark.parametrize(
    ("due", "gone", "want"),
    [
        (4, "v3", 1),
        (3, "v3", 0),
        (3, "v2 v3", 1),
        (2, "v2 v3", 0),
        (2, "v0 v1 v2 v3", 4),
        (1, "v0 v1 v2 v3", 0),
    ],
)
def test_victims_that_are_in_come_back(due: int, gone: str, want: int) -> None:
    """Single pods count beyond those that are out; a gang that goes whole counts as a whole."""
    assert returning(queues(due), gone=gone) == want


def test_the_entitlement_decides_not_the_due() -> None:
    world = snapshot(
        node("n1", 4),
        queue("a", due=1),
        queue("b", due=1),
        Members("v", "a", on=["n1"] * 3, minimum=0),
        Members("g", "b", waiting=1),
    )

    # One is due to each, and nobody but a wants the other two cores.
    assert returning(world, "g0@n1", "v1 v2") == 2


def test_what_else_leaves_does_not_stand_before_a_victim() -> None:
    world = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=4),
        Members("u", "a", cpu=2, on=["n1"], created_s=1),
        Members("v", "a", cpu=2, on=["n1"], created_s=2),
        Members("g", "b", cpu=4, waiting=1),
    )

    assert returning(world, gone="v0") == 0
    assert returning(world, gone="u0 v0") == 2


# Pods, gangs, work, age


def test_one_pod_of_higher_priority_weighs_more_than_all_below() -> None:
    world = snapshot(
        node("n1", 9),
        queue("q"),
        Members("low", "q", on=["n1"] * 3, minimum=0),
        Members("mid", "q", on=["n1"] * 2, minimum=0, priority=1),
        Members("top", "q", on=["n1"], priority=2),
    )

    def cost(gone: str) -> int:
        return priced(goal("victims"), after(world, gone=gone))

    # three at 0, so that one at 1 weighs 4; two at 1, so that one at 2 weighs 4 · 3
    assert (cost("low0"), cost("low0 low1 low2"), cost("mid0"), cost("top0")) == (1, 3, 4, 12)
    assert cost("low0 low1 low2 mid0 mid1") == 11


def test_of_as_many_pods_those_of_queues_of_lower_priority_cost_less() -> None:
    world = snapshot(
        node("n1", 9),
        queue("above", priority=1),
        queue("a", parent="above"),
        queue("b", priority=9),
        queue("c"),
        Members("x", "a", on=["n1"], priority=3),
        Members("y", "b", on=["n1"], priority=3),
        Members("z", "c", on=["n1"] * 2, minimum=0, priority=3),
        Members("low", "b", on=["n1"] * 2, minimum=0),
    )

    def cost(gone: str) -> int:
        return priced(goal("victims"), after(world, gone=gone))

    # Of the two priorities at the top of the tree that of b is the larger.
    assert cost("z0") < cost("x0") < cost("y0") < cost("z0 z1")
    assert cost("y0") > cost("low0 low1")


def test_gangs_are_counted_that_lose_their_minimum() -> None:
    world = snapshot(
        node("n1", 12),
        queue("q"),
        Members("gang", "q", on=["n1"] * 3, minimum=2),
        Members("roles", "q", on=["n1"] * 2, roles=["a", "b"], role_minimum={"a": 1, "b": 1}),
        Members("elastic", "q", on=["n1"] * 2, minimum=1),
        Members("single", "q", on=["n1"], minimum=1),
        Members("loose", "q", on=["n1"] * 2, minimum=0),
    )

    def cost(gone: str) -> int:
        return priced(goal("gangs broken"), after(world, gone=gone))

    assert cost("gang2 elastic1 single0 loose0 loose1") == 0
    assert cost("gang0 gang1 gang2") == 1
    assert cost("elastic0 elastic1") == 1
    assert cost("gang0 gang1 gang2 roles0 roles1 elastic0 elastic1 single0 loose0 loose1") == 3


@pytest.mark.parametrize(
    ("about", "requests", "want"),
    [
        ("devices", {"cpu": 9000, GPU: 2000}, 2000),
        ("parts of devices", {GPU: 250}, 250),
        ("devices of several kinds", {GPU: 1000, "amd.com/gpu": 1000}, 2000),
        ("whole cores where there are none", {"cpu": 1500}, 2000),
        ("one core", {"cpu": 1000}, 1000),
        ("nothing", {}, 0),
        ("what is no device", {"cpu": 1000, "hugepages-2Mi": 64, "memory": 4096}, 1000),
    ],
)
def test_devices_held(about: str, requests: dict[str, int], want: int) -> None:
    group = Members("v", "q", on=["n1"])
    but(group, 0, spec=replace(group.pods[0].spec, requests=Amounts(requests)))
    here = scene(snapshot(node("n1", 9), queue("q"), group))

    assert devices_milli(here, group.pods[0]) == want, about


@pytest.mark.parametrize(
    ("created_s", "started_s", "want_age", "want_run"),
    [
        (NOW - 100, NOW - 40, 100, 40),
        (NOW - 100, None, 100, 100),
        (0, None, 0, 0),
        (NOW + 5, NOW + 5, 0, 0),
    ],
)
def test_age_is_since_creation_and_work_since_the_start(
    created_s: int, started_s: int | None, want_age: int, want_run: int
) -> None:
    group = but(Members("v", "q", on=["n1"]), 0, created_s=created_s, started_s=started_s)
    here = scene(snapshot(node("n1", 9), queue("q"), group))
    [pod] = group.pods

    assert (age_s(here, pod), run_s(here, pod)) == (want_age, want_run)
    assert lost_work(here, pod) == 1000 * want_run


def test_lost_work_and_ages_are_summed_up() -> None:
    group = Members("v", "q", cpu=2, on=["n1"] * 2, minimum=0)
    but(group, 0, created_s=NOW - 30, started_s=NOW - 20)
    but(group, 1, created_s=NOW - 9, started_s=NOW - 5)

    outcome = after(snapshot(node("n1", 9), queue("q"), group), gone="v0 v1")

    assert priced(goal("lost work"), outcome) == 2000 * (20 + 5)
    assert priced(goal("age of victims"), outcome) == 30 + 9
