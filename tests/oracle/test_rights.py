"""Who may evict whom, and what goes without anybody asking."""

from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import (
    Amounts,
    PodSpec,
    Snapshot,
)
from oracle.build import GPU, Members, budget, cores, node, queue, snapshot
from oracle.report import Report
from oracle.verdicts import DEFAULT, against, broken


def test_priority_counts_inside_a_queue_and_strictly() -> None:
    s = snapshot(
        node("n1", 2),
        queue("q"),
        Members("low", "q", on=["n1"]),
        Members("even", "q", on=["n1"], priority=1),
        Members("g", "q", waiting=1, priority=1),
    )

    assert against(s, {}) == {(3, "g", ("low",))}
    assert against(s, {"g0": "n1"}, "low0") == set()
    assert broken(s, {"g0": "n1"}, "even0") == {"rights", "claims"}


def test_nobody_takes_the_room_that_another_one_has_the_right_to() -> None:
    s = snapshot(
        node("n1", 2),
        queue("a"),
        queue("b"),
        Members("low", "a", cpu=2, on=["n1"]),
        Members("high", "a", waiting=1, priority=1),
        Members("small", "b", cpu=1, waiting=1, may_preempt=False),
    )

    assert broken(s, {"high0": "n1"}, "low0") == set()
    assert broken(s, {"small0": "n1"}, "low0") == {"rights", "claims"}
    assert broken(s, {"high0": "n1", "small0": "n1"}, "low0") == {"claims"}


def test_budgets_and_guarantees_stop_evictions() -> None:
    def world_of(**rest: Any) -> Snapshot:
        return snapshot(
            node("n1", 3),
            queue("a", due=0, **rest),
            queue("b", due=3),
            Members("v", "a", on=["n1"] * 3),
            Members("g", "b", waiting=2),
            budget("v", 1),
        )

    free, floor = world_of(), world_of(guarantee=Amounts(cores(2)))

    assert broken(free, {"g0": "n1", "g1": "n1"}, "v1", "v2") == {"budget"}
    assert broken(free, {"g0": "n1"}, "v2") == set()
    assert broken(floor, {"g0": "n1", "g1": "n1"}, "v1", "v2") >= {"guarantee", "budget"}


@pytest.mark.parametrize(("priority", "want"), [(0, {"rights", "claims"}), (-1, set())])
def test_a_named_due_of_zero_takes_surplus_only_from_lower_queues(
    priority: int, want: set[str]
) -> None:
    s = snapshot(
        node("n1", 2),
        queue("zero", due=0),
        queue("b", due=0, priority=priority),
        Members("v", "b", on=["n1", "n1"]),
        Members("g", "zero", waiting=1),
    )

    assert broken(s, {"g0": "n1"}, "v1") == want


def test_a_gang_gives_its_elastic_members_first_and_its_minimum_only_whole() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=2),
        Members("v", "a", on=["n1"] * 4, minimum=2),
        Members("g", "b", waiting=2, minimum=2),
    )

    assert against(s, {}) == {(2, "g", ("v2", "v3"))}
    assert against(s, {"g0": "n1", "g1": "n1"}, "v2", "v3") == set()
    assert against(s, {"g0": "n1", "g1": "n1"}, "v0", "v2") == set()  # counts, not identities
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v1", "v2") == {"gang", "rights", "claims"}
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v1", "v2", "v3") == {"rights", "claims"}


def test_no_more_single_pods_go_than_elastic_members_are_beyond() -> None:
    s = snapshot(
        node("n1", 4),
        queue("a", due=3),
        queue("b", due=3),
        Members("v", "a", on=["n1"] * 4, minimum=1),
        Members("g", "b", waiting=2, minimum=1),
    )

    # a holds one more than its due; e is 2, 2.
    assert broken(s, {"g0": "n1"}, "v0") == set()
    assert broken(s, {"g0": "n1", "g1": "n1"}, "v0", "v3") == {"rights", "claims"}


