"""Queues show their state, what is in them, and what they have."""

from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.kubernetes.faults import Ledger
from apportion.adapters.kubernetes.reader import read_objects
from apportion.adapters.live.discovery import Resource
from apportion.adapters.live.group_records import GroupStatus
from apportion.adapters.live.queue_status import default_queue, queue_statuses, queue_writes
from apportion.adapters.live.write import Write
from apportion.models import Config
from apportion.solver.entry import plan
from kubernetes_objects import Data, in_group, node, pod, pod_group, queue, snapshot

API = "scheduling.volcano.sh"
AT = Resource(API, "v1beta1", "Queue", "queues", False, frozenset(("status",)))
GREEDY = Config(engine="greedy", deterministic=True)
NONE = {"pending": 0, "inqueue": 0, "running": 0, "unknown": 0, "completed": 0}


def writes(*objects: Data, **changing: GroupStatus) -> list[Write]:
    documents = [Document("test", i, o) for i, o in enumerate(objects)]
    read = read_objects(documents, ReadOptions(), Ledger())
    queues, groups = read.of(API, "Queue"), read.of(API, "PodGroup")
    world = snapshot(*objects)
    statuses = {f"default/{name}": s for name, s in changing.items()}
    found = queue_statuses(queues, groups, statuses, plan(world, GREEDY))
    return queue_writes(queues, found, AT)


def status(*objects: Data, **changing: GroupStatus) -> Any:
    (write,) = writes(*objects, **changing)
    return write.body["status"]


def in_q(name: str, phase: str) -> Data:
    return pod_group(name, queue="q", status={"phase": phase})


@pytest.mark.parametrize(
    ("spec", "there", "groups", "want"),
    [
        pytest.param("", "", [], "Open", id="nothing is said"),
        pytest.param("", "Unknown", [], "Open", id="unknown"),
        pytest.param("Closed", "", [], "Closed", id="closed in its spec"),
        pytest.param("", "Closed", ["Running"], "Closing", id="a group is left"),
        pytest.param("", "Closing", ["Completed"], "Closed", id="the last group is done"),
        pytest.param("Closed", "Open", [], "Open", id="the status comes before the spec"),
    ],
)
def test_state(spec: str, there: str, groups: list[str], want: str) -> None:
    declared = queue("q", status={"state": there}, **({"state": spec} if spec else {}))
    members = [in_q(f"g{i}", phase) for i, phase in enumerate(groups)]
    told = writes(declared, *members)

    assert [w.body["status"]["state"] for w in told] == ([want] if told else [])
    assert bool(told) or there == want


def test_groups_are_counted_by_phase_those_that_change_by_the_new_one() -> None:
    phases = ("Pending", "Inqueue", "Running", "Running", "Unknown", "Completed", "")
    members = [in_q(f"g{i}", phase) for i, phase in enumerate(phases)]

    found = status(queue("q"), *members, g0=GroupStatus("Inqueue"))

    assert {k: found[k] for k in NONE} == {
        "pending": 1, "inqueue": 2, "running": 2, "unknown": 1, "completed": 1,
    }  # fmt: skip


def test_what_is_allocated_counts_for_the_queues_above_as_well() -> None:
    asked = {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    world = [
        node("n"),
        queue("top", status={"state": "Open", "allocated": {"example.com/old": "1"}}),
        queue("q", parent="top"),
        in_q("g", "Running"),
        pod("p", asked, annotations=in_group("g"), nodeName="n"),
    ]

    top, low = (w.body["status"]["allocated"] for w in writes(*world))

    want = {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert low == want
    assert top == {**want, "example.com/old": None}


def test_a_status_is_written_once() -> None:
    world = [node("n"), in_q("g", "Running"), pod("p", annotations=in_group("g"), nodeName="n")]
    (write,) = writes(queue("q"), *world)

    assert (write.method, write.path, write.about) == (
        "PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/q/status", "Queue q",
    )  # fmt: skip
    assert writes(queue("q", status=dict(write.body["status"])), *world) == []


def test_the_default_queue_is_created_where_it_is_missing() -> None:
    write = default_queue({"other"}, AT)

    assert write is not None
    assert (write.method, write.path) == ("POST", "/apis/scheduling.volcano.sh/v1beta1/queues")
    assert write.body == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 1, "reclaimable": True},
    }
    assert default_queue({"default"}, AT) is None
