"""Whom the live scheduler evicts, how it asks for that, and what it does when it is refused."""

import pytest

from cluster import invariants
from cluster.between import Proxy
from cluster.client import Client
from cluster.looking import nodes_of, wait_gone, wait_placed, wait_running
from cluster.objects import budget, gang, node, pod, priority_class
from cluster.rules import Refuse, Request
from cluster.scheduler import Schedulers
from cluster.waiting import stays, until

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano")


@pytest.fixture
def full(client: Client) -> None:
    """A node of 8 GPUs, full of two pods of low priority."""
    client.create_all([priority_class("low", 10), priority_class("high", 1000)])
    client.create(node("n1", 8))
    for name in ("low-0", "low-1"):
        client.create(pod(name, 4, priorityClassName="low", labels={"app": name}))
        client.bind(name, "n1")
    wait_running(client, "low-0", "low-1")


def is_trial(request: Request) -> bool:
    return "/eviction" in request.path and not request.is_eviction


@pytest.mark.usefixtures("full")
def test_work_of_higher_priority_takes_the_place_of_others_by_evictions(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    schedulers.start(through=proxy)

    client.create(pod("high", 8, priorityClassName="high"))

    wait_placed(client, "high")
    asked = [r for r in proxy.seen if "/eviction" in r.path]
    assert {r.pod for r in asked if is_trial(r)} == {"low-0", "low-1"}
    assert {r.pod for r in asked if r.is_eviction} == {"low-0", "low-1"}
    first_meant = next(i for i, r in enumerate(asked) if r.is_eviction)
    assert sum(is_trial(r) for r in asked[:first_meant]) == 2
    assert [r for r in proxy.seen if r.method == "DELETE"] == []
    wait_gone(client, "low-0", "low-1")


@pytest.mark.usefixtures("full")
def test_nobody_is_evicted_where_a_budget_keeps_one_of_them(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(budget("keep", {"app": "low-1"}, 1))
    until(
        lambda: client.read("poddisruptionbudgets", "keep").get("status", {}).get("currentHealthy"),
        "the budget has counted",
    )
    scheduler = schedulers.start(through=proxy)

    client.create(pod("high", 8, priorityClassName="high"))
    until(lambda: any(c["held"] for c in scheduler.events("cycle")), "the pod is held")
    client.create(pod("half", 4, priorityClassName="high"))
    wait_placed(client, "half")

    assert nodes_of(client).keys() - {"low-0"} == {"low-1", "half"}
    assert {r.pod for r in proxy.seen if r.is_eviction} == {"low-0"}


@pytest.mark.usefixtures("full")
def test_one_refusal_spares_all_until_it_is_taken_back(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    refusal = proxy.add(Refuse(lambda r: is_trial(r) and r.pod == "low-1", 429))
    scheduler = schedulers.start(through=proxy)

    client.create(pod("high", 8, priorityClassName="high"))
    until(lambda: refusal.met, "an eviction is tried and refused")
    scheduler.wait_for("not carried out")

    assert [r for r in proxy.seen if r.is_eviction] == []
    assert nodes_of(client).keys() == {"low-0", "low-1"}
    proxy.drop(refusal)
    wait_placed(client, "high")


@pytest.mark.usefixtures("full")
def test_a_victim_that_takes_its_time_is_waited_for(client: Client, schedulers: Schedulers) -> None:
    client.delete("pods", "low-0", grace_s=0)
    client.create(pod("slow", 4, priorityClassName="low", times={"gone-after": "1h"}))
    client.bind("slow", "n1")
    wait_running(client, "slow")
    schedulers.start()

    client.create_all(gang("g", 2, 4, priority="high"))

    until(lambda: "deletionTimestamp" in client.read("pods", "slow")["metadata"], "slow leaves")
    wait_gone(client, "low-1")
    stays(lambda: not {"g-0", "g-1"} & nodes_of(client).keys(), "the gang waits for it", 1)
    client.delete("pods", "slow", grace_s=0)
    wait_placed(client, "g-0", "g-1")
    assert invariants.faults(client) == []


def test_room_is_made_for_a_whole_gang_or_not_at_all(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create_all([priority_class("low", 10), priority_class("high", 1000)])
    client.create_all(node(f"n{i}", 8) for i in range(2))
    client.create(pod("low", 8, priorityClassName="low"))
    client.create(pod("equal", 8, priorityClassName="high"))
    client.bind("low", "n0")
    client.bind("equal", "n1")
    wait_running(client, "low", "equal")
    scheduler = schedulers.start(through=proxy)

    client.create_all(gang("g", 2, 8, priority="high"))
    until(lambda: any(c["held"] for c in scheduler.events("cycle")), "the gang is held")
    client.create_all(gang("one", 1, 8, priority="high"))
    wait_placed(client, "one-0")

    assert {r.pod for r in proxy.seen if r.is_eviction} == {"low"}
    assert nodes_of(client) | {"low": ""} == {"one-0": "n0", "equal": "n1", "low": ""}
