"""What goes wrong around the live scheduler, and that it does its work all the same.

After each fault the work is done, nothing is bound twice, and no gang is left in part. How long
things wait is tested by clocks of the tests, in tests/adapters/live.
"""

import os
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cluster import invariants
from cluster.between import Proxy
from cluster.client import Client
from cluster.looking import nodes_of, wait_placed
from cluster.objects import gang, node, pod
from cluster.part import children
from cluster.plane import ControlPlane
from cluster.rules import Hold, Lose, Refuse, is_bind, later_binds
from cluster.scheduler import Schedulers
from cluster.waiting import stays, until

pytestmark = pytest.mark.usefixtures("kwok", "volcano")

MEMBERS = tuple(f"g-{i}" for i in range(4))


@pytest.mark.usefixtures("four")
def test_the_api_server_is_killed_while_a_gang_is_bound(
    plane: ControlPlane, client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    schedulers.start(through=proxy)
    held = proxy.add(Hold(later_binds()))
    client.create_all(gang("g", 4, 8))
    until(lambda: len(held.met) == 3 and nodes_of(client), "one is bound, three are held")

    plane.kill("kube-apiserver")
    held.release()
    plane.restart("kube-apiserver")

    placed = wait_placed(client, *MEMBERS)
    assert sorted(placed.values()) == ["n0", "n1", "n2", "n3"]


@pytest.mark.usefixtures("four")
def test_the_api_server_is_restarted_between_two_gangs(
    plane: ControlPlane, client: Client, schedulers: Schedulers
) -> None:
    schedulers.start()
    client.create_all(gang("g", 4, 4))
    wait_placed(client, *MEMBERS)

    plane.restart("kube-apiserver")
    client.create_all(gang("h", 4, 4))

    wait_placed(client, "h-0", "h-1", "h-2", "h-3")
    assert invariants.faults(client) == []


@pytest.mark.usefixtures("four")
def test_watches_are_cut_and_go_on(client: Client, schedulers: Schedulers, proxy: Proxy) -> None:
    schedulers.start(through=proxy)

    for i in range(5):
        proxy.cut()
        client.create(pod(f"p{i}", 4))

    wait_placed(client, *(f"p{i}" for i in range(5)))
    assert invariants.faults(client) == []


def test_what_happened_while_the_watch_was_away_is_known_after_a_410(
    plane: ControlPlane, client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create_all([node("n1", 8), node("leaves", 8)])
    client.create_all([pod("first", 8), pod("stays", 8)])
    schedulers.start(through=proxy)
    placed = wait_placed(client, "first", "stays")
    gone = proxy.add(Refuse(lambda r: r.is_watch, 503))

    proxy.cut()
    until(lambda: gone.met, "the watch is away")
    client.delete("pods", "first", grace_s=0)
    client.delete("nodes", placed["stays"])
    client.create(pod("next", 8))
    client.create(pod("too-many", 8))
    plane.forget_history()
    plane.restart("kube-apiserver")
    proxy.drop(gone)

    now = wait_placed(client, "next")
    assert now["next"] == placed["first"]
    assert "too-many" not in now


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_errors_in_bursts_keep_no_gang_from_being_bound(
    client: Client, schedulers: Schedulers, proxy: Proxy, status: int
) -> None:
    schedulers.start(through=proxy)
    burst = proxy.add(Refuse(is_bind, status, times=6))

    client.create_all(gang("g", 4, 8))

    wait_placed(client, *MEMBERS)
    assert len(burst.met) == 6
    assert invariants.faults(client) == []


@pytest.mark.usefixtures("four")
def test_answers_are_lost_and_nothing_is_bound_twice(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    schedulers.start(through=proxy)
    lost = proxy.add(Lose(is_bind, times=4))

    client.create_all(gang("g", 4, 4))
    client.create_all(gang("h", 4, 4))

    wait_placed(client, *MEMBERS, "h-0", "h-1", "h-2", "h-3")
    assert len(lost.met) == 4
    assert invariants.faults(client) == []


@pytest.mark.usefixtures("four")
def test_etcd_is_paused(plane: ControlPlane, client: Client, schedulers: Schedulers) -> None:
    scheduler = schedulers.start()
    client.create_all(gang("g", 4, 4))
    wait_placed(client, *MEMBERS)
    client.create_all(gang("h", 4, 4))

    plane.pause("etcd")
    stays(lambda: scheduler.is_running, "the scheduler runs", 10)
    plane.resume("etcd")

    wait_placed(client, "h-0", "h-1", "h-2", "h-3")
    assert invariants.faults(client) == []


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_its_room(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create(node("n1", 8))
    schedulers.start(through=proxy)
    held = proxy.add(Hold(lambda r: r.is_bind and r.pod == "deleted"))
    client.create(pod("deleted", 8))
    until(lambda: held.met, "its bind is held")

    client.delete("pods", "deleted", grace_s=0)
    client.create(pod("next", 8))
    held.release()

    assert wait_placed(client, "next") == {"next": "n1"}


def test_a_pod_that_is_replaced_while_it_is_bound_is_bound_anew(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create_all([node("n1", 8), node("n2", 8, labels={"disk": "fast"})])
    schedulers.start(through=proxy)
    held = proxy.add(Hold(lambda r: r.is_bind and r.pod == "p", times=1))
    client.create(pod("p", 1, nodeSelector={"kubernetes.io/hostname": "n1"}))
    until(lambda: held.met, "its bind is held")

    client.delete("pods", "p", grace_s=0)
    client.create(pod("p", 1, nodeSelector={"disk": "fast"}))
    held.release()

    assert wait_placed(client, "p") == {"p": "n2"}


def test_a_node_is_deleted_while_a_plan_is_carried_out(
    client: Client, schedulers: Schedulers, proxy: Proxy
) -> None:
    client.create_all([node("n1", 8), node("n2", 4)])
    schedulers.start(through=proxy)
    held = proxy.add(Hold(lambda r: r.is_bind and r.pod == "first"))
    client.create(pod("first", 2))
    until(lambda: held.met, "the first bind is held, the cycle goes on")

    client.delete("nodes", "n1")
    client.create(pod("second", 8))
    client.create(node("n3", 8))
    held.release()

    assert wait_placed(client, "second")["second"] == "n3"


def kill(pid: int) -> None:
    """End the process, as the kernel does where memory is short."""
    os.kill(pid, signal.SIGKILL)


def starve(pid: int) -> None:
    """Let the process get no more memory than it has."""
    size = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (size, size))


def hit(scheduler: int, fault: Callable[[int], None]) -> int:
    """Do it to the children of the process; return to how many, as one may have just ended."""
    number = 0
    for child in children(scheduler):
        with suppress(FileNotFoundError, ProcessLookupError):
            fault(child)
            number += 1
    return number


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("fault", [kill, starve])
def test_the_solver_dies(
    client: Client, schedulers: Schedulers, fault: Callable[[int], None]
) -> None:
    # Long enough for the first cycle to wait until the solver's process is there.
    scheduler = schedulers.start("--budget", "20s")
    client.create_all(gang("g", 4, 4))
    wait_placed(client, *MEMBERS)
    until(lambda: any(c["engine"] == "exact" for c in scheduler.events("cycle")), "it solves")

    until(lambda: hit(scheduler.pid, fault), "the solver's process is there, and is hit")
    client.create_all(gang("h", 4, 4))

    wait_placed(client, "h-0", "h-1", "h-2", "h-3")
    assert invariants.faults(client) == []
