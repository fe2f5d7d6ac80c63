"""When groups may start at all: gangs, holds, limits, guarantees and dues."""

from apportion.models import (
    Amounts,
    QueueState,
)
from oracle.build import Members, cores, node, queue, snapshot
from oracle.report import Report
from oracle.verdicts import DEFAULT, broken


def test_a_gang_starts_as_a_whole() -> None:
    s = snapshot(
        node("n1", 9),
        queue("q"),
        Members("g", "q", waiting=3, minimum=2, roles=["a", "b", "b"], role_minimum={"a": 1}),
    )

    assert broken(s, {"g0": "n1"}) == {"gang"}
    assert broken(s, {"g1": "n1", "g2": "n1"}) == {"gang"}
    assert broken(s, {"g0": "n1", "g2": "n1"}) == set()


def test_held_groups_do_not_start() -> None:
    s = snapshot(
        node("n1", 9),
        queue("closed", state=QueueState.CLOSED),
        queue("inner"),
        queue("leaf", parent="inner", namespaces=frozenset({"y"})),
        Members("a", "closed", waiting=1),
        Members("b", "inner", waiting=1),
        Members("c", "leaf", waiting=1),
        Members("d", "nowhere", waiting=1),
    )

    for name in "abcd":
        assert broken(s, {f"{name}0": "n1"}) == {"held"}
    assert Report(s, DEFAULT).could_run == set()


def test_a_queue_above_its_limit_may_not_grow() -> None:
    s = snapshot(
        node("n1", 9, 2),
        queue("q", capability={"cpu": 2000}),
        Members("a", "q", on=["n1"] * 3, minimum=3),
        Members("b", "q", waiting=1, priority=1),
        Members("c", "q", cpu=0, gpus=1, waiting=1),
    )

    assert broken(s, {"b0": "n1"}) == {"limit"}
    assert broken(s, {"c0": "n1"}) == set()
    assert broken(s, {"b0": "n1"}, "a0", "a1", "a2") == set()


def test_what_is_guaranteed_to_one_queue_limits_the_others() -> None:
    s = snapshot(
        node("n1", 10),
        queue("a", guarantee=Amounts(cores(4))),
        queue("b"),
        queue("b1", parent="b", capability={"cpu": 9000}),
    )

    r = Report(s, DEFAULT)

    assert [r.limit(q)["cpu"] for q in ("a", "b", "b1")] == [10_000, 6000, 6000]


def test_guarantees_beyond_the_cluster_are_scaled_down() -> None:
    s = snapshot(
        node("n1", 10),
        queue("a", guarantee=Amounts(cores(15))),
        queue("b", guarantee=Amounts(cores(5))),
    )

    r = Report(s, DEFAULT)

    assert [r.limit(q)["cpu"] for q in ("a", "b")] == [7500, 2500]


def test_non_preemptible_work_starts_only_inside_deserved() -> None:
    s = snapshot(
        node("n1", 9, 9),
        queue("q", due=2),
        Members("a", "q", on=["n1"], preemptable=False),
        Members("b", "q", waiting=2, minimum=2, preemptable=False),
        Members("c", "q", cpu=0, gpus=3, waiting=1, preemptable=False),
        Members("d", "q", cpu=3, waiting=1, pod={"preemptable": False}),
    )

    assert broken(s, {"b0": "n1", "b1": "n1"}) == {"non-preemptible"}
    assert broken(s, {"c0": "n1"}) == set()
    assert broken(s, {"d0": "n1"}) == set()
