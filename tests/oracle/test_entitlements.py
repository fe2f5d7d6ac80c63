"""What queues are entitled to, and what makes demand."""

from fractions import Fraction
from typing import Any

import pytest

from apportion.models import (
    Config,
    PodState,
    Snapshot,
)
from oracle.build import Members, foreign, node, queue, snapshot
from oracle.report import Report
from oracle.verdicts import DEFAULT, against, broken, items


def sixty_forty(**a: Any) -> Snapshot:
    return snapshot(
        node("n1", 10),
        queue("a", due=6),
        queue("b", due=4),
        *(Members(f"a{i}", "a", on=["n1"], created_s=i, **a) for i in range(9)),
        foreign("f", 1, "n1", PodState.TERMINATING),
        *(Members(f"b{i}", "b", waiting=1, created_s=i) for i in range(3)),
    )


def test_what_is_lent_comes_back_as_far_as_the_due_goes() -> None:
    s = sixty_forty()

    # b starts three: one in the free place, two where a stands above its six.
    assert items(s, {"b00": "n1"}) == {2}
    assert items(s, {"b00": "n1", "b10": "n1", "b20": "n1"}, "a70", "a80") == set()
    assert broken(s, {"b00": "n1", "b10": "n1", "b20": "n1"}, "a00", "a10") == {"rights", "claims"}


def test_an_idle_queue_lends_all() -> None:
    r = Report(snapshot(*sixty_forty().nodes, queue("a", due=6), queue("b", due=4)), DEFAULT)
    full = Report(sixty_forty(), DEFAULT)

    assert r.entitlement("a")["cpu"] == 0
    assert full.entitlement("a")["cpu"] == 7000
    assert full.entitlement("b")["cpu"] == 3000


def test_work_that_is_not_reclaimable_stays() -> None:
    s = snapshot(
        node("n1", 2),
        queue("a", due=0, reclaimable=False),
        queue("b", due=2),
        Members("a", "a", on=["n1", "n1"]),
        Members("b", "b", waiting=1),
    )

    assert broken(s, {"b0": "n1"}, "a1") == {"rights", "claims"}
    assert against(s, {}) == set()


def test_surplus_goes_by_queue_priority_then_by_weight_and_never_to_weight_zero() -> None:
    s = snapshot(
        node("n1", 12),
        queue("top", priority=1, capability={"cpu": 2000}),
        queue("two", weight=2),
        queue("one"),
        queue("none", weight=0),
        *(Members(q, q, waiting=12) for q in ("top", "two", "one", "none")),
    )

    r = Report(s, DEFAULT)

    want = {"top": 2000, "two": Fraction(20_000, 3), "one": Fraction(10_000, 3), "none": 0}
    assert {q: r.entitlement(q)["cpu"] for q in want} == want


@pytest.mark.parametrize("named", [False, True])
def test_of_what_nobody_names_weight_zero_takes_in_equal_parts_what_is_left(named: bool) -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("one", capability={"cpu": 2000}),
        queue("low", priority=-1, capability={"cpu": 1000}),
        queue("none", weight=0),
        queue("void", weight=0, capability={"cpu": 4000}),
        queue("idle", due=0 if named else None),
        *(Members(q, q, waiting=9) for q in ("one", "low", "none", "void")),
    )

    r = Report(s, Config(literal_deserved=True))

    got = [r.entitlement(q)["cpu"] for q in ("one", "low", "none", "void")]
    assert got == [2000, 1000, *((0, 0) if named else (3000, 3000))]


def test_a_due_that_is_not_named_is_unlimited_at_a_leaf_unless_literal() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=1),
        queue("b", parent=None),
        queue("b1", parent="b"),
        queue("b2", due=1, parent="b"),
        Members("g", "a", waiting=4),
        Members("h", "b1", waiting=4),
    )

    loose, literal = Report(s, DEFAULT), Report(s, Config(literal_deserved=True))

    assert (loose.due("b")["cpu"] > 10**9, literal.due("b")["cpu"]) == (True, 1000)
    assert loose.entitlement("b1")["cpu"] == 4000
    assert literal.entitlement("b1")["cpu"] == 2000


def test_only_what_could_run_makes_demand() -> None:
    s = snapshot(
        node("n1", 4),
        node("n2", 4),
        queue("q"),
        Members("big", "q", cpu=5, waiting=1),
        Members("gang", "q", cpu=3, waiting=3, minimum=3),
        Members("fits", "q", cpu=3, waiting=4, minimum=1),
        Members("stuck", "q", cpu=1, on=["n1"], preemptable=False),
    )

    r = Report(s, DEFAULT)

    assert r.could_run == {"x/fits", "x/stuck"}
    assert r.demand("q") == {"cpu": 7000}


def test_a_lost_group_makes_no_demand_and_pushes_nobody_out() -> None:
    s = snapshot(
        node("n1", 6),
        queue("a"),
        queue("b"),
        Members("lost", "a", cpu=3, on=["n1"], waiting=1, minimum=3),
        Members("next", "a", cpu=3, on=["n1"]),
        Members("g", "b", cpu=3, waiting=2, minimum=1),
    )

    r = Report(s, DEFAULT)

    assert r.entitlement("a")["cpu"] == 3000
    assert r.row("a") == [("x/next", True, 0)]
