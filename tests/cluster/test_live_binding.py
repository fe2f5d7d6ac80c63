"""What the live scheduler starts, and what it leaves alone."""

import pytest

from cluster import invariants
from cluster.between import Proxy
from cluster.client import Client
from cluster.looking import nodes_of, wait_placed
from cluster.objects import gang, node, pod
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "volcano")


def test_single_pods_start_where_there_is_room(client: Client, schedulers: Schedulers) -> None:
    client.create_all([node("big", 8), node("small", 1)])
    schedulers.start()

    client.create(pod("seven", 7))
    wait_placed(client, "seven")
    client.create_all([pod("one", 1), pod("another", 1)])

    placed = wait_placed(client, "seven", "one", "another")
    assert placed["seven"] == "big"
    assert {placed["one"], placed["another"]} == {"big", "small"}
    assert invariants.faults(client) == []


def test_a_gang_starts_whole(client: Client, schedulers: Schedulers) -> None:
    client.create_all(node(f"n{i}", 8) for i in range(4))
    schedulers.start()

    client.create_all(gang("g", 4, 8))

    placed = wait_placed(client, *(f"g-{i}" for i in range(4)))
    assert sorted(placed.values()) == ["n0", "n1", "n2", "n3"]


def test_a_gang_that_does_not_fit_waits_whole_and_starts_when_it_fits(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all(node(f"n{i}", 8) for i in range(3))
    scheduler = schedulers.start()

    client.create_all([*gang("g", 4, 8), pod("small", 1)])
    wait_placed(client, "small")
    until(lambda: any(c["held"] for c in scheduler.events("cycle")), "the gang is held")
    assert nodes_of(client).keys() == {"small"}
    client.create(node("n3", 8))
    client.delete("pods", "small")

    placed = wait_placed(client, *(f"g-{i}" for i in range(4)))
    assert sorted(placed.values()) == ["n0", "n1", "n2", "n3"]


def test_no_member_of_a_gang_that_does_not_fit_is_bound(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    scheduler = schedulers.start()

    client.create_all(gang("g", 2, 8))
    until(lambda: any(c["held"] for c in scheduler.events("cycle")), "the gang is held")
    client.create(pod("after", 1))
    wait_placed(client, "after")

    assert nodes_of(client).keys() == {"after"}


def test_members_beyond_the_minimum_start_as_far_as_there_is_room(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    schedulers.start()

    client.create_all(gang("g", 5, 2, minimum=2))

    until(lambda: len(nodes_of(client)) == 4, "four of five have room")
    assert invariants.faults(client) == []


def test_pods_of_other_schedulers_are_left_alone_and_counted(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    client.create_all([pod("theirs", 6, scheduler="other"), pod("waits", 1, scheduler="other")])
    client.bind("theirs", "n1")
    scheduler = schedulers.start()

    client.create_all([pod("three", 3), pod("two", 2)])
    wait_placed(client, "two")
    scheduler.wait_for("cycle")

    assert nodes_of(client).keys() == {"theirs", "two"}


def test_what_waits_when_the_scheduler_starts_is_scheduled(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all(node(f"n{i}", 8) for i in range(2))
    client.create_all([*gang("g", 2, 4), pod("p", 8)])

    schedulers.start()

    wait_placed(client, "g-0", "g-1", "p")
    assert invariants.faults(client) == []


def test_a_dry_run_plans_and_writes_nothing(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(node("n1", 8))
    client.create_all(gang("g", 2, 4))
    scheduler = schedulers.start("--dry-run", through=proxy)

    planned = until(
        lambda: [c for c in scheduler.events("cycle") if c.get("planned") == 2], "a plan of two"
    )

    assert planned[0]["bound"] == 0
    assert nodes_of(client) == {}
    assert [r for r in proxy.seen if r.writes] == []


def test_a_pod_with_a_gate_waits_until_it_is_opened(client: Client, schedulers: Schedulers) -> None:
    client.create(node("n1", 8))
    schedulers.start()
    client.create(pod("gated", 1, schedulingGates=[{"name": "example.com/later"}]))
    client.create(pod("free", 1))
    wait_placed(client, "free")
    assert "gated" not in nodes_of(client)

    client.patch("pods", "gated", {"spec": {"schedulingGates": []}})

    wait_placed(client, "gated")


def test_room_of_a_pod_that_has_ended_is_used_again(client: Client, schedulers: Schedulers) -> None:
    client.create(node("n1", 8))
    schedulers.start()
    client.create(pod("first", 8, times={"runs": "300ms"}))
    wait_placed(client, "first")

    client.create(pod("second", 8))

    wait_placed(client, "second")
    assert client.read("pods", "first")["status"]["phase"] == "Succeeded"
