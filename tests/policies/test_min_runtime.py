"""Minimum runtime: all of a group goes only once it has run for as long as its queues say."""

from typing import Any

import pytest

from apportion.models import GroupKey, QueueName, Snapshot
from apportion.policies.min_runtime import min_runtime_s
from apportion.policies.rights import rights_of
from apportion.policies.takers import takers_of
from apportion.policies.testing import accepts, refuses

from .builders import NOW, Members, after, but, evicted, node, placed, queue, rule, scene, snapshot
from .conftest import Solve

PREEMPTION = rule("preemption")


def one_queue(runtime_s: int | None, since_s: int | None, **victim: Any) -> Snapshot:
    return snapshot(
        node("n1", 2),
        queue("q", preempt_min_runtime_s=runtime_s),
        Members("v", "q", on=["n1"] * 2, pod={"started_s": since_s}, **{"minimum": 2, **victim}),
        Members("g", "q", waiting=1, priority=1),
    )


@pytest.mark.parametrize(
    ("runtime_s", "since_s", "want"),
    [
        (None, NOW - 1, True),
        (0, NOW - 1, True),
        (60, NOW - 60, True),
        (60, NOW - 59, False),
        (60, None, True),
    ],
    ids=["not said", "none", "over this second", "a second too few", "start not known"],
)
def test_a_gang_goes_once_it_has_run_for_long_enough(
    runtime_s: int | None, since_s: int | None, want: bool
) -> None:
    outcome = after(one_queue(runtime_s, since_s), "g0@n1", "v0 v1")

    assert bool(accepts(PREEMPTION, outcome)) is want
    assert bool(refuses(PREEMPTION, outcome, "group x/v", "for nobody with a right")) is not want
    assert rights_of(outcome).may(GroupKey("x/g"), GroupKey("x/v")) == ("own" if want else "")
    assert (GroupKey("x/g") in takers_of(outcome).of(GroupKey("x/v"))) is want


def test_what_it_has_beyond_its_minimum_may_go_before() -> None:
    world = one_queue(60, NOW - 1, minimum=1)

    assert accepts(PREEMPTION, after(world, "g0@n1", "v1"))
    assert refuses(PREEMPTION, after(world, "g0@n1", "v0 v1"), "group x/v")


def test_a_group_has_run_since_its_first_pod_started() -> None:
    group = Members("v", "q", on=["n1"] * 2, minimum=2, pod={"started_s": NOW - 90})
    world = snapshot(
        node("n1", 2),
        queue("q", preempt_min_runtime_s=60),
        but(group, 1, started_s=NOW),
        Members("g", "q", waiting=1, priority=1),
    )

    assert accepts(PREEMPTION, after(world, "g0@n1", "v0 v1"))


def tree(**runtimes: int) -> Snapshot:
    """Return departments top/{a, b} and other/{c}; ``runtimes`` by queue and whose claims."""

    def of(name: str) -> dict[str, Any]:
        return {
            "preempt_min_runtime_s": runtimes.get(f"{name}_preempt"),
            "reclaim_min_runtime_s": runtimes.get(f"{name}_reclaim"),
        }

    return snapshot(
        node("n1", 1),
        queue("top", **of("top")),
        queue("other", **of("other")),
        queue("a", parent="top", **of("a")),
        queue("b", parent="top", **of("b")),
        queue("c", parent="other", **of("c")),
    )


@pytest.mark.parametrize(
    ("runtimes", "claimant", "want"),
    [
        ({"a_preempt": 5, "top_preempt": 9}, "a", 5),
        ({"top_preempt": 9}, "a", 9),
        ({"a_preempt": 0, "top_preempt": 9}, "a", 0),
        ({"a_reclaim": 5}, "a", 0),
        ({"a_reclaim": 5, "top_reclaim": 9}, "b", 5),
        ({"top_reclaim": 9}, "b", 9),
        ({"a_reclaim": 5, "top_reclaim": 9}, "c", 9),
        ({"a_reclaim": 5}, "c", 0),
        ({"a_preempt": 5}, "b", 0),
    ],
    ids=[
        "own queue, nearest", "own queue, above", "a written 0 counts", "own queue, other claims",
        "sister", "sister, above", "cousin: the branch says it", "cousin: sisters' own terms",
        "sister, own claims",
    ],
)  # fmt: skip
def test_the_nearest_queue_that_says_so_counts(
    runtimes: dict[str, int], claimant: str, want: int
) -> None:
    assert min_runtime_s(scene(tree(**runtimes)), QueueName(claimant), QueueName("a")) == want


def test_other_queues_wait_for_what_they_are_due(solve: Solve) -> None:
    def world(runtime_s: int) -> Snapshot:
        return snapshot(
            node("n1", 2),
            queue("a", due=0, reclaim_min_runtime_s=runtime_s),
            queue("b", due=1),
            Members("v", "a", cpu=2, on=["n1"], pod={"started_s": NOW - 30}),
            Members("g", "b", waiting=1),
        )

    assert placed(solve(world(30))) == {"g0": "n1"}
    assert placed(solve(world(31))) == {}


@pytest.mark.parametrize("engine", ["exact", "greedy"])
def test_of_two_the_one_that_has_run_enough_goes(solve: Solve, engine: str) -> None:
    world = snapshot(
        node("n1", 2),
        queue("q", preempt_min_runtime_s=60),
        Members("fresh", "q", on=["n1"], pod={"started_s": NOW - 10}),
        Members("ripe", "q", on=["n1"], priority=1, pod={"started_s": NOW - 100}),
        Members("g", "q", waiting=1, priority=2),
    )

    plan = solve(world, engine=engine)

    assert placed(plan) == {"g0": "n1"}
    assert evicted(plan) == {"ripe0"}


@pytest.mark.parametrize("engine", ["exact", "greedy"])
def test_an_elastic_group_shrinks_meanwhile(solve: Solve, engine: str) -> None:
    world = snapshot(
        node("n1", 3),
        queue("q", preempt_min_runtime_s=60),
        Members("v", "q", on=["n1"] * 3, minimum=1, pod={"started_s": NOW - 10}),
        Members("g", "q", waiting=2, minimum=2, priority=2),
        Members("h", "q", waiting=1, priority=1),
    )

    plan = solve(world, engine=engine)

    assert placed(plan) == {"g0": "n1", "g1": "n1"}
    assert len(evicted(plan)) == 2
