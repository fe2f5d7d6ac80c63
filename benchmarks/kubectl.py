"""Kubectl: writes a snapshot as ``kubectl get -o json`` would, managed fields included.

Only what generated clusters have is written. Objects are large as those of real clusters are:
indented, a pod has about 9 KB, a node more.
"""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from apportion.models import Group, Node, Pod, Queue, Snapshot

from .instances import GPU

Object = dict[str, Any]


def write(snapshot: Snapshot, path: Path, indent: int | None = 4) -> int:
    """Write every object as one List, indented as kubectl does or not; return the bytes."""
    with path.open("w", encoding="utf-8") as out:
        out.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for k, text in enumerate(texts(snapshot, indent)):
            out.write(("" if k == 0 else ",\n") + text)
        out.write('\n    ],\n    "kind": "List",\n    "metadata": {"resourceVersion": ""}\n}\n')
    return path.stat().st_size


def texts(snapshot: Snapshot, indent: int | None) -> Iterator[str]:
    """Yield each object's text; those alike are written once, and their names put in."""
    known: dict[object, str] = {}

    def text(key: object, make: Callable[[], Object], names: dict[str, str]) -> str:
        if key not in known:
            known[key] = _written(make(), indent)
        out = known[key]
        for mark, name in names.items():
            out = out.replace(mark, name)
        return out

    for n in snapshot.nodes:
        labels = {k: v for k, v in n.labels.items() if k != "kubernetes.io/hostname"}
        key: tuple[object, ...] = ("node", n.allocatable, tuple(sorted(labels.items())), n.taints)
        yield text(key, partial(_node, n), {"@name@": n.name})
    for p in snapshot.pods:
        names = {
            "@name@": p.name, "@group@": p.group.partition("/")[2] if p.group else "",
            "@node@": p.node or "", "@created@": _time(p.created_s),
            "@started@": _time(p.started_s or 0),
            "@device@": ",".join(f"GPU-{p.node}-{d}" for d in p.devices),
        }  # fmt: skip
        key = ("pod", id(p.spec), p.state, p.group is None, p.priority, p.namespace,
               tuple(p.labels.items()), bool(p.devices))  # fmt: skip
        yield text(key, partial(_pod, p), names)
    for g in snapshot.groups:
        yield _written(_group(g), indent)
    for q in snapshot.queues:
        yield _written(_queue(q), indent)


def _written(of: Object, indent: int | None) -> str:
    if indent is None:
        return json.dumps(of, separators=(",", ":"))
    margin = " " * 2 * indent
    return "\n".join(margin + line for line in json.dumps(of, indent=indent).splitlines())


def _time(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _uid(name: str) -> str:
    return f"00000000-0000-4000-8000-{name}"


def _managed(manager: str, fields: Object) -> Object:
    """Say who set which fields, as API servers keep it: the bulk of what kubectl prints."""
    return {
        "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager,
        "operation": "Update", "time": "2026-11-01T10:00:00Z",
    }  # fmt: skip


def _fields(of: object) -> Object:
    """Return the tree of names of an object, as managed fields have it."""
    if isinstance(of, dict):
        return {f"f:{k}": _fields(v) for k, v in of.items()}
    if isinstance(of, list):
        named = [x for x in of if isinstance(x, dict) and ("name" in x or "type" in x)]
        out: Object = {}
        for x in named:
            key = "name" if "name" in x else "type"
            out[f'k:{{"{key}":"{x[key]}"}}'] = {".": {}, **_fields(x)}
        return out
    return {}


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m"
    if resource == "memory":
        return f"{amount // 1024}Ki"
    return str(amount // 1000) if resource == GPU else str(amount)


def _node(n: Node) -> Object:
    amounts = {r: _quantity(r, v) for r, v in n.allocatable.items()}
    labels = {**n.labels, "kubernetes.io/hostname": "@name@"}
    if n.devices:
        labels |= {"nvidia.com/gpu.memory": str(n.devices[0].memory_mib),
                   "nvidia.com/gpu.product": n.devices[0].model,
                   "nvidia.com/gpu.count": str(len(n.devices))}  # fmt: skip
    spec: Object = {"podCIDR": "10.0.0.0/24", "providerID": "bench://@name@"}
    if n.taints:
        spec["taints"] = [{"key": t.key, "value": t.value, "effect": t.effect} for t in n.taints]
    status: Object = {
        "addresses": [{"address": "10.1.2.3", "type": "InternalIP"}],
        "allocatable": amounts, "capacity": amounts,
        "conditions": [
            {"lastHeartbeatTime": "2026-11-01T10:00:00Z", "message": f"kubelet has {what}",
             "lastTransitionTime": "2026-11-01T10:00:00Z", "reason": f"Kubelet{what}",
             "status": "True" if what == "Ready" else "False", "type": what}
            for what in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": [
            {"names": [f"registry.bench/image-{k}@sha256:{k:064d}", f"registry.bench/image-{k}:v1"],
             "sizeBytes": 1_000_000 + k}
            for k in range(20)
        ],
        "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.33.1", "osImage": "Linux"},
    }  # fmt: skip
    fields = {"f:metadata": {"f:labels": _fields(labels)}, "f:status": _fields(status)}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "creationTimestamp": "1970-01-01T01:00:00Z", "labels": labels,
            "managedFields": [_managed("kubelet", fields)], "name": "@name@",
            "resourceVersion": "1000", "uid": _uid("@name@"),
        },
        "spec": spec, "status": status,
    }  # fmt: skip


