"""Attach limits: no more volumes of a driver on a node than its CSINode allows."""

import pytest

from apportion.models import Node, Snapshot, Volume
from apportion.policies.testing import accepts, refuses

from .builders import Members, after, evicted, foreign, node, placed, queue, rule, snapshot
from .conftest import Solve

LIMITS = rule("attach-limits")
DRIVER = "csi.example.com"
OWN = Volume(driver=DRIVER)
SHARED = Volume("x/c", driver=DRIVER)


def limited(name: str, most: int | None) -> Node:
    return node(name, 9, drivers={DRIVER: most})


def world(most: int | None, *volumes: Volume, waiting: int = 3) -> Snapshot:
    spec = {"volumes": volumes}
    return snapshot(
        limited("n1", most), queue("q"), Members("g", "q", waiting=waiting, minimum=1, spec=spec)
    )


@pytest.mark.parametrize(
    ("about", "most", "volumes", "starts", "want"),
    [
        ("fewer than may", 3, (OWN,), 2, True),
        ("as many as may", 2, (OWN,), 2, True),
        ("one too many", 1, (OWN,), 2, False),
        ("none may", 0, (OWN,), 1, False),
        ("no limit", None, (OWN,), 3, True),
        ("two each", 3, (OWN, OWN), 2, False),
        ("a shared one counts once", 1, (SHARED,), 3, True),
        ("a shared one, and one each", 2, (OWN, SHARED), 2, False),
        ("a shared one, and one each, fitting", 3, (OWN, SHARED), 2, True),
        ("volumes that nobody attaches", 0, (Volume(),), 3, True),
    ],
)
def test_volumes_are_counted_by_driver(
    about: str, most: int | None, volumes: tuple[Volume, ...], starts: int, want: bool
) -> None:
    outcome = after(world(most, *volumes), " ".join(f"g{i}@n1" for i in range(starts)))

    assert bool(accepts(LIMITS, outcome)) is want, about
    assert bool(refuses(LIMITS, outcome, "node n1", "may")) is not want, about


def test_pods_of_others_count_and_evicted_ones_leave() -> None:
    there = snapshot(
        limited("n1", 2),
        queue("q"),
        foreign("f", 1, "n1", volumes=(OWN,)),
        Members("low", "q", on=["n1"], spec={"volumes": (OWN,)}),
        Members("g", "q", waiting=1, priority=1, spec={"volumes": (OWN,)}),
    )

    assert refuses(LIMITS, after(there, "g0@n1"), "node n1", "3 volumes of csi.example.com")
    assert accepts(LIMITS, after(there, "g0@n1", "low0"))


def test_a_node_above_its_limit_keeps_what_runs() -> None:
    there = snapshot(
        limited("n1", 0),
        queue("q"),
        Members("old", "q", on=["n1", "n1"], spec={"volumes": (OWN, SHARED)}),
        Members("g", "q", waiting=1),
        Members("h", "q", waiting=1, spec={"volumes": (OWN,)}),
    )

    assert accepts(LIMITS, after(there, "g0@n1"))
    assert refuses(LIMITS, after(there, "h0@n1"))


def test_nobody_joins_a_claim_where_more_is_attached_than_may_be(solve: Solve) -> None:
    """What the newcomer shares is attached already, but the node is above its limit."""
    there = snapshot(
        limited("n1", 1),
        limited("n2", 1),
        queue("q"),
        foreign("f", 1, "n1", volumes=(SHARED,)),
        Members("old", "q", on=["n1", "n2"], spec={"volumes": (OWN, OWN)}),
        Members("g", "q", waiting=1, may_preempt=False, spec={"volumes": (SHARED,)}),
        Members("high", "q", waiting=1, priority=1, cpu=9),
    )

    plan = solve(there)

    assert refuses(LIMITS, after(there, "g0@n1"), "node n1", "3 volumes")
    assert (placed(plan), evicted(plan)) == ({"high0": "n2"}, {"old1"})
    assert plan.solver.engine == "exact"


def test_the_plan_fills_each_node_up_to_its_limit(solve: Solve) -> None:
    spec = {"volumes": (OWN,)}
    there = snapshot(
        limited("n1", 1), limited("n2", 2), queue("q"),
        Members("g", "q", waiting=5, minimum=1, spec=spec),
    )  # fmt: skip

    assert sorted(placed(solve(there)).values()) == ["n1", "n2", "n2"]


def test_a_place_to_attach_is_taken_over_by_right(solve: Solve) -> None:
    there = snapshot(
        limited("n1", 1),
        queue("q"),
        Members("low", "q", on=["n1"], spec={"volumes": (OWN,)}),
        Members("g", "q", waiting=1, priority=1, spec={"volumes": (OWN,)}),
    )

    plan = solve(there)

    assert (placed(plan), evicted(plan)) == ({"g0": "n1"}, {"low0"})
    assert [n.pod for n in plan.nominations] == ["x/g0"], "it waits until the volume is detached"


def test_a_minimum_of_members_without_volumes_leaves_room_to_attach(solve: Solve) -> None:
    """Of g one member needs no volume: it starts, so that h has both places to attach."""
    g = Members("g", "q", waiting=3, priority=1, minimum=1, spec={"volumes": (OWN,)})
    plain = Members("g", "q", waiting=3, priority=1, minimum=1)
    g.pods[2] = plain.pods[2]
    there = snapshot(
        node("n1", 2, drivers={DRIVER: 2}),
        queue("q"),
        Members("low", "q", on=["n1", "n1"], minimum=2),
        g,
        Members("h", "q", waiting=1, priority=1, spec={"volumes": (OWN, OWN)}),
    )

    plan = solve(there)

    assert placed(plan) == {"g2": "n1", "h0": "n1"}
    assert evicted(plan) == {"low0", "low1"}
