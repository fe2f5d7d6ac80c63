"""Preemption: who may evict whom, and what an eviction must respect (order.md, section 4)."""

from typing import Any

import pytest

from apportion.models import (
    Amounts,
    Bind,
    Config,
    Eviction,
    GroupKey,
    HostPort,
    NodeName,
    Plan,
    PodKey,
    PodState,
    Snapshot,
)
from apportion.policies.preemption import rights_of
from apportion.policies.testing import accepts, refuses
from apportion.policies.testing import after as after_plan

from .builders import (
    GPU,
    Members,
    after,
    but,
    cores,
    evicted,
    node,
    placed,
    queue,
    rule,
    snapshot,
    term,
)
from .conftest import Solve

PREEMPTION = rule("preemption")


def right(outcome: Any, claimant: str, victim: str, lost: int | None = None) -> str:
    """Return "own", "cross" or "" for the right of one group to another."""
    return rights_of(outcome).may(GroupKey(f"x/{claimant}"), GroupKey(f"x/{victim}"), lost)


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


def test_what_is_not_reclaimable_stays() -> None:
    outcome = after(two_queues(1, 1, reclaimable=False), "g0@n1", "v1")

    assert refuses(PREEMPTION, outcome, "group x/v")


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


# Guarantees


@pytest.mark.parametrize(
    ("kept", "gone", "want"), [(1, "v1", True), (2, "v1", False), (3, "v1", False)]
)
def test_evictions_across_queues_stop_at_the_guarantee(kept: int, gone: str, want: bool) -> None:
    """A guarantee of 3 protects the 2 that are used."""
    world = two_queues(0, 2, guarantee=Amounts(cores(kept)))
    by_due = after(world, "g0@n1", gone)

    assert bool(accepts(PREEMPTION, by_due)) is want


def test_a_queue_may_fall_below_its_guarantee_by_its_own_doing() -> None:
    world = snapshot(
        node("n1", 2),
        queue("a", guarantee=Amounts(cores(2))),
        queue("b"),
        Members("v", "a", cpu=2, on=["n1"]),
        Members("g", "a", waiting=1, priority=1),
    )

    assert accepts(PREEMPTION, after(world, "g0@n1", "v0"))


def test_a_whole_gang_stays_where_the_guarantee_would_be_cut() -> None:
    world = snapshot(
        node("n1", 3),
        queue("a", due=0, guarantee=Amounts(cores(1))),
        queue("b", due=3),
        Members("v", "a", on=["n1"] * 3, minimum=3),
        Members("g", "b", waiting=1),
    )

    outcome = after(world, "g0@n1", "v0 v1 v2")

    assert refuses(PREEMPTION, outcome, "queue a", "would fall below its guarantee of cpu")


# Claims


def freed_room(cpu: int = 2) -> Snapshot:
    """Return v, of two cores, to which only high has a right; low would fit beside."""
    return snapshot(
        node("n1", cpu),
        queue("q"),
        Members("v", "q", cpu=2, on=["n1"]),
        Members("high", "q", waiting=1, priority=1),
        Members("low", "q", waiting=1),
    )


@pytest.mark.parametrize(("cpu", "want"), [(3, True), (2, False)])
def test_room_of_victims_goes_to_those_with_a_right(cpu: int, want: bool) -> None:
    outcome = after(freed_room(cpu), "high0@n1 low0@n1", "v0")

    said = "room of victims goes to groups that have no claim on it"
    assert bool(accepts(PREEMPTION, outcome)) is want
    assert bool(refuses(PREEMPTION, outcome, "node n1", said)) is not want


def test_terminating_pods_leave_their_room_to_anybody() -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        but(Members("v", "q", cpu=2, on=["n1"]), 0, state=PodState.TERMINATING),
        Members("low", "q", waiting=1),
    )

    assert accepts(PREEMPTION, after(world, "low0@n1"))


def test_quota_of_victims_goes_to_those_with_a_right() -> None:
    def world_of(top: int) -> Snapshot:
        return snapshot(
            node("n1", 2),
            node("n2", 2),
            queue("q", capability={"cpu": top}),
            Members("v", "q", cpu=2, on=["n1"]),
            Members("high", "q", waiting=1, priority=1),
            Members("low", "q", waiting=1),
        )

    plan = ("high0@n1 low0@n2", "v0")
    said = "quota of victims goes to groups that have no claim on it"
    assert accepts(PREEMPTION, after(world_of(3000), *plan))
    assert refuses(PREEMPTION, after(world_of(2000), *plan), "queue q", said)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"host_ports": (HostPort(80),)}, id="a port"),
        pytest.param({"anti_affinity": (term("v"),)}, id="a domain"),
    ],
)
def test_a_port_or_a_domain_is_taken_by_right_only(spec: dict[str, Any]) -> None:
    world = snapshot(
        node("n1", 9, labels={"host": "n1"}),
        queue("q"),
        Members("v", "q", on=["n1"], spec={"host_ports": (HostPort(80),)}),
        Members("high", "q", waiting=1, priority=1),
        Members("low", "q", waiting=1, spec=spec),
    )

    assert accepts(PREEMPTION, after(world, "high0@n1", "v0"))
    assert refuses(
        PREEMPTION,
        after(world, "high0@n1 low0@n1", "v0"),
        "pod x/low0",
        "takes the place of x/v0 without a right",
    )


def test_a_plan_names_for_whom_it_evicts() -> None:
    world = freed_room(3)

    def plan_of(*names: str) -> Plan:
        high, low, v = GroupKey("x/high"), GroupKey("x/low"), GroupKey("x/v")
        n1 = NodeName("n1")
        binds = (Bind(PodKey("x/high0"), high, n1), Bind(PodKey("x/low0"), low, n1))
        beneficiaries = tuple(GroupKey(f"x/{n}") for n in names)
        gone = (Eviction(PodKey("x/v0"), v, n1, beneficiaries),)
        return Plan(snapshot="", config="", binds=binds, evictions=gone)

    assert accepts(PREEMPTION, after_plan(world, plan_of("high")))
    for wrong in (("low",), ("high", "low"), ()):
        outcome = after_plan(world, plan_of(*wrong))
        assert refuses(PREEMPTION, outcome, "pod x/v0", "who has no right"), wrong


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
