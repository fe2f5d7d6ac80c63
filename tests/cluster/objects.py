"""Builders of objects that a real API server accepts, and that kwok plays."""

from collections.abc import Mapping
from typing import Any

from cluster.commands import NODE_ANNOTATION

Data = dict[str, Any]

ZONE, BLOCK, RACK = (
    "topology.kubernetes.io/zone",
    "topology.apportion.dev/block",
    "topology.apportion.dev/rack",
)
"""Labels of pretend nodes, the widest level first."""

PREFIX = "tests.apportion.dev/"
"""Of the annotations by which stages.yaml times a pod."""


def node(
    name: str,
    gpus: int = 8,
    *,
    cpu: str = "64",
    memory: str = "512Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Data:
    """Return a node that kwok plays: ready at once. Further arguments are fields of its spec."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "1Ti"}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    usual = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**usual, **(labels or {})},
            "annotations": {NODE_ANNOTATION: "fake"},
        },
        "spec": spec,
        "status": {"capacity": room, "allocatable": room},
    }


def placed_node(number: int, gpus: int = 8, *, in_rack: int = 4, in_block: int = 16) -> Data:
    """Return node gpu-0, gpu-1, ...: so many in a rack, so many in a block, 64 in a zone."""
    labels = {
        ZONE: f"zone-{number // 64}",
        BLOCK: f"block-{number // in_block}",
        RACK: f"rack-{number // in_rack}",
    }
    return node(f"gpu-{number}", gpus, labels=labels)


def pod(
    name: str,
    gpus: int = 0,
    *,
    namespace: str = "default",
    scheduler: str = "apportion",
    cpu: str = "100m",
    memory: str = "128Mi",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    times: Mapping[str, str] | None = None,
    **spec: Any,
) -> Data:
    """Return a pod. `times`: how kwok plays it, as {"ready-after": "1s", "runs": "3s"}."""
    requests = {"cpu": cpu, "memory": memory}
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    played = {PREFIX + key: value for key, value in (times or {}).items()}
    main = {
        "name": "main",
        "image": "example.com/work",
        "resources": {"requests": {**requests, **limits}, "limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": {**played, **(annotations or {})},
        },
        "spec": {"schedulerName": scheduler, "containers": [main], **spec},
    }


def gang(
    name: str,
    size: int,
    gpus: int = 1,
    *,
    minimum: int | None = None,
    queue: str = "default",
    priority: str = "",
    namespace: str = "default",
    **pod_fields: Any,
) -> list[Data]:
    """Return a PodGroup of Volcano and its pods, NAME-0 and so on; all are needed, or a minimum."""
    spec: Data = {"minMember": size if minimum is None else minimum, "queue": queue}
    if priority:
        spec["priorityClassName"] = pod_fields["priorityClassName"] = priority
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    mark = {"scheduling.k8s.io/group-name": name, **pod_fields.pop("annotations", {})}
    pods = (
        pod(f"{name}-{i}", gpus, namespace=namespace, annotations=mark, **pod_fields)
        for i in range(size)
    )
    return [group, *pods]


def queue(name: str, **spec: Any) -> Data:
    """Return a queue of Volcano."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def priority_class(name: str, value: int, **more: Any) -> Data:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def budget(
    name: str, labels: Mapping[str, str], min_available: int | str, *, namespace: str = "default"
) -> Data:
    """Return a disruption budget of the pods with these labels."""
    spec = {"minAvailable": min_available, "selector": {"matchLabels": dict(labels)}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def definition(group: str, kind: str, *, namespaced: bool = True) -> Data:
    """Return a CustomResourceDefinition that accepts any field, with a status."""
    plural = kind.lower() + "s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [version],
        },
    }
