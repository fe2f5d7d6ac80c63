"""Preemption: who has a right to evict whom (order.md, section 4)."""

from typing import Any

import pytest

from apportion.models import (
    Config,
    GroupKey,
    Reclaims,
    Snapshot,
)
from apportion.policies.rights import rights_of
from apportion.policies.testing import accepts, refuses

from .builders import (
    GPU,
    Members,
    after,
    but,
    evicted,
    node,
    placed,
    queue,
    rule,
    snapshot,
)
from .conftest import Solve

PREEMPTION = rule("preemption")


def right(outcome: Any, claimant: str, victim: str, lost: int | None = None) -> str:
    """Return "own", "cross" or "" for the right of one group to another."""
    of = GroupKey(f"x/{victim}")
    pods = None if lost is None else outcome.scene.roster[of].running[:lost]
    return rights_of(outcome).may(GroupKey(f"x/{claimant}"), of, pods)


# (a) Inside a queue


def one_queue(mine: int, theirs: int, **group: Any) -> Snapshot:
    return snapshot(
        node("n1", 2),
        queue("q"),
        Members("v", "q", cpu=2, on=["n1"], priority=theirs),
        Members("g", "q", waiting=1, priority=mine, **group),
    )


@pytest.mark.parametrize(("mine", "theirs", "want"), [(1, 0, True), (1, 1, False), (0, 1, False)])
def test_inside_a_queue_strictly_lower_priority_gives_way(
    mine: int, theirs: int, want: bool
) -> None:
    outcome = after(one_queue(mine, theirs), "g0@n1", "v0")

    assert bool(accepts(PREEMPTION, outcome)) is want
    assert bool(refuses(PREEMPTION, outcome, "group x/v", "for nobody with a right")) is not want
    assert right(outcome, "g", "v") == ("own" if want else "")


def test_a_pod_of_higher_priority_protects_its_group() -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("v", "q", on=["n1"], priority=0, pod={"priority": 5}),
        Members("g", "q", waiting=1, priority=5),
    )

    assert refuses(PREEMPTION, after(world, "g0@n1", "v0"), "group x/v")


def mixed(mine: int, **queue_: Any) -> Snapshot:
    """Return a group at 0 whose pods are at 9, 0 and 5 and of which one has to stay."""
    return snapshot(
        node("n1", 3),
        queue("q", **queue_),
        but(but(Members("v", "q", on=["n1"] * 3, minimum=1), 0, priority=9), 2, priority=5),
        Members("g", "q", waiting=2, minimum=1, priority=mine),
    )


@pytest.mark.parametrize(
    ("mine", "gone", "want"),
    [
        (5, "v1", True),
        (5, "v2", False),
        (6, "v2", True),
        (0, "v1", False),
        (6, "v1 v2", True),
        (5, "v1 v2", False),
        (9, "v0 v1 v2", False),
        (10, "v0 v1 v2", True),
    ],
)
def test_only_the_pods_that_go_have_to_be_of_lower_priority(
    mine: int, gone: str, want: bool
) -> None:
    starts = "g0@n1" if len(gone) == 2 else "g0@n1 g1@n1"

    outcome = after(mixed(mine), starts, gone)

    assert bool(accepts(PREEMPTION, outcome)) is want
    assert bool(refuses(PREEMPTION, outcome, "group x/v", "for nobody with a right")) is not want
    assert right(outcome, "g", "v") == ("own" if want else "")


def test_a_queue_may_let_nobody_evict_inside_it() -> None:
    assert refuses(PREEMPTION, after(mixed(9, preempts=False), "g0@n1", "v1"), "group x/v")


def test_who_may_not_preempt_evicts_nobody() -> None:
    outcome = after(one_queue(1, 0, may_preempt=False), "g0@n1", "v0")

    assert refuses(PREEMPTION, outcome, "group x/v")


def test_an_eviction_needs_somebody_that_starts() -> None:
    assert refuses(PREEMPTION, after(one_queue(1, 0), gone="v0"), "group x/v", "for nobody")


@pytest.mark.parametrize(
    ("setting", "inside", "across"),
    [("all", True, True), ("queue", True, False), ("none", False, False)],
)
def test_the_setting_says_which_evictions_there_are(
    setting: Any, inside: bool, across: bool
) -> None:
    config = Config(evictions=setting)

    own = after(one_queue(1, 0), "g0@n1", "v0", config=config)
    cross = after(two_queues(1, 1), "g0@n1", "v1", config=config)

    assert (bool(accepts(PREEMPTION, own)), bool(accepts(PREEMPTION, cross))) == (inside, across)


