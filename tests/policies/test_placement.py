"""Goals of placement: each measured by hand, and the solver prefers the better of two plans."""

from typing import Any

import pytest

from apportion.models import Config, PodState, Snapshot, TierSettings, Toleration
from apportion.policies.placement import LargeHoles
from apportion.policies.testing import priced

from .builders import (
    Members,
    after,
    but,
    foreign,
    goal,
    node,
    nodes,
    placed,
    queue,
    replace,
    scene,
    snapshot,
)
from .conftest import Solve


def packing(name: Any) -> TierSettings:
    return TierSettings(packing=name)


def packed(name: Any) -> Any:
    return goal(name, Config(tiers=packing(name)))


# Seniority


def by_age(cpu: int) -> Snapshot:
    return snapshot(
        node("n1", cpu),
        queue("q"),
        Members("a", "q", waiting=1, created_s=3),
        Members("b", "q", waiting=1, created_s=1),
        Members("c", "q", waiting=1, created_s=2),
        Members("old", "q", on=["n1"], waiting=1, created_s=0),
    )


@pytest.mark.parametrize(
    ("starts", "want"), [("", 0), ("b0@n1", 0), ("c0@n1", 1), ("a0@n1 c0@n1", 3), ("old1@n1", 0)]
)
def test_seniority_is_the_sum_of_the_ranks_by_age(starts: str, want: int) -> None:
    """b is the oldest of those that wait for their minimum, then c, then a."""
    assert priced(goal("seniority"), after(by_age(9), starts)) == want


def test_of_equals_the_oldest_start(solve: Solve) -> None:
    assert goal("seniority").sense == "min"
    assert set(placed(solve(by_age(3)))) == {"b0", "c0"}


# Member order


def ranked(cpu: int) -> Snapshot:
    """Return a group whose last named member has the highest task priority, and another shape."""
    group = Members("g", "q", waiting=3, minimum=0)
    spec = replace(group.pods[2].spec, tolerations=(Toleration("kind"),))
    but(group, 2, spec=spec, task_priority=1)
    return snapshot(node("n1", cpu), queue("q"), group)


@pytest.mark.parametrize(
    ("starts", "want"), [("", 0), ("g2@n1", 0), ("g0@n1", 1), ("g2@n1 g0@n1", 1)]
)
def test_member_order_counts_ranks_by_the_mean_of_their_kind(starts: str, want: int) -> None:
    """g2 has rank 0; g0 and g1, alike, have ranks 1 and 2, whose mean is 1 in whole ranks."""
    assert priced(goal("member order"), after(ranked(9), starts)) == want


def test_the_higher_task_priority_starts_first(solve: Solve) -> None:
    assert goal("member order").sense == "min"
    assert set(placed(solve(ranked(1)))) == {"g2"}


# Waiting


def leaving(*names: str) -> Snapshot:
    return snapshot(
        *nodes("n1 n2", cpu=2),
        queue("q"),
        *(foreign(f"f{n}", 2, n, PodState.TERMINATING) for n in names),
        Members("g", "q", waiting=2, minimum=0),
    )


@pytest.mark.parametrize(
    ("starts", "want"), [("", 0), ("g0@n1", 1), ("g0@n1 g1@n1", 1), ("g0@n1 g1@n2", 2)]
)
def test_waiting_counts_nodes_whose_room_is_not_there_yet(starts: str, want: int) -> None:
    assert priced(goal("waiting"), after(leaving("n1", "n2"), starts)) == want


def test_room_that_is_there_is_taken_rather_than_room_that_is_to_come(solve: Solve) -> None:
    plan = solve(leaving("n1"))

    assert goal("waiting").sense == "min"
    assert placed(plan) == {"g0": "n2", "g1": "n2"}
    assert plan.nominations == ()


# Stability


def promised(node_name: str) -> Snapshot:
    group = but(Members("g", "q", waiting=1), 0, nominated=node_name)
    return snapshot(*nodes("n1 n2"), queue("q"), group, nominations={"g0": node_name})


def test_stability_counts_promises_that_are_kept() -> None:
    stability = goal("stability")

    assert priced(stability, after(promised("n2"), "g0@n2")) == 1
    assert priced(stability, after(promised("n2"), "g0@n1")) == 0
    assert priced(stability, after(promised("n2"))) == 0


@pytest.mark.parametrize("name", ["n1", "n2"])
def test_a_promise_is_kept(name: str, solve: Solve) -> None:
    assert goal("stability").sense == "max"
    assert placed(solve(promised(name))) == {"g0": name}


# Binpack


def half_used() -> Snapshot:
    return snapshot(
        *nodes("n1 n2 n3", cpu=2),
        queue("q"),
        Members("old", "q", on=["n2"]),
        Members("g", "q", waiting=3, minimum=0),
    )


@pytest.mark.parametrize(
    ("starts", "want"),
    [("", 0), ("g0@n2", 0), ("g0@n1", 1), ("g0@n1 g1@n1", 1), ("g0@n1 g1@n2 g2@n3", 2)],
)
def test_binpack_counts_empty_nodes_that_are_taken_into_use(starts: str, want: int) -> None:
    assert priced(packed("binpack"), after(half_used(), starts)) == want


def test_used_nodes_are_filled_first(solve: Solve) -> None:
    plan = solve(half_used(), tiers=packing("binpack"))

    assert packed("binpack").sense == "min"
    assert len({*placed(plan).values()} - {"n2"}) == 1


# Spread


def test_spread_is_the_use_of_the_fullest_node_that_takes_pods() -> None:
    spread = packed("spread")

    def peak(starts: str) -> int:
        return priced(spread, after(half_used(), starts))

    # n2 uses one core of two already; one more makes two of two
    assert (peak(""), peak("g0@n1"), peak("g0@n1 g1@n1"), peak("g0@n2")) == (0, 500, 1000, 1000)


def test_spread_looks_at_the_scarcest_resource_that_is_asked_for() -> None:
    world = snapshot(
        node("n1", 10, 2, pods=10),
        queue("q"),
        Members("g", "q", cpu=2, gpus=1, waiting=1),
    )

    assert priced(packed("spread"), after(world, "g0@n1")) == 500


def test_load_is_spread(solve: Solve) -> None:
    world = snapshot(*nodes("n1 n2 n3", cpu=2), queue("q"), Members("g", "q", waiting=3, minimum=0))

    plan = solve(world, tiers=packing("spread"))

    assert packed("spread").sense == "min"
    assert sorted(placed(plan).values()) == ["n1", "n2", "n3"]


# Fragmentation


def holes() -> Snapshot:
    return snapshot(
        *nodes("n1 n2", cpu=4),
        queue("q"),
        Members("small", "q", cpu=2, waiting=2, minimum=0),
        Members("large", "q", cpu=4, on=["n3"], preemptable=False),
    )


@pytest.mark.parametrize(
    ("starts", "want"),
    [("", 2), ("small0@n1", 1), ("small0@n1 small1@n1", 1), ("small0@n1 small1@n2", 0)],
)
def test_fragmentation_counts_nodes_with_room_for_the_largest_pod(starts: str, want: int) -> None:
    assert priced(packed("fragmentation"), after(holes(), starts)) == want


def test_the_largest_pod_is_that_of_the_largest_part_of_a_node() -> None:
    here = scene(holes())
    row = LargeHoles.largest(here)

    assert row[here.ledger.column["cpu"]] == 4000


def test_large_holes_are_kept(solve: Solve) -> None:
    plan = solve(holes(), tiers=packing("fragmentation"))

    assert packed("fragmentation").sense == "max"
    assert len({*placed(plan).values()}) == 1
