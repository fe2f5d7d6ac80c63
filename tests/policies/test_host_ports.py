"""Host ports: one node serves a port, protocol and address once."""

import pytest

from apportion.models import HostPort, PodState, Snapshot
from apportion.policies.testing import accepts, refuses

from .builders import (
    Members,
    after,
    evicted,
    foreign,
    node,
    placed,
    queue,
    reasons,
    rule,
    snapshot,
)
from .conftest import Solve

PORTS = rule("host-ports")
HTTP = HostPort(80)


def asks(*ports: HostPort) -> dict[str, object]:
    return {"host_ports": ports}


@pytest.mark.parametrize(
    ("about", "one", "other", "want"),
    [
        ("the same", HTTP, HTTP, False),
        ("another port", HTTP, HostPort(81), True),
        ("another protocol", HTTP, HostPort(80, "UDP"), True),
        ("the same, by UDP", HostPort(53, "UDP"), HostPort(53, "UDP"), False),
        ("one of all addresses", HTTP, HostPort(80, "TCP", "10.0.0.1"), False),
        ("two addresses", HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), True),
        ("one address", HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.1"), False),
        ("all addresses, another protocol", HTTP, HostPort(80, "SCTP", "10.0.0.1"), True),
    ],
)
def test_two_pods_share_a_node_where_their_ports_differ(
    about: str, one: HostPort, other: HostPort, want: bool
) -> None:
    world = snapshot(
        node("n1", 4),
        queue("q"),
        Members("g", "q", waiting=1, spec=asks(one)),
        Members("h", "q", waiting=1, spec=asks(HostPort(9999), other)),
    )

    outcome = after(world, "g0@n1 h0@n1")

    assert bool(accepts(PORTS, outcome)) is want, about
    assert bool(refuses(PORTS, outcome, "pod x/g0", "taken by x/h0 on n1")) is not want, about


def test_pods_of_one_group_clash_as_others_do() -> None:
    world = snapshot(
        node("n1", 4), node("n2", 4), queue("q"), Members("g", "q", waiting=2, spec=asks(HTTP))
    )

    assert accepts(PORTS, after(world, "g0@n1 g1@n2"))
    assert refuses(PORTS, after(world, "g0@n1 g1@n1"), "pod x/g0")


def occupied(state: PodState) -> Snapshot:
    return snapshot(
        node("n1", 4),
        queue("q"),
        Members("g", "q", waiting=1, spec=asks(HTTP)),
        foreign("f", 1, "n1", state, **asks(HTTP)),
    )


def test_a_foreign_pod_holds_its_port_until_it_leaves() -> None:
    assert refuses(PORTS, after(occupied(PodState.RUNNING), "g0@n1"))
    assert accepts(PORTS, after(occupied(PodState.TERMINATING), "g0@n1"))


def test_running_pods_that_clash_already_are_left_alone() -> None:
    world = snapshot(
        node("n1", 4),
        queue("q"),
        Members("old", "q", on=["n1", "n1"], spec=asks(HTTP)),
        Members("g", "q", waiting=1),
    )

    assert accepts(PORTS, after(world, "g0@n1"))


def claimed(priority: int) -> Snapshot:
    return snapshot(
        node("n1", 4),
        queue("q"),
        Members("low", "q", on=["n1"], spec=asks(HTTP)),
        Members("g", "q", waiting=1, priority=priority, spec=asks(HTTP)),
    )


def test_an_evicted_pod_leaves_its_port() -> None:
    assert accepts(PORTS, after(claimed(1), "g0@n1", "low0"))
    assert refuses(PORTS, after(claimed(1), "g0@n1"))
    assert accepts(PORTS, after(claimed(1)))


def test_the_pod_that_starts_is_the_one_that_clashes() -> None:
    outcome = after(claimed(1), "g0@n1")

    assert refuses(PORTS, outcome, "pod x/g0", "its host port is taken by x/low0 on n1")


@pytest.mark.parametrize(("priority", "want"), [(1, ({"g0": "n1"}, {"low0"})), (0, ({}, set()))])
def test_a_port_is_taken_over_by_right_only(
    priority: int, want: tuple[dict[str, str], set[str]], solve: Solve
) -> None:
    plan = solve(claimed(priority))

    assert (placed(plan), evicted(plan)) == want


def test_pods_with_one_port_go_to_as_many_nodes(solve: Solve) -> None:
    world = snapshot(
        node("n1", 4), node("n2", 4), queue("q"),
        Members("g", "q", waiting=3, minimum=1, spec=asks(HTTP)),
    )  # fmt: skip

    plan = solve(world)

    assert sorted(placed(plan).values()) == ["n1", "n2"]
    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert reason.message == (
        "no node takes one more member; 2 of 2 nodes: host-ports: other pods there"
    )
