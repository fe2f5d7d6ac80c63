"""The feed on a real API server: what it has is what is there, whatever happens on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apportion.adapters.live.feed import Pace
from cluster.between import Proxy
from cluster.client import Client
from cluster.following import Following
from cluster.manifests import apply_all
from cluster.objects import definition, gang, node, pod, queue
from cluster.plane import ControlPlane
from cluster.rules import Refuse
from cluster.waiting import until

POD, NODE = ("", "Pod"), ("", "Node")
QUEUE = ("scheduling.volcano.sh", "Queue")


@pytest.fixture
def through(
    plane: ControlPlane, proxy: Proxy, client: Client, tmp_path: Path
) -> Iterator[Following]:
    """A feed that reaches the server by way of the proxy; three pods are there."""
    del plane
    client.create_all([node("n1"), *(pod(f"p{i}") for i in range(3))])
    with Following(proxy.access, tmp_path) as following:
        yield following


def is_as_the_server_says(following: Following, client: Client) -> bool:
    there = {p["metadata"]["name"] for p in client.find_all("pods")}
    return following.names(POD) == there


def test_a_long_list_and_what_happens_after_it(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    client.create_all([node("n1"), *(pod(f"p{i:02}") for i in range(45))])

    with Following(plane.admin, tmp_path, Pace(page=10, discover_s=0.2)) as following:
        assert is_as_the_server_says(following, client)
        client.bind("p00", "n1")
        client.create(pod("late"))
        client.delete("pods", "p01")

        until(lambda: is_as_the_server_says(following, client), "pods came and went")
        until(lambda: placed(following) == {"p00": "n1"}, "the pod is placed")
        kept, fresh = following.both(1)
        assert kept == fresh
        assert following.feed.relists == 0


def placed(following: Following) -> dict[str, str]:
    return {p.name: p.node for p in following.snapshot().pods if p.node is not None}


def test_a_server_that_was_killed_is_followed_again(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    client.create_all([node("n1"), pod("a"), pod("b")])

    with Following(plane.admin, tmp_path) as following:
        plane.kill("kube-apiserver")
        until(lambda: following.ask(lambda: POD in following.feed.troubles), "it is noticed")
        plane.restart("kube-apiserver")
        client.create(pod("c"))
        client.delete("pods", "a")

        until(lambda: is_as_the_server_says(following, client), "it goes on")
        until(lambda: not following.ask(lambda: following.feed.troubles), "all is well")


def test_a_watch_that_is_cut_again_and_again_misses_nothing(
    through: Following, proxy: Proxy, client: Client
) -> None:
    for i in range(10):
        proxy.cut()
        client.create(pod(f"more{i}"))
        if i < 3:
            client.delete("pods", f"p{i}")

    until(lambda: is_as_the_server_says(through, client), "nothing is missed")


def test_what_was_deleted_before_history_was_forgotten_is_gone(
    plane: ControlPlane, through: Following, proxy: Proxy, client: Client
) -> None:
    away = proxy.add(Refuse(lambda request: True, 503))
    proxy.cut()
    client.delete("pods", "p0")
    client.create(pod("p9"))
    plane.forget_history()
    plane.restart("kube-apiserver")
    proxy.drop(away)

    until(lambda: is_as_the_server_says(through, client), "the lists are read again")
    assert through.names(POD) == {"p1", "p2", "p9"}
    assert through.feed.relists >= 1


@pytest.mark.usefixtures("without_volcano")
def test_a_definition_that_comes_later_is_read_and_one_that_goes_is_forgotten(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    client.create(node("n1"))
    with Following(plane.admin, tmp_path) as following:
        assert QUEUE not in following.feed.resources
        kind = definition("scheduling.volcano.sh", "Queue", namespaced=False)
        apply_all(client, [kind])
        client.create({**queue("research"), "apiVersion": "scheduling.volcano.sh/v1"})

        until(lambda: following.names(QUEUE) == {"research"}, "the queue is read")
        client.delete("customresourcedefinitions", kind["metadata"]["name"])
        until(lambda: following.names(QUEUE) == set(), "the queue is forgotten")


@pytest.mark.usefixtures("kwok", "volcano")
def test_pods_that_run_and_go_are_followed(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    client.create(node("n1", 8))
    with Following(plane.admin, tmp_path) as following:
        client.create_all(gang("g", 3, 1))
        for i in range(3):
            client.bind(f"g-{i}", "n1")
        until(lambda: set(placed(following)) == {"g-0", "g-1", "g-2"}, "the gang runs")
        client.delete("pods", "g-0")

        until(lambda: following.names(POD) == {"g-1", "g-2"}, "the pod is gone")
        [group] = following.snapshot().groups
        assert (group.name, group.minimum) == ("g", 3)
        kept, fresh = following.both(1)
        assert kept == fresh
