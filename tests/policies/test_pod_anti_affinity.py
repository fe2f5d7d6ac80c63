"""Required pod anti-affinity, both ways, as kube-scheduler's InterPodAffinity decides it."""

from typing import Any

import pytest

from apportion.models import PodState, Snapshot
from apportion.policies.testing import accepts, refuses

from .builders import (
    HOST,
    Members,
    after,
    apart,
    evicted,
    foreign,
    nodes,
    placed,
    queue,
    reasons,
    rule,
    snapshot,
    term,
    zoned,
)
from .conftest import Solve

AFFINITY = rule("pod-affinity")


def peer(on: str, **more: Any) -> Members:
    return Members("peer", "q", on=[on], preemptable=False, **more)


@pytest.mark.parametrize(
    ("about", "key", "at", "want"),
    [
        ("the same host", HOST, "a1", False),
        ("another host", HOST, "a2", True),
        ("the same zone", "zone", "a2", False),
        ("another zone", "zone", "b1", True),
        ("a node without the label", "zone", "none", True),
    ],
)
@pytest.mark.parametrize("mine", [True, False], ids=["the new pod minds", "the old pod minds"])
def test_anti_affinity_holds_both_ways(
    about: str, key: str, at: str, want: bool, mine: bool
) -> None:
    old = apart() if mine else apart(term("g", key))
    new = apart(term("peer", key)) if mine else apart()
    world = zoned(peer("a1", spec=old), Members("g", "q", waiting=1, spec=new))

    outcome = after(world, f"g0@{at}")

    does = "does not bear" if mine else "is not borne by"
    assert bool(accepts(AFFINITY, outcome)) is want, about
    assert bool(refuses(AFFINITY, outcome, "pod x/g0", f"{does} x/peer0 in {key}")) is not want, (
        about
    )


def test_members_of_a_group_may_keep_apart() -> None:
    world = zoned(Members("g", "q", waiting=2, spec=apart(term("g", "zone"))))

    assert accepts(AFFINITY, after(world, "g0@a1 g1@b1"))
    assert refuses(AFFINITY, after(world, "g0@a1 g1@a2"), "pod x/g0")


def test_anti_affinity_of_foreign_pods_counts_and_of_leaving_ones_does_not() -> None:
    def with_foreign(state: PodState) -> Snapshot:
        there = foreign("f", 1, "a1", state, **apart(term("g")))
        return zoned(there, Members("g", "q", waiting=1))

    assert refuses(
        AFFINITY, after(with_foreign(PodState.RUNNING), "g0@a1"), "pod x/g0", "not borne by sys/f"
    )
    assert accepts(AFFINITY, after(with_foreign(PodState.TERMINATING), "g0@a1"))


def test_anti_affinity_minds_the_named_namespaces_only() -> None:
    spec = apart(term("peer", namespaces=frozenset({"y"})))

    assert accepts(
        AFFINITY, after(zoned(peer("a1"), Members("g", "q", waiting=1, spec=spec)), "g0@a1")
    )


def test_running_pods_that_repel_each_other_already_are_left_alone() -> None:
    world = zoned(
        Members("old", "q", on=["a1", "a1"], spec=apart(term("old"))),
        Members("g", "q", waiting=1),
    )

    assert accepts(AFFINITY, after(world, "g0@a1"))


# Plans


def test_a_gang_that_keeps_apart_takes_a_node_each(solve: Solve) -> None:
    group = Members("g", "q", waiting=4, minimum=1, spec=apart(term("g")))
    world = snapshot(*nodes("n1 n2 n3"), queue("q"), group)

    plan = solve(world)

    assert sorted(placed(plan).values()) == ["n1", "n2", "n3"]
    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert "no node takes one more member" in reason.message


def test_work_that_repels_is_evicted_by_right_only(solve: Solve) -> None:
    def plan_of(priority: int) -> tuple[dict[str, str], set[str]]:
        world = snapshot(
            *nodes("n1"),
            queue("q"),
            Members("low", "q", on=["n1"], spec=apart(term("g"))),
            Members("g", "q", waiting=1, priority=priority),
        )
        plan = solve(world)
        return placed(plan), evicted(plan)

    assert plan_of(1) == ({"g0": "n1"}, {"low0"})
    assert plan_of(0) == ({}, set())
