"""Demand: what runs and what could run, computed by hand (order.md, section 2)."""

from fractions import Fraction
from typing import Any

import pytest

from apportion.models import Queue, Snapshot

from .builders import HOST, NOW, Members, budget, node, queue, snapshot, standing, term


def demand(world: Snapshot) -> Any:
    """Return whole cores by queue."""
    table = standing(world)
    column = table.scene.ledger.column["cpu"]
    return {q: row[column] / 1000 for q, row in table.demand.items()}


def waiting(cpu: int, *queues: Queue, **pods: int) -> Snapshot:
    """Return one large node, queues, and so many waiting pods of one core in each."""
    groups = [Members(q, q, waiting=n, minimum=1) for q, n in pods.items()]
    return snapshot(node("n1", cpu, pods=99), *queues, *groups)


def test_demand_is_what_runs_and_what_could_run_summed_up_the_tree() -> None:
    world = snapshot(
        node("n1", 20),
        queue("up"),
        queue("a", parent="up"),
        queue("b", parent="up"),
        Members("old", "a", cpu=2, on=["n1"], waiting=1),
        Members("new", "b", waiting=3, minimum=2),
    )

    assert demand(world) == {"a": 4, "b": 3, "up": 7}


def test_demand_is_capped_by_limits_at_every_level() -> None:
    queues = [
        queue("up", capability={"cpu": 6000}),
        queue("a", parent="up", capability={"cpu": 4000}),
        queue("b", parent="up"),
    ]

    assert demand(waiting(20, *queues, a=9, b=5)) == {"a": 4, "b": 5, "up": 6}
    assert demand(waiting(3, queue("a"), a=9)) == {"a": 3}


@pytest.mark.parametrize(
    ("about", "group", "want"),
    [
        ("members that fit no node are passed over", {"cpu": 5, "waiting": 2}, 0),
        ("a minimum that cannot be placed", {"cpu": 3, "waiting": 3, "minimum": 3}, 0),
        ("elastic members as far as they could be placed", {"cpu": 3, "waiting": 4}, 6),
        ("work that may be evicted does not stand in the way", {"cpu": 4, "waiting": 2}, 8),
    ],
)
def test_only_what_could_run_makes_demand(about: str, group: dict[str, Any], want: int) -> None:
    world = snapshot(
        node("n1", 4),
        node("n2", 4),
        queue("q"),
        queue("other"),
        Members("old", "other", cpu=3, on=["n1", "n2"]),
        Members("g", "q", **group),
    )

    assert demand(world)["q"] == want, about


@pytest.mark.parametrize(
    ("about", "old", "want"),
    [
        ("it may be evicted", {}, 4),
        ("its group cannot be preempted", {"preemptable": False}, 0),
        ("it is critical", {"pod": {"critical": True}}, 0),
    ],
)
def test_work_that_stays_stands_in_the_way(about: str, old: dict[str, Any], want: int) -> None:
    world = snapshot(
        node("n1", 4),
        queue("q"),
        queue("other"),
        Members("old", "other", on=["n1"], **old),
        Members("g", "q", cpu=4, waiting=1),
    )

    assert demand(world)["q"] == want, about


def test_a_budget_does_not_keep_work_from_being_thought_away() -> None:
    world = snapshot(
        node("n1", 4),
        queue("q"),
        Members("old", "q", on=["n1"]),
        Members("g", "q", cpu=4, waiting=1),
        budget("old", 0),
    )

    assert demand(world)["q"] == 4


def test_what_a_queue_could_never_hold_makes_no_demand() -> None:
    world = snapshot(
        node("n1", 9),
        queue("small", capability={"cpu": 2000}),
        queue("due", due=2),
        Members("g", "small", cpu=3, waiting=1),
        Members("fixed", "due", cpu=3, waiting=1, preemptable=False),
        Members("free", "due", cpu=3, waiting=1),
    )

    assert demand(world) == {"small": 0, "due": 3}


def test_a_broken_group_that_could_not_run_past_its_grace_makes_no_demand() -> None:
    def of_q(since_s: int) -> Fraction:
        lost = Members("g", "q", cpu=3, on=["n1"], waiting=1, minimum=3, broken_since_s=since_s)
        found: Fraction = demand(snapshot(node("n1", 9), queue("q"), lost))["q"]
        return found

    assert of_q(since_s=NOW - 60) == 0
    assert of_q(since_s=NOW - 59) == 3


@pytest.mark.parametrize(("rest", "want"), [(1, 1), (0, 0)])
def test_company_may_come_from_the_missing_members_of_a_broken_group(rest: int, want: int) -> None:
    """Its running part leaves unless the plan completes it; what could complete it is company."""
    world = snapshot(
        node("n1", 9, labels={HOST: "n1"}),
        queue("q"),
        queue("other"),
        Members("broken", "other", on=["n1"], waiting=rest, minimum=2, broken_since_s=1),
        Members("g", "q", waiting=1, spec={"affinity": (term("broken"),)}),
    )

    assert demand(world)["q"] == want