# (b) Across queues


def two_queues(due_a: int | None, due_b: int | None, **a: Any) -> Snapshot:
    """Return queue a, which uses two cores of two, and queue b, which waits for one."""
    return snapshot(
        node("n1", 2),
        queue("a", due=due_a, **a),
        queue("b", due=due_b),
        Members("v", "a", on=["n1"] * 2, minimum=0, priority=9),
        Members("g", "b", waiting=1, may_preempt=True),
    )


@pytest.mark.parametrize(
    ("about", "due_a", "due_b", "want"),
    [
        ("what is lent comes back, whatever the priority", 1, 1, True),
        ("what is due stays", 2, 1, False),
        ("what is due stays, even where dues exceed the cluster", 2, 2, False),
        ("without dues the shares decide", None, None, True),
    ],
)
def test_across_queues_what_is_beyond_gives_way(
    about: str, due_a: int | None, due_b: int | None, want: bool
) -> None:
    outcome = after(two_queues(due_a, due_b), "g0@n1", "v1")

    assert right(outcome, "g", "v") == ("cross" if want else ""), about
    assert bool(accepts(PREEMPTION, outcome)) is want, about


@pytest.mark.parametrize(("priority", "want"), [(9, ""), (0, "cross")])
def test_where_priority_counts_everywhere_it_protects_across_queues(
    priority: int, want: str
) -> None:
    world = snapshot(
        node("n1", 2),
        queue("a", due=1),
        queue("b", due=1),
        Members("v", "a", on=["n1"] * 2, minimum=0, priority=priority),
        Members("g", "b", waiting=1),
    )
    config = Config(priority_everywhere=True)

    assert right(after(world, "g0@n1", "v1", config=config), "g", "v") == want


def test_no_more_single_pods_go_than_are_beyond() -> None:
    world = two_queues(1, 2)

    assert right(after(world, "g0@n1", "v1"), "g", "v") == "cross"
    assert right(after(world, "g0@n1", "v0 v1"), "g", "v") == ""


def test_a_gang_goes_whole_where_its_minimum_is_beyond() -> None:
    def world_of(due: int) -> Snapshot:
        return snapshot(
            node("n1", 4),
            queue("a", due=due),
            queue("b", due=4),
            Members("v", "a", on=["n1"] * 4, minimum=3),
            Members("g", "b", waiting=1),
        )

    every = "v0 v1 v2 v3"
    assert accepts(PREEMPTION, after(world_of(2), "g0@n1", every))
    assert refuses(PREEMPTION, after(world_of(3), "g0@n1", every), "group x/v")
    assert accepts(PREEMPTION, after(world_of(3), "g0@n1", "v3"))


@pytest.mark.parametrize(("due", "want"), [(1, True), (0, False)])
def test_the_claimants_queue_stays_within_its_own(due: int, want: bool) -> None:
    world = snapshot(
        node("n1", 3),
        queue("a", due=1),
        queue("b", due=due + 1),
        Members("v", "a", on=["n1"] * 2, minimum=0),
        Members("h", "b", on=["n1"]),
        Members("g", "b", waiting=1),
    )

    assert bool(accepts(PREEMPTION, after(world, "g0@n1", "v1"))) is want


@pytest.mark.parametrize(("runs", "want"), [(2, True), (3, False)])
def test_who_is_beyond_claims_nothing_though_it_gives_as_much_away(runs: int, want: bool) -> None:
    world = snapshot(
        node("n1", 2 * runs + 6),
        queue("a", due=5),
        queue("b", due=5),
        Members("v", "a", cpu=2, on=["n1"] * runs, minimum=0),
        Members("w", "b", cpu=2, on=["n1"] * 3, minimum=0),
        Members("g", "a", waiting=1),
        Members("h", "b", waiting=1),
    )
    alone = after(world, "g0@n1", "w2")
    swap = after(world, "g0@n1 h0@n1", f"w2 v{runs - 1}")

    assert bool(accepts(PREEMPTION, alone)) is want
    assert refuses(PREEMPTION, swap, "group x/v")
    assert right(swap, "g", "w") == ("cross" if want else "")


