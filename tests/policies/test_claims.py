"""Preemption: what an eviction must respect: guarantees, and the claims of others."""

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
from apportion.policies.testing import accepts, refuses
from apportion.policies.testing import after as after_plan
from apportion.solver.process import SolverProcess

from .agreement import Told
from .builders import (
    Members,
    after,
    but,
    cores,
    node,
    queue,
    rule,
    snapshot,
    term,
)

PREEMPTION = rule("preemption")


def two_queues(due_a: int | None, due_b: int | None, **a: Any) -> Snapshot:
    """Return queue a, which uses two cores of two, and queue b, which waits for one."""
    return snapshot(
        node("n1", 2),
        queue("a", due=due_a, **a),
        queue("b", due=due_b),
        Members("v", "a", on=["n1"] * 2, minimum=0, priority=9),
        Members("g", "b", waiting=1, may_preempt=True),
    )


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


def test_where_ports_are_nobodys_rule_they_are_nobodys_right() -> None:
    port = {"host_ports": (HostPort(80),)}
    world = snapshot(
        node("n1", 9),
        queue("q"),
        Members("v", "q", on=["n1"], spec=port),
        Members("high", "q", waiting=1, priority=1),
        Members("low", "q", waiting=1, spec=port),
    )
    config = Config(off=("host-ports",))

    assert accepts(PREEMPTION, after(world, "high0@n1 low0@n1", "v0", config=config))


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


@pytest.mark.parametrize(
    ("started", "want"), [("abd", True), ("abcdef", False), ("bcdef", True), ("def", True)]
)
def test_three_of_six_claimants_do_not_take_what_is_freed_for_the_others(
    started: str, want: bool, process: SolverProcess
) -> None:
    """Each may take what goes of its own queue: a, b and c a core each, d, e and f three.

    Of a, b and c no two use more than is theirs and free, and neither do all six.
    """
    victims = [
        Members(f"v{q}", q, on=["n1"], cpu=1 if q in "abc" else 3, priority=0) for q in "abcdef"
    ]
    waiting = [
        Members(f"g{q}", q, waiting=1, cpu=2 if q in "abc" else 1, priority=5, may_preempt=True)
        for q in "abcdef"
    ]
    queues = [queue(q, due=1 if q in "abc" else 3) for q in "abcdef"]
    world = snapshot(node("n1", 14), *queues, *victims, *waiting)
    plan = after(world, " ".join(f"g{q}0@n1" for q in started), " ".join(f"v{q}0" for q in started))

    assert bool(accepts(PREEMPTION, plan)) is want
    told = Told(plan.scene, process, PREEMPTION)
    values = told.values(plan)
    assert values is not None
    assert (told.best(values) is not None) is want