def _pod(p: Pod) -> Object:
    requests = {r: _quantity(r, v) for r, v in p.spec.requests.items() if r != GPU or not
                p.spec.share}  # fmt: skip
    notes: Object = {"cni.bench/networks": '[{"name":"fabric","interface":"eth0","mtu":9000}]'}
    if p.group is not None:
        notes["scheduling.k8s.io/group-name"] = "@group@"
    if p.spec.share is not None:
        notes["gpu-fraction"] = str(p.spec.share.memory_ppm / 1_000_000)
    labels = {**p.labels, "app": "bench", "batch.kubernetes.io/job-name": "@group@"}
    container = {
        "command": ["python", "-m", "bench.train"],
        "env": [{"name": f"SETTING_{k}", "value": f"value-{k}"} for k in range(2)],
        "image": "registry.bench/train:v1", "imagePullPolicy": "IfNotPresent", "name": "main",
        "resources": {"limits": requests, "requests": requests},
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                          "name": "kube-api-access", "readOnly": True}],
    }  # fmt: skip
    spec: Object = {
        "containers": [container], "dnsPolicy": "ClusterFirst", "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority", "priority": p.priority,
        "restartPolicy": "Never", "schedulerName": "apportion" if p.ours else p.scheduler,
        "securityContext": {}, "serviceAccount": "default", "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"effect": "NoExecute", "key": f"node.kubernetes.io/{what}", "operator": "Exists",
             "tolerationSeconds": 300} for what in ("not-ready", "unreachable")
        ],
        "volumes": [{"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}],
                           "name": "kube-root-ca.crt"}}]}}],
    }  # fmt: skip
    if p.node is not None:
        spec["nodeName"] = "@node@"
    if p.spec.node_selector:
        spec["nodeSelector"] = dict(p.spec.node_selector)
    for t in p.spec.tolerations:
        spec["tolerations"].append(
            {k: v for k, v in (("key", t.key), ("operator", t.operator)) if v}
        )
    if p.spec.spread:
        spec["topologySpreadConstraints"] = [
            {"maxSkew": c.max_skew, "topologyKey": c.topology_key,
             "whenUnsatisfiable": "DoNotSchedule" if c.hard else "ScheduleAnyway",
             "labelSelector": {"matchLabels": {r.key: r.values[0] for r in
                                               c.selector.requirements}} if c.selector else None}
            for c in p.spec.spread
        ]  # fmt: skip
    controller = p.owner.partition("/") if p.owner else ("Job", "/", "@group@")
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "annotations": notes, "creationTimestamp": "@created@", "generateName": "bench-",
            "labels": labels,
            "managedFields": [
                _managed("kube-controller-manager", {
                    "f:metadata": {"f:annotations": _fields(notes), "f:labels": _fields(labels)},
                    "f:spec": {k: {} for k in _fields(spec)}}),
            ],
            "name": "@name@", "namespace": p.namespace,
            "ownerReferences": [
                {"apiVersion": "batch/v1", "blockOwnerDeletion": True, "controller": True,
                 "kind": controller[0], "name": controller[2], "uid": _uid("owner")}
            ],
            "resourceVersion": "1000", "uid": _uid("@name@"),
        },
        "spec": spec, "status": _pod_status(p),
    }  # fmt: skip


def _pod_status(p: Pod) -> Object:
    if p.node is None:
        return {
            "conditions": [
                {"lastTransitionTime": "@created@", "message": "waits for a place",
                 "reason": "Unschedulable", "status": "False", "type": "PodScheduled"}
            ],
            "phase": "Pending", "qosClass": "Guaranteed",
        }  # fmt: skip
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": "@started@", "status": "True",
             "type": what}
            for what in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {"containerID": "containerd://" + "0" * 64, "image": "registry.bench/train:v1",
             "imageID": "registry.bench/train@sha256:" + "0" * 64, "lastState": {},
             "name": "main", "ready": True, "restartCount": 0, "started": True,
             "state": {"running": {"startedAt": "@started@"}}}
        ],
        "hostIP": "10.1.2.3", "phase": "Running", "podIP": "10.2.3.4",
        "podIPs": [{"ip": "10.2.3.4"}], "qosClass": "Guaranteed", "startTime": "@started@",
    }  # fmt: skip


def _group(g: Group) -> Object:
    spec: Object = {"minMember": g.minimum, "queue": g.queue}
    notes = {} if g.preemptable else {"volcano.sh/preemptable": "false"}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"creationTimestamp": _time(g.created_s), "name": g.name,
                     "namespace": g.namespace, "annotations": notes, "uid": _uid(g.name)},
        "spec": spec, "status": {"phase": "Inqueue"},
    }  # fmt: skip


def _queue(q: Queue) -> Object:
    spec: Object = {"weight": q.weight, "reclaimable": q.reclaimable}
    if q.parent:
        spec["parent"] = q.parent
    if q.capability:
        spec["capability"] = {r: _quantity(r, v) for r, v in q.capability.items()}
    if q.deserved:
        spec["deserved"] = {r: _quantity(r, v) for r, v in q.deserved.items()}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"creationTimestamp": "1970-01-01T01:00:00Z", "name": q.name},
        "spec": spec, "status": {"state": "Open"},
    }  # fmt: skip