def test_what_is_due_is_claimed_from_anything_above_its_due() -> None:
    def world_of(due: int) -> Snapshot:
        return snapshot(
            *(node(n, 2) for n in ("n1", "n2", "n3")),
            queue("a", due=2),
            queue("b", due=due),
            *(Members(f"v{i}", "a", on=[f"n{i}"], created_s=i) for i in (1, 2, 3)),
            Members("w", "a", waiting=3, minimum=3, created_s=4),
            Members("g", "b", cpu=2, waiting=1),
        )

    s, less = world_of(2), world_of(1)

    # Fragmented: a's third is inside its entitlement of four, and beyond its due of two.
    assert Report(s, DEFAULT).entitlement("a")["cpu"] == 4000
    assert broken(s, {"g0": "n3"}, "v30") == set()
    assert broken(s, {"g0": "n2"}, "v20") == {"rights", "claims"}
    assert broken(less, {"g0": "n3"}, "v30") == {"rights", "claims"}
    assert against(s, {"w0": "n1", "w1": "n2", "w2": "n3"}) == {(2, "g", ("v3", "w"))}


@pytest.mark.parametrize(("gpus", "want"), [(0, {"rights", "claims"}), (1, set())])
def test_a_victim_is_beyond_on_something_that_both_ask_for(gpus: int, want: set[str]) -> None:
    due = {"cpu": 4000, GPU: 0}
    s = snapshot(
        node("n1", 4, 1),
        queue("a", deserved=due),
        queue("b", deserved={**due, GPU: 1000}),
        Members("v", "a", cpu=4, gpus=1, on=["n1"]),
        Members("g", "b", cpu=1, gpus=gpus, waiting=1),
    )

    assert broken(s, {"g0": "n1"}, "v0") == want


def test_a_group_asks_for_what_any_of_its_members_asks_for() -> None:
    def world_of(gpus: int) -> Snapshot:
        g = Members("g", "b", waiting=2)
        lead = PodSpec(Amounts(cores(1, gpus)))
        g.pods[1] = replace(g.pods[1], spec=lead)
        due = {"cpu": 1000, GPU: 0}
        return snapshot(
            node("n1", 2, 1),
            queue("a", deserved=due),
            queue("b", deserved=due, weight=0),
            Members("used", "b", cpu=0, gpus=1, on=["n1"]),
            Members("v", "a", on=["n1"] * 2, minimum=1),
            g,
        )

    # b is beyond its share of devices already, which stops a group that asks for some anywhere.
    assert broken(world_of(0), {"g0": "n1"}, "v1") == set()
    assert broken(world_of(1), {"g0": "n1"}, "v1") == {"rights", "claims"}


def test_a_group_does_not_start_and_lose_pods_in_one_plan() -> None:
    s = snapshot(
        node("n1", 2),
        node("n2", 2),
        queue("q"),
        Members("v", "q", on=["n1", "n1"], waiting=1, minimum=1),
        Members("g", "q", cpu=1, waiting=1, priority=1),
    )

    assert broken(s, {"g0": "n1"}, "v1") == set()
    assert broken(s, {"g0": "n1", "v2": "n2"}, "v1") == {"gang"}


def test_running_work_has_the_larger_of_the_priorities_and_starting_work_its_groups() -> None:
    s = snapshot(
        node("n1", 1),
        node("n2", 1),
        queue("q"),
        Members("runs", "q", on=["n1"], pod={"priority": 5}),
        Members("starts", "q", waiting=1, pod={"priority": 5}),
        Members("g", "q", waiting=1, priority=3),
    )

    assert against(s, {"starts0": "n2"}) == {(3, "g", ("starts",))}
    assert broken(s, {"g0": "n1"}, "runs0") == {"rights", "claims"}


