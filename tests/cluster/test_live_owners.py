"""Gangs that no group object declares, made by real controllers."""

from typing import Any

import pytest

from cluster.client import Client
from cluster.objects import node, pod
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "controllers")


def workload(api: str, kind: str, minimum: int = 0, **spec: Any) -> dict[str, Any]:
    """Return a workload of pods that ask for a GPU each, perhaps annotated."""
    template = pod("", 1)
    labels = {"app": "w"}
    meta: dict[str, Any] = {"name": "w", "namespace": "default"}
    if minimum:
        meta["annotations"] = {"scheduling.volcano.sh/group-min-member": str(minimum)}
    if api == "apps/v1":
        spec["selector"] = {"matchLabels": labels}
    else:
        template["spec"]["restartPolicy"] = "Never"
    of_pods = {"metadata": {"labels": labels}, "spec": template["spec"]}
    return {
        "apiVersion": api, "kind": kind, "metadata": meta, "spec": {**spec, "template": of_pods}
    }  # fmt: skip


def placed(client: Client) -> list[bool]:
    """Return for each pod of the workload whether it has a node."""
    pods = client.find_all("pods", labelSelector="app=w")
    return [bool(p["spec"].get("nodeName")) for p in pods]


FIXED: dict[str, Any] = {"completionMode": "Indexed", "parallelism": 3, "completions": 3}
PARALLEL: dict[str, Any] = {"replicas": 3, "serviceName": "w", "podManagementPolicy": "Parallel"}


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(workload("batch/v1", "Job", **FIXED), id="an indexed Job"),
        pytest.param(workload("apps/v1", "Deployment", 3, replicas=3), id="annotated Deployment"),
        pytest.param(workload("apps/v1", "StatefulSet", 3, **PARALLEL), id="annotated StatefulSet"),
    ],
)
def test_pods_that_need_each_other_start_together(
    client: Client, schedulers: Schedulers, owner: dict[str, Any]
) -> None:
    client.create(node("n1", 2))
    one = schedulers.start()
    client.create(owner)
    until(lambda: placed(client) == [False] * 3, "there are three pods")
    until(
        lambda: any(c["pods"] == 3 and c["held"] for c in one.events("cycle")), "all three are held"
    )
    assert placed(client) == [False] * 3

    client.create(node("n2", 2))

    until(lambda: placed(client) == [True] * 3, "all three have nodes")


def test_a_stateful_set_that_creates_pod_after_pod_does_not_wait_for_itself(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    schedulers.start()

    client.create(workload("apps/v1", "StatefulSet", 3, replicas=3, serviceName="w"))

    until(lambda: placed(client) == [True] * 3, "all three have nodes")


def test_a_roll_out_of_an_annotated_deployment_comes_to_its_end(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    schedulers.start()
    client.create(workload("apps/v1", "Deployment", 3, replicas=3))
    until(lambda: placed(client) == [True] * 3, "the first three have nodes")
    old = {p["metadata"]["name"] for p in client.find_all("pods", labelSelector="app=w")}

    changed = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
    client.patch("deployments", "w", changed, "default")

    def is_rolled_out() -> bool:
        names = {p["metadata"]["name"] for p in client.find_all("pods", labelSelector="app=w")}
        return placed(client) == [True] * 3 and not names & old

    until(is_rolled_out, "three new pods have taken the place of the old ones")


def test_a_daemon_set_has_a_pod_on_each_node_that_takes_one(
    client: Client, schedulers: Schedulers
) -> None:
    taints = [{"key": "reserved", "effect": "NoSchedule"}]
    client.create_all(
        [node("n1", 1), node("n2", 1, unschedulable=True), node("n3", 1, taints=taints)]
    )
    schedulers.start()

    client.create(workload("apps/v1", "DaemonSet"))

    until(lambda: nodes_of_daemons(client) == ["n1", "n2"], "the cordoned node has a pod, too")
    client.create(node("n4", 1))
    until(lambda: nodes_of_daemons(client) == ["n1", "n2", "n4"], "so has a node that comes later")


def nodes_of_daemons(client: Client) -> list[str]:
    """Return where the pods of the workload are; "" for one without a node."""
    pods = client.find_all("pods", labelSelector="app=w")
    return sorted(p["spec"].get("nodeName", "") for p in pods)
