"""Conditions, events and statuses of a live scheduler, as the API server keeps them."""

from functools import partial
from typing import Any

import pytest
import yaml

from apportion.adapters.crds import definition
from cluster.client import Client
from cluster.looking import events_about, wait_placed
from cluster.manifests import apply_all
from cluster.objects import gang, node, pod, priority_class, queue
from cluster.scheduler import Schedulers
from cluster.waiting import until

GROUP, QUEUE = "PodGroup.scheduling.volcano.sh", "Queue.scheduling.volcano.sh"
UNADVISED = ("--advise", "0")
"""Where it matters what is told and how often: what would start a group is told later."""
pytestmark = pytest.mark.usefixtures("kwok", "volcano")


def condition(client: Client, name: str) -> dict[str, Any]:
    """Return the condition PodScheduled of a pod; {} where it has none."""
    conditions = client.read("pods", name).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


def reasons(client: Client, kind: str, name: str) -> list[str]:
    """Return the reasons of the events about an object."""
    return [e["reason"] for e in events_about(client, kind, name)]


def group_status(client: Client, name: str) -> dict[str, Any]:
    status: dict[str, Any] = client.read(GROUP, name).get("status", {})
    return status


def test_a_gang_that_waits_and_then_runs(client: Client, schedulers: Schedulers) -> None:
    client.create_all([node("n1", 2), *gang("g", 3, 1)])
    schedulers.start(*UNADVISED)

    for i in range(3):
        waits = until(partial(condition, client, f"g-{i}"), f"g-{i} is told why it waits")
        assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")
        assert "2 of 3 members would fit" in waits["message"]
    before = until(lambda: group_status(client, "g"), "the group has a status")
    assert before["phase"] == "Inqueue"
    assert before["conditions"][0]["reason"] == "NotEnoughResources"
    told = until(lambda: reasons(client, "PodGroup", "g"), "an event tells why it waits")
    assert told == ["FailedScheduling"]

    client.create(node("n2", 2))
    until(lambda: group_status(client, "g").get("phase") == "Running", "the group runs")
    until(lambda: "Scheduled" in reasons(client, "PodGroup", "g"), "it is told")
    until(lambda: group_status(client, "g")["running"] == 3, "all three are counted")
    assert condition(client, "g-0")["status"] == "True"


def test_at_the_limit_of_a_queue_no_node_is_asked_for(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1", 8))
    client.create(queue("small", capability={"nvidia.com/gpu": "2"}))
    schedulers.start()
    client.create_all(gang("in", 2, 1, queue="small"))
    wait_placed(client, "in-0", "in-1")
    client.create_all(gang("out", 2, 1, queue="small"))

    until(lambda: condition(client, "out-0").get("reason") == "QueueLimit", "it is told why")
    assert condition(client, "out-0")["status"] == "False"
    until(lambda: counts(client, "small") == (1, 1), "the queue counts its groups")
    allocated = client.read(QUEUE, "small")["status"]["allocated"]
    assert allocated["nvidia.com/gpu"] == "2"


def counts(client: Client, queue: str) -> tuple[int, int]:
    """Return how many groups of a queue run and wait."""
    status = client.read(QUEUE, queue).get("status", {})
    return status.get("running", 0), status.get("inqueue", 0)


def test_the_default_queue_is_made_and_open(client: Client, schedulers: Schedulers) -> None:
    client.create(node("n1"))
    schedulers.start()
    client.create(pod("p"))

    until(lambda: client.find(QUEUE, "default"), "there is a queue default")
    status = until(lambda: client.read(QUEUE, "default").get("status"), "it has a status")
    assert status["state"] == "Open"


def empty(name: str) -> dict[str, Any]:
    """Return a group that asks to be let in before it has pods; nobody owns it."""
    (group, *_) = gang(name, 1, 1)
    group["spec"]["minResources"] = {"nvidia.com/gpu": "1"}
    return group


def test_a_group_of_nobody_is_let_in_by_who_stands_for_volcano(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all([node("n1"), empty("early")])
    schedulers.start("--scheduler-name", "volcano")

    until(lambda: group_status(client, "early").get("phase") == "Inqueue", "it is let in")


def test_a_group_of_nobody_is_left_to_volcano(client: Client, schedulers: Schedulers) -> None:
    client.create_all([node("n1"), empty("early")])
    schedulers.start()
    client.create_all(gang("g", 1, 1))

    until(lambda: group_status(client, "g").get("phase") == "Running", "a group of ours runs")

    assert group_status(client, "early") == {}


def owned(client: Client, name: str, scheduler: str) -> dict[str, Any]:
    """Create a Job of Volcano; return its group, as Volcano's controller makes it."""
    task = {"name": "t", "replicas": 1, "template": {"spec": pod("", 1)["spec"]}}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": scheduler, "minAvailable": 1, "tasks": [task]},
    }
    uid = client.create(job)["metadata"]["uid"]
    group = empty(name)
    reference = {"apiVersion": job["apiVersion"], "kind": "Job", "name": name, "uid": uid}
    group["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    return group


def test_a_group_of_a_job_is_let_in_by_the_scheduler_that_the_job_names(
    client: Client, schedulers: Schedulers
) -> None:
    apply_all(client, [yaml.safe_load(definition("job"))])
    client.create_all([node("n1"), owned(client, "theirs", "volcano")])
    client.create(owned(client, "ours", "apportion"))
    schedulers.start()

    until(lambda: group_status(client, "ours").get("phase") == "Inqueue", "it is let in")

    assert group_status(client, "theirs") == {}


def test_who_had_to_leave_is_told_for_whom(client: Client, schedulers: Schedulers) -> None:
    client.create_all([node("n1", 2), priority_class("high", 1000)])
    schedulers.start()
    client.create_all(gang("low", 2, 1))
    until(lambda: group_status(client, "low").get("phase") == "Running", "the first group runs")

    client.create_all(gang("high", 2, 1, priority="high"))
    until(lambda: group_status(client, "high").get("phase") == "Running", "the better one runs")
    until(lambda: "Preempted" in reasons(client, "PodGroup", "low"), "the first one is told")

    told = events_about(client, "PodGroup", "low")
    (note,) = [e["note"] for e in told if e["reason"] == "Preempted"]
    assert note.startswith("evicted 2 pods from n1 ×2, for default/high: makes room for higher")


def test_nothing_is_written_again_while_nothing_changes(
    client: Client, schedulers: Schedulers
) -> None:
    client.create_all([node("n1", 2), *gang("g", 3, 1)])
    one = schedulers.start(*UNADVISED)
    for i in range(3):
        until(partial(condition, client, f"g-{i}"), f"g-{i} is told why it waits")
    until(lambda: reasons(client, "PodGroup", "g"), "an event is there")
    cycles = len(one.wait_for("cycle"))
    version = client.read("pods", "g-0")["metadata"]["resourceVersion"]

    client.create(pod("other"))
    one.wait_for("cycle", cycles + 2)

    assert client.read("pods", "g-0")["metadata"]["resourceVersion"] == version
    assert reasons(client, "PodGroup", "g") == ["FailedScheduling"]