def test_what_is_not_reclaimable_stays() -> None:
    outcome = after(two_queues(1, 1, reclaimable=False), "g0@n1", "v1")

    assert refuses(PREEMPTION, outcome, "group x/v")


@pytest.mark.parametrize(
    ("reclaims", "mine", "want"),
    [
        (Reclaims.ANY, 0, True),
        (Reclaims.LOWER, 9, False),
        (Reclaims.LOWER, 10, True),
        (Reclaims.NEVER, 10, False),
    ],
)
def test_the_claimants_queue_says_what_it_reclaims(
    reclaims: Reclaims, mine: int, want: bool
) -> None:
    world = snapshot(
        node("n1", 2),
        queue("a", due=1),
        queue("b", due=1, reclaims=reclaims),
        Members("v", "a", on=["n1"] * 2, minimum=0, priority=9),
        Members("g", "b", waiting=1, priority=mine),
    )

    outcome = after(world, "g0@n1", "v1")

    assert bool(accepts(PREEMPTION, outcome)) is want
    assert bool(refuses(PREEMPTION, outcome, "group x/v", "for nobody with a right")) is not want
    assert right(outcome, "g", "v") == ("cross" if want else "")


@pytest.mark.parametrize(("upper", "want"), [(True, True), (False, False)])
def test_every_queue_below_the_common_ancestor_is_to_be_reclaimable(
    upper: bool, want: bool
) -> None:
    world = snapshot(
        node("n1", 2),
        queue("top", reclaimable=False),
        queue("up", parent="top", reclaimable=upper),
        queue("a", parent="up", due=0),
        queue("b", parent="top", due=1),
        Members("v", "a", on=["n1"] * 2, minimum=0),
        Members("g", "b", waiting=1),
    )

    assert bool(accepts(PREEMPTION, after(world, "g0@n1", "v1"))) is want


def test_a_victim_is_beyond_in_a_resource_that_both_ask_for() -> None:
    def world_of(gpus: int) -> Snapshot:
        return snapshot(
            node("n1", 4, 2),
            queue("a", deserved={"cpu": 4000, GPU: 0}),
            queue("b", deserved={"cpu": 4000, GPU: 2000}),
            Members("v", "a", gpus=1, on=["n1"]),
            Members("g", "b", gpus=gpus, waiting=1),
        )

    assert accepts(PREEMPTION, after(world_of(1), "g0@n1", "v0"))
    assert refuses(PREEMPTION, after(world_of(0), "g0@n1", "v0"), "group x/v")


@pytest.mark.parametrize(
    ("about", "mine", "theirs", "want"),
    [
        ("equal queues", 0, 0, False),
        ("a lower queue has the surplus", 1, 0, True),
        ("a higher queue has the surplus", 0, 1, False),
    ],
)
def test_a_queue_that_is_due_nothing_takes_surplus_from_lower_queues_only(
    about: str, mine: int, theirs: int, want: bool
) -> None:
    world = snapshot(
        node("n1", 2),
        queue("a", due=0, priority=theirs),
        queue("b", due=0, priority=mine),
        Members("v", "a", on=["n1"] * 2, minimum=0),
        Members("g", "b", waiting=1),
    )

    assert bool(accepts(PREEMPTION, after(world, "g0@n1", "v1"))) is want, about


def test_a_group_that_is_broken_and_given_up_goes_for_nobody() -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("v", "q", on=["n1"], minimum=9, broken_since_s=0, preemptable=False),
    )

    assert accepts(PREEMPTION, after(world, gone="v0"))


# Plans


def test_as_much_is_taken_back_as_is_due(solve: Solve) -> None:
    world = snapshot(
        node("n1", 4),
        queue("a", due=2),
        queue("b", due=2),
        Members("v", "a", on=["n1"] * 4, minimum=1),
        Members("g", "b", waiting=4, minimum=1),
    )

    plan = solve(world)

    assert (sorted(placed(plan)), evicted(plan)) == (["g0", "g1"], {"v2", "v3"})
    assert {e.reason for e in plan.evictions} == {"is beyond what queue a is entitled to"}
    assert {e.beneficiaries for e in plan.evictions} == {("x/g",)}


def test_higher_priority_makes_room_inside_a_queue(solve: Solve) -> None:
    plan = solve(one_queue(1, 0))

    assert (placed(plan), evicted(plan)) == ({"g0": "n1"}, {"v0"})
    assert plan.evictions[0].reason == "makes room for higher priority in queue q"
