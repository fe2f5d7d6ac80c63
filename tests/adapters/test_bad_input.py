"""A bad object is refused with its path and what to do; the rest goes on, nothing is lost."""

from typing import Any

import pytest

from apportion.adapters.files import documents_of
from apportion.adapters.kubernetes import ReadOptions, snapshot_from
from kubernetes_objects import container, node, obj, pod, pod_group, priority_class, queue, snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def changed(data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**data, **fields}


@pytest.mark.parametrize(
    ("bad", "path", "says"),
    [
        pytest.param(
            pod("p", {"cpu": "1GiB"}),
            "spec.containers[0].resources.requests.cpu",
            "Gi",
            id="suffix",
        ),
        pytest.param(
            pod("p", {"nvidia.com/gpu": "-1"}),
            'spec.containers[0].resources.requests["nvidia.com/gpu"]',
            "negative",
            id="negative",
        ),
        pytest.param(
            pod("p", {"cpu": True}), "spec.containers[0].resources.requests.cpu", "true", id="bool"
        ),
        pytest.param(
            pod("p", labels={"version": 1.1}), "metadata.labels.version", "quotes", id="a number"
        ),
        pytest.param(
            pod("p", labels={"a": "b", "example.com/on": True}),
            'metadata.labels["example.com/on"]',
            "YAML reads",
            id="a bare on",
        ),
        pytest.param(
            pod("p", annotations={"a": {}}), "metadata.annotations.a", "text", id="a mapping"
        ),
        pytest.param(
            pod("p", nodeSelector={"a": 1}), "spec.nodeSelector.a", "quotes", id="selector"
        ),
        pytest.param(pod("p", priority="high"), "spec.priority", "whole number", id="priority"),
        pytest.param(pod("p", priority=1 << 40), "spec.priority", "2147483647", id="too large"),
        pytest.param(pod("p", containers=[]), "spec.containers", "at least one", id="empty"),
        pytest.param(pod("p", containers={}), "spec.containers", "a list", id="no list"),
        pytest.param(
            pod("p", containers=[container({"cpu": 1}), 7]), "spec.containers[1]", "a mapping",
            id="an entry that is none",
        ),
        pytest.param(pod("p", status={"phase": "Dreaming"}), "status.phase", "Running", id="phase"),
        pytest.param(
            pod("p", status={"phase": "Running"}), "spec.nodeName", "missing", id="no node"
        ),
        pytest.param(
            pod("p", meta={"creationTimestamp": "yesterday"}),
            "metadata.creationTimestamp",
            "2026-01-05T09:00:00Z",
            id="timestamp",
        ),
        pytest.param(
            pod("p", tolerations=[{"key": "a", "operator": "Is"}]),
            "spec.tolerations[0].operator",
            "Exists",
            id="toleration",
        ),
        pytest.param(
            pod("p", affinity={"podAffinity": {REQUIRED: [{"labelSelector": {}}]}}),
            f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey",
            "missing",
            id="no topology key",
        ),
        pytest.param(
            pod("p", topologySpreadConstraints=[{"topologyKey": "z", "maxSkew": 0}]),
            "spec.topologySpreadConstraints[0].maxSkew",
            "at least 1",
            id="skew",
        ),
        pytest.param(
            changed(pod("p"), metadata={"generateName": "p-"}), "metadata.name", "generateName",
            id="a name to be made up",
        ),
        pytest.param(changed(pod("p"), metadata=None), "metadata.name", "missing", id="no name"),
        pytest.param(changed(pod("p"), metadata=[1]), "metadata", "a mapping", id="no head"),
        pytest.param(changed(pod("p"), spec="x"), "spec", "a mapping", id="no spec"),
        pytest.param(pod("a/b"), "metadata.name", "no name", id="a slash in the name"),
        pytest.param(pod("p", namespace="a b"), "metadata.namespace", "no name", id="namespace"),
        pytest.param(changed(pod("p"), apiVersion=None), "apiVersion", "v1", id="no version"),
        pytest.param(changed(pod("p"), kind=None), "kind", "missing", id="no kind"),
        pytest.param(changed(pod("p"), kind=["Pod"]), "kind", "no text", id="kind is a list"),
        pytest.param(["a", "list"], "", "no object", id="no object at all"),
        pytest.param(node("n", cpu="many"), "status.allocatable.cpu", "many", id="node"),
        pytest.param(
            changed(node("n"), spec={"taints": [{"key": "a", "effect": "Never"}]}),
            "spec.taints[0].effect",
            "NoSchedule",
            id="taint",
        ),
        pytest.param(pod_group("g", minMember="3"), "spec.minMember", "whole number", id="group"),
        pytest.param(
            pod_group("g", minMember=-3), "spec.minMember", "must be at least 0, got -3", id="few"
        ),
        pytest.param(
            pod_group("g", minTaskMember={"a": 1, "b": "2"}), "spec.minTaskMember.b",
            "whole number", id="role",
        ),
        pytest.param(
            pod_group("g", minResources={"cpu": "x"}), "spec.minResources.cpu", "x", id="resources"
        ),
        pytest.param(queue("q", weight=-1), "spec.weight", "0", id="weight"),
        pytest.param(queue("q", weight=1.5), "spec.weight", "whole number", id="half a weight"),
        pytest.param(queue("q", deserved={"cpu": "-1"}), "spec.deserved.cpu", "negative", id="due"),
        pytest.param(
            queue("q", capability={"nvidia.com/gpu": "-1"}), 'spec.capability["nvidia.com/gpu"]',
            "negative", id="limit",
        ),
        pytest.param(queue("q", state="Ajar"), "spec.state", "Open", id="state"),
        pytest.param(priority_class("c", 1 << 33), "value", "2147483647", id="class"),
        pytest.param(
            obj("policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": "half"}),
            "spec.minAvailable", "percentage", id="budget",
        ),
        pytest.param(
            obj("policy/v1", "PodDisruptionBudget", "b",
                spec={"minAvailable": 1, "maxUnavailable": 1}),
            "spec", "exclude each other", id="both sides of a budget",
        ),
        pytest.param(
            obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": "x"}}), "spec.hard.pods", "x",
            id="quota",
        ),
        pytest.param(
            obj("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "q", spec={"min": {"cpu": []}}),
            "spec.min.cpu", "quantity", id="elastic quota",
        ),
    ],
)  # fmt: skip
def test_a_bad_object_is_rejected_and_the_rest_is_kept(bad: Any, path: str, says: str) -> None:
    world = snapshot(pod("before"), bad, node("kept"))

    (rejected,) = world.rejected
    assert rejected.path == path
    assert says in rejected.message
    assert rejected.object
    assert [p.name for p in world.pods] == ["before"]
    assert [n.name for n in world.nodes] == ["kept"]


