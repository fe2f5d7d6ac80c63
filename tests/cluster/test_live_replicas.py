"""A replica that ends or dies leaves nothing half done: it, or the next, completes it."""

import signal

import pytest

from cluster.between import Proxy
from cluster.client import Client
from cluster.installing import NAMESPACE
from cluster.looking import nodes_of, wait_placed
from cluster.objects import gang, pod
from cluster.rules import Hold, later_binds
from cluster.scheduler import Scheduler, Schedulers
from cluster.waiting import DEADLINE_S, until

pytestmark = pytest.mark.usefixtures("kwok", "volcano", "four")

MEMBERS = tuple(f"g-{i}" for i in range(4))


def start_two(schedulers: Schedulers, client: Client, through: Proxy | None = None) -> Scheduler:
    """Start a leader and one that follows it; return the leader."""

    leader = schedulers.start(through=through, elects=True)
    until(lambda: holder(client), "the first leads")
    schedulers.start(elects=True)
    return leader


def holder(client: Client) -> str:
    """Return who holds the lease; empty where nobody does."""
    lease = client.find("leases", "apportion", NAMESPACE)
    return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")


def test_a_scheduler_that_dies_between_two_binds_is_followed_by_one_that_completes_the_gang(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    first = schedulers.start(through=proxy)
    held = proxy.add(Hold(later_binds()))
    client.create_all(gang("g", 4, 8))
    until(lambda: len(held.met) == 3 and nodes_of(client), "one is bound, three are held")

    first.kill()
    held.discard()
    assert len(nodes_of(client)) == 1
    schedulers.start()

    placed = wait_placed(client, *MEMBERS)
    assert sorted(placed.values()) == ["n0", "n1", "n2", "n3"]


def test_a_second_replica_takes_over_from_a_leader_that_dies_between_two_binds(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    leader = start_two(schedulers, client, through=proxy)
    held = proxy.add(Hold(later_binds()))
    client.create_all(gang("g", 4, 8))
    until(lambda: len(held.met) == 3 and nodes_of(client), "one is bound, three are held")

    leader.kill()
    held.discard()

    # The lease of the dead has to run out first.
    placed = wait_placed(client, *MEMBERS)
    assert sorted(placed.values()) == ["n0", "n1", "n2", "n3"]


def test_a_second_replica_takes_over_at_once_from_a_leader_that_is_told_to_end(
    client: Client, schedulers: Schedulers
) -> None:
    leader = start_two(schedulers, client)
    client.create(pod("before", 1))
    wait_placed(client, "before")
    led = holder(client)

    leader.send(signal.SIGTERM)
    assert leader.wait(DEADLINE_S) == 0
    assert holder(client) != led, "it was handed back: nobody waits until it has run out"
    client.create(pod("after", 1))

    wait_placed(client, "after")


def test_a_scheduler_that_is_told_to_end_completes_what_it_has_begun(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    scheduler = schedulers.start(through=proxy)
    held = proxy.add(Hold(later_binds()))
    client.create_all(gang("g", 4, 8))
    until(lambda: len(held.met) == 3 and nodes_of(client), "one is bound, three are held")

    scheduler.send(signal.SIGTERM)
    held.release()

    assert scheduler.wait(DEADLINE_S) == 0
    assert nodes_of(client).keys() == set(MEMBERS)
