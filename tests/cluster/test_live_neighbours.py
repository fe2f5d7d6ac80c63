"""The live scheduler beside others, and as the only one."""

from collections import Counter

import pytest

from cluster import invariants
from cluster.client import Client, Data
from cluster.looking import nodes_of, wait_placed
from cluster.objects import gang, node, pod
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "volcano")


@pytest.mark.usefixtures("neighbour", "four")
def test_what_kube_scheduler_has_placed_is_counted(client: Client, schedulers: Schedulers) -> None:
    schedulers.start()
    theirs = [pod(f"t{i}", 1, scheduler="default-scheduler") for i in range(20)]
    client.create_all(theirs)
    wait_placed(client, *(f"t{i}" for i in range(20)))

    client.create_all(pod(f"o{i}", 1) for i in range(20))
    until(lambda: len(nodes_of(client)) == 32, "the nodes are full")
    client.delete("pods", "t0")
    until(lambda: sum(name.startswith("o") for name in nodes_of(client)) == 13, "one more runs")

    assert invariants.faults(client) == []


@pytest.mark.usefixtures("neighbour")
def test_kube_scheduler_fills_a_node_on_which_a_gang_was_to_start(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all(node(f"n{i}", 8) for i in range(2))
    client.create_all(pod(f"t{i}", 8, scheduler="default-scheduler") for i in range(2))
    wait_placed(client, "t0", "t1")
    schedulers.start()

    client.create_all([*gang("g", 2, 8), pod("t2", 8, scheduler="default-scheduler")])
    client.delete("pods", "t0")
    until(lambda: "t2" in nodes_of(client), "kube-scheduler was there first")
    client.delete("pods", "t1")
    client.create(node("n2", 8))

    wait_placed(client, "g-0", "g-1")
    assert invariants.faults(client) == []


def test_two_shards_are_planned_apart(client: Client, schedulers: Schedulers) -> None:
    client.create_all(node(f"a{i}", 8, labels={"pool": "a"}) for i in range(2))
    client.create_all(node(f"b{i}", 8, labels={"pool": "b"}) for i in range(2))
    for pool in ("a", "b"):
        schedulers.start("--shard", f"pool={pool}", "--scheduler-name", f"apportion-{pool}")

    pools = ("a", "b")
    client.create_all(t for p in pools for t in gang(f"g{p}", 2, 6, scheduler=f"apportion-{p}"))
    wait_placed(client, "ga-0", "ga-1", "gb-0", "gb-1")
    client.create_all(
        pod(f"s{p}{i}", 1, scheduler=f"apportion-{p}") for p in pools for i in range(6)
    )

    until(lambda: len(nodes_of(client)) == 12, "both shards are full")
    placed = nodes_of(client)
    assert all(placed[name][0] == name[1] for name in placed)
    assert set(Counter(placed.values()).values()) == {3}
    assert invariants.faults(client) == []


def test_two_schedulers_of_other_names_leave_each_others_pods_alone(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all(node(f"n{i}", 8) for i in range(2))
    schedulers.start("--scheduler-name", "one")

    client.create_all([pod("mine", 4, scheduler="one"), pod("yours", 4, scheduler="two")])
    wait_placed(client, "mine")
    assert nodes_of(client).keys() == {"mine"}
    schedulers.start("--scheduler-name", "two")

    wait_placed(client, "yours")


@pytest.mark.usefixtures("four")
def test_as_the_only_scheduler_it_starts_what_a_cluster_needs(
    client: Client, schedulers: Schedulers
) -> None:
    tainted = node("n4", 0, taints=[{"key": "node-role.kubernetes.io/control-plane",
                                     "effect": "NoSchedule"}])  # fmt: skip
    client.create(tainted)
    schedulers.start("--scheduler-name", "default-scheduler")

    client.create(daemon_set("agent"))
    critical = pod("dns", namespace="kube-system", scheduler="default-scheduler",
                   priorityClassName="system-cluster-critical")  # fmt: skip
    client.create_all([critical, pod("work", 8, scheduler="default-scheduler")])

    wait_placed(client, "dns", "work")
    until(lambda: len(agents(client)) == 5, "every node has its agent")
    assert {p["spec"]["nodeName"] for p in agents(client)} == {f"n{i}" for i in range(5)}


def agents(client: Client) -> list[Data]:
    """Return the pods of the DaemonSet that have a node."""
    pods = client.find_all("pods", "kube-system", labelSelector="app=agent")
    return [p for p in pods if p["spec"].get("nodeName")]


def daemon_set(name: str) -> Data:
    """Return a DaemonSet of the system that tolerates everything."""
    labels = {"app": name}
    one = pod("any", scheduler="default-scheduler", tolerations=[{"operator": "Exists"}],
              priorityClassName="system-node-critical")  # fmt: skip
    template = {"metadata": {"labels": labels}, "spec": one["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