def test_all_faults_of_an_object_are_found_at_once() -> None:
    bad = pod(
        "p",
        labels={"a": 1, "b": 2.5, "c": "fine"},
        containers=[container({"cpu": "x", "memory": "1 Gi"}), container({"cpu": []})],
        priority="high",
        tolerations=[{"effect": 5}],
    )

    rejected = snapshot(bad, queue("q", weight="a", deserved={"cpu": "b"}, parent=3)).rejected

    assert [(r.object, r.path) for r in rejected] == [
        ("Pod default/p", "metadata.labels.a"),
        ("Pod default/p", "metadata.labels.b"),
        ("Pod default/p", "spec.containers[1].resources.requests.cpu"),
        ("Pod default/p", "spec.priority"),
        ("Pod default/p", "spec.tolerations[0].effect"),
        ("Queue q", "spec.deserved.cpu"),
        ("Queue q", "spec.parent"),
        ("Queue q", "spec.weight"),
    ]


def test_the_second_of_two_different_objects_of_one_name_is_rejected() -> None:
    world = snapshot(pod("p", {"cpu": 1}), node(), pod("p", {"cpu": 2}), pod("p", {"cpu": 1}))

    (rejected,) = world.rejected
    assert (rejected.object, rejected.path) == ("Pod default/p", "metadata.name")
    assert "test, object 3 has other content than test, object 1" in rejected.message
    assert dict(world.pods[0].spec.requests) == {"cpu": 1000}


def test_nulls_are_fine_wherever_kubernetes_prints_them() -> None:
    text = b"""
apiVersion: v1
kind: Pod
metadata:
  {name: p, creationTimestamp: null, labels: null, annotations: {a: null}, ownerReferences: null}
spec:
  schedulerName: apportion
  affinity: null
  nodeName: null
  containers: [{name: c, resources: null, ports: null}]
  tolerations: null
status: null
"""

    world = snapshot_from(documents_of(text, "f"), ReadOptions())

    assert (world.rejected, [p.name for p in world.pods]) == ((), ["p"])


def test_a_key_written_twice_is_rejected_with_its_path() -> None:
    text = b"apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n  labels: {a: b, a: c}\n"

    world = snapshot_from(documents_of(text, "f"), ReadOptions())

    assert [(r.object, r.path) for r in world.rejected] == [("Node n", "metadata.labels.a")]


def test_json_says_the_same_as_yaml() -> None:
    import json

    objects = [pod("p", {"cpu": "1"}), pod("q", labels={"a": 1}), node()]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}).encode()

    lazily = snapshot_from(documents_of(text, "test"), ReadOptions())

    assert lazily == snapshot(*objects)


def test_a_topology_label_that_no_node_has_is_told() -> None:
    world = snapshot(pod("p"), node(), topology_labels=("rak", "kubernetes.io/hostname"))

    [said] = world.warnings
    assert (said.object, said.path) == ("Nodes", "metadata.labels")
    assert said.message.startswith("no node has the label rak of --topology-labels")


def test_a_name_that_an_api_server_refuses_is_taken_with_a_warning() -> None:
    world = snapshot(queue("Team_A"))

    assert [(w.object, w.path) for w in world.warnings] == [("Queue Team_A", "metadata.name")]