def test_running_work_of_a_missing_queue_counts_nowhere_and_stays() -> None:
    s = snapshot(
        node("n1", 4),
        queue("q", due=1),
        Members("stray", "gone", on=["n1"] * 4),
        Members("g", "q", waiting=1, priority=9),
    )

    r = Report(s, DEFAULT)

    assert r.could_run == set()
    assert r.demand("q")["cpu"] == 0
    assert broken(s, {"g0": "n1"}, "stray0", "stray1", "stray2", "stray3") == {"rights", "claims"}


def test_running_work_of_an_inner_queue_is_its_own() -> None:
    s = snapshot(
        node("n1", 4),
        queue("p", due=2),
        queue("c", due=2, parent="p"),
        queue("other", due=2),
        Members("own", "p", on=["n1"] * 3, minimum=1),
        Members("child", "c", on=["n1"]),
        Members("inside", "c", waiting=1, priority=9),
        Members("outside", "other", waiting=2),
    )

    r = Report(s, DEFAULT)

    assert r.demand("p")["cpu"] == 4000
    assert [name for name, _, _ in r.row("p")] == ["x/own", "x/own1", "x/own2", "x/child"]
    assert broken(s, {"outside0": "n1", "outside1": "n1"}, "child0", "own2") == set()
    assert broken(s, {"inside0": "n1"}, "own2") == {"rights", "claims"}


def test_children_of_a_parent_inside_its_due_are_safe_from_its_siblings() -> None:
    s = snapshot(
        node("n1", 4),
        queue("p", due=4),
        queue("p1", due=1, parent="p"),
        queue("p2", due=3, parent="p"),
        queue("other", due=1),
        Members("v", "p1", on=["n1"] * 4),
        Members("outside", "other", waiting=1),
        Members("inside", "p2", waiting=1),
    )

    assert broken(s, {"outside0": "n1"}, "v3") == {"rights", "claims"}
    assert broken(s, {"inside0": "n1"}, "v3") == set()


def test_broken_gangs_are_completed_or_given_up_after_their_grace() -> None:
    def world_of(since: int) -> Snapshot:
        return snapshot(
            node("n1", 3),
            queue("q"),
            Members("g", "q", on=["n1"], waiting=1, minimum=2, broken_since_s=since),
            Members("h", "q", cpu=2, waiting=1, priority=5),
        )

    over, within = world_of(9000), world_of(9990)

    assert broken(over, {}) == {"gang"}
    assert against(over, {"h0": "n1"}, "g0") == {(1, "g", ("h",))}
    assert against(over, {"g1": "n1"}) == set()
    assert broken(within, {}) == set()
    assert broken(within, {}, "g0") == {"rights"}
    assert against(within, {"h0": "n1"}) == {(1, "g", ("h",))}


@pytest.mark.parametrize(("allowed", "gone"), [(2, "ab"), (1, "a"), (0, "")])
def test_groups_are_given_up_in_order_as_far_as_budgets_bear_it(allowed: int, gone: str) -> None:
    both = {"labels": {"app": "both"}}
    s = snapshot(
        node("n1", 5),
        queue("q"),
        Members("a", "q", on=["n1"], waiting=1, minimum=2, pod=both),
        Members("b", "q", on=["n1"], waiting=1, minimum=2, pod=both),
        Members("c", "q", on=["n1"], waiting=1, minimum=2, pod={"critical": True}),
        Members("v", "q", on=["n1"], pod=both),
        Members("g", "q", waiting=1, priority=1),
        budget("both", allowed),
    )

    for n in range(4):
        for some in combinations("abc", n):
            right = "".join(some) == gone
            assert (broken(s, {}, *(f"{name}0" for name in some)) == set()) is right
    given_up = [f"{name}0" for name in gone]
    assert ("budget" in broken(s, {"g0": "n1"}, "v0", *given_up)) is (allowed - len(gone) < 1)
    # One that is completed does not leave its budget to the next.
    assert broken(s, {"a1": "n1"}, *(["b0"] if allowed > 1 else [])) == set()
