"""What the scheduler writes for people changes no plan; everything else may."""

import json
from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.kubernetes.faults import Ledger
from apportion.adapters.kubernetes.meta import Thing
from apportion.adapters.kubernetes.reader import read_objects
from apportion.adapters.live.hearsay import is_hearsay
from kubernetes_objects import Data, node, pod, pod_group, queue


def read(one: Data) -> Thing:
    document = Document("test", 0, json.loads(json.dumps(one)))
    objects = read_objects([document], ReadOptions(), Ledger())
    (thing,) = objects.of(one["apiVersion"].rpartition("/")[0], one["kind"])
    return thing


def told(*conditions: tuple[str, str], **status: Any) -> Data:
    written = [{"type": t, "status": s, "reason": "x"} for t, s in conditions]
    return pod("p", status={"conditions": written, **status})


def group(phase: str, **status: Any) -> Data:
    return pod_group("g", minMember=2, status={"phase": phase, **status})


SAID: Any = {"conditions": [{"type": "Unschedulable", "status": "True"}], "failed": 1}


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(pod("p"), told(("PodScheduled", "False")), True, id="its first condition"),
        pytest.param(told(), told(("PodScheduled", "False")), True, id="why a pod waits"),
        pytest.param(told(), told(("PodScheduled", "True")), False, id="a pod is bound"),
        pytest.param(
            told(("Ready", "True")), told(("Ready", "False")), False, id="a pod is not ready"
        ),
        pytest.param(told(), told(nominatedNodeName="n"), False, id="a promise"),
        pytest.param(pod("p"), pod("p", priority=1), False, id="the spec of a pod"),
        pytest.param(pod("p"), pod("p", labels={"a": "b"}), False, id="a label"),
        pytest.param(group("Pending"), group("Pending", **SAID), True, id="why a group waits"),
        pytest.param(pod_group("g", minMember=2), group("Pending"), True, id="its first phase"),
        pytest.param(group("Pending"), group("Inqueue"), False, id="the phase of a group"),
        pytest.param(
            queue("q", status={"state": "Open"}),
            queue("q", status={"state": "Open", "running": 1, "allocated": {"cpu": "1"}}),
            True, id="what a queue has",
        ),
        pytest.param(
            queue("q", status={"state": "Open"}), queue("q", status={"state": "Closed"}), False,
            id="the state of a queue",
        ),
        pytest.param(queue("q"), queue("q", weight=2), False, id="the spec of a queue"),
        pytest.param(node("n"), node("n", cpu="1"), False, id="a node"),
    ],
)  # fmt: skip
def test_a_change(old: Data, new: Data, want: bool) -> None:
    assert is_hearsay(read(old), read(new)) is want
