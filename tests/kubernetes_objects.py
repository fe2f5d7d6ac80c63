"""Builders of Kubernetes objects as plain data, and the short way from them to a snapshot."""

from collections.abc import Mapping
from typing import Any

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions, snapshot_from
from apportion.models import Group, GroupKey, Pod, PodKey, Queue, QueueName, Snapshot

Data = dict[str, Any]
NOON = "2026-01-05T12:00:00Z"
NOON_S = 1767614400


def snapshot(*objects: Any, **options: Any) -> Snapshot:
    """Read the objects with default options, or some changed."""
    documents = [Document("test", i, o) for i, o in enumerate(objects)]
    return snapshot_from(documents, ReadOptions(**options))


def pod_in(world: Snapshot, name: str) -> Pod:
    return world.pods_by_key[PodKey(name if "/" in name else f"default/{name}")]


def group_in(world: Snapshot, name: str) -> Group:
    return world.groups_by_key[GroupKey(name if "/" in name else f"default/{name}")]


def queue_in(world: Snapshot, name: str) -> Queue:
    return world.queues_by_name[QueueName(name)]


def named(name: str, namespace: str | None = "default", **meta: Any) -> Data:
    out: Data = {"name": name, **meta}
    if namespace is not None:
        out["namespace"] = namespace
    return out


def container(requests: Mapping[str, Any] | None = None, **more: Any) -> Data:
    limits = more.pop("limits", None)
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v is not None}
    return {"name": more.pop("name", "main"), "resources": resources, **more}


def pod(
    name: str = "p",
    requests: Mapping[str, Any] | None = None,
    *,
    namespace: str = "default",
    labels: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    owner: tuple[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    scheduler: str = "apportion",
    **spec: Any,
) -> Data:
    """Return a pod; further arguments are fields of its spec."""
    head = named(name, namespace, labels=labels or {}, annotations=annotations or {})
    if owner is not None:
        head["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    spec.setdefault("containers", [container(requests or {"cpu": "1"})])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**head, **(meta or {})},
        "spec": {"schedulerName": scheduler, **spec},
        "status": {"phase": "Running" if spec.get("nodeName") else "Pending", **(status or {})},
    }


def node(name: str = "n", **allocatable: Any) -> Data:
    offered = allocatable or {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def obj(api: str, kind: str, name: str, namespace: str | None = "default", **fields: Any) -> Data:
    meta = named(name, namespace, **fields.pop("meta", {}))
    return {"apiVersion": api, "kind": kind, "metadata": meta, **fields}


def pod_group(name: str, **spec: Any) -> Data:
    status, meta = spec.pop("status", {}), spec.pop("meta", {})
    api = spec.pop("api", "scheduling.volcano.sh/v1beta1")
    return obj(api, "PodGroup", name, meta=meta, spec=spec, status=status)


def queue(name: str, **spec: Any) -> Data:
    status, meta = spec.pop("status", {}), spec.pop("meta", {})
    api = spec.pop("api", "scheduling.volcano.sh/v1beta1")
    return obj(api, "Queue", name, None, meta=meta, spec=spec, status=status)


def priority_class(name: str, value: int, **more: Any) -> Data:
    return obj("scheduling.k8s.io/v1", "PriorityClass", name, None, value=value, **more)


def in_group(name: str) -> dict[str, str]:
    """Return the annotation that puts a pod into Volcano's PodGroup."""
    return {"scheduling.k8s.io/group-name": name}
