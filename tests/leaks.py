"""What of a cluster's names is left in a masked snapshot: found by searching, not by masking."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from apportion import models
from apportion.adapters.kubernetes.kinds import READERS
from apportion.adapters.masking.vocabulary import KEYS, KINDS, NAMES, VALUES
from apportion.models import Snapshot
from apportion.policies.registry import built_in

NUMBER = re.compile(r"[+-]?[0-9]*")
SHORT = 4
"""A shorter name is looked for as a word only, as it may be part of anything."""
WORDS = {
    "NoSchedule", "PreferNoSchedule", "NoExecute", "Equal", "Exists", "DoesNotExist", "NotIn",
    "In", "Gt", "Lt", "TCP", "UDP", "SCTP", "Open", "Closed", "Closing", "Unknown", "Snapshot",
    "whole", "reservation", "volcano", "gpushare", "hami", "none", "best-effort", "restricted",
    "single-numa-node", "pending", "gated", "running", "terminating", "succeeded", "failed",
}  # fmt: skip


def _fields() -> Iterator[str]:
    for name in dir(models):
        kind = getattr(models, name)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from kind.__struct_encode_fields__
    yield from ("apiVersion", "kind", "specs", models.snapshot.API_VERSION)


READ = {kind for _, kind in READERS}
RULES = frozenset(built_in())
"""They stand in reasons why groups are held; a label may be called the same."""
FIELDS = frozenset(_fields())


def strings(value: Any) -> Iterator[str]:
    """Yield every text of plain data, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        for v in value.values():
            yield from strings(v)
    elif isinstance(value, list | tuple):
        for v in value:
            yield from strings(v)


def resources(snapshot: Snapshot) -> set[str]:
    """Return the resources that the snapshot speaks of, and the keys of quotas."""
    out: set[str] = set()
    for node in snapshot.nodes:
        out.update(node.allocatable, node.plugged, (b.resource for b in node.blocks))
        cells = node.numa.cells if node.numa is not None else ()
        out.update(*(c.allocatable for c in cells))
    for pod in snapshot.pods:
        out.update(pod.spec.requests, pod.spec.plugged, *(a.amounts for a in pod.spec.aligned))
    claimed = [c.spec for p in snapshot.pods for c in p.spec.claims]
    for spec in (*claimed, *(c.spec for c in snapshot.claims)):
        out.update(r.resource for served in spec.requests for r in served if r.resource)
    for queue in snapshot.queues:
        out.update(queue.capability, queue.deserved, queue.guarantee)
    for group in snapshot.groups:
        out.update(group.min_resources or (), group.min_limits or ())
    for quota in snapshot.quotas:
        out.update(k for k in (*quota.hard, *quota.used) if ".storageclass." not in k)
    return out


def left(masked: bytes, originals: Iterable[str], snapshot: Snapshot) -> list[str]:
    """Return which of the original names are still found in the masked file."""
    stay = FIELDS | KEYS | NAMES | WORDS | KINDS | READ | RULES | resources(snapshot)
    stay |= {f"label {key}" for key in KEYS}  # a topology that a label alone makes
    texts = {t for t in strings(json.loads(masked)) if t not in stay}
    words = {w for t in texts for w in re.split(r"[/ ]", t)} - stay
    everything = "\n".join(texts)
    out = []
    parts = {part for o in originals for part in ([o] if " " in o else o.split("/"))}
    for name in sorted(parts):
        if name in stay or NUMBER.fullmatch(name):
            continue
        if name in words or (len(name) >= SHORT and name in everything):
            out.append(name)
    return out


def names_of(snapshot: Snapshot) -> set[str]:
    """Return the names, keys and values of labels in a snapshot."""
    out: set[str] = set()
    for n in snapshot.nodes:
        out |= {n.name, *_labels(n.labels), *(d.id for d in n.pool_devices), *n.drivers}
        out |= {t.key for t in n.taints} | {t.value for t in n.taints}
    for p in snapshot.pods:
        out |= {p.namespace, p.name, p.role, p.user, p.uid, *_labels(p.labels), *p.subgroups}
        out |= {k for k, _ in p.spec.node_selector}
        out |= {v for k, v in p.spec.node_selector if k not in VALUES}
    for g in snapshot.groups:
        out |= {
            g.namespace,
            g.name,
            g.user,
            g.source,
            *g.role_minimum,
            *(h.message for h in g.hold),
        }
    for q in snapshot.queues:
        out |= {q.name, *(q.namespaces or ()), *(h.message for h in q.hold)}
    out |= {b.key for b in snapshot.budgets} | {q.key for q in snapshot.quotas}
    out |= {c.key for c in snapshot.claims}
    for t in snapshot.topologies:
        out |= {d for level in t.levels for d in level.domains}
    for bad in snapshot.rejected:
        out |= {bad.object, bad.path, bad.message}
    for odd in snapshot.warnings:
        out |= {odd.object, odd.path, odd.message}
    out |= {p.owner for p in snapshot.pods} | {*snapshot.counted}
    return out | {space.name for space in snapshot.namespaces}


def names_in(document: Any) -> set[str]:
    """Return the names, labels, annotations and images in Kubernetes objects."""
    out: set[str] = set()
    if isinstance(document, list):
        return out.union(*map(names_in, document))
    if not isinstance(document, dict):
        return out
    for key, value in document.items():
        if key in ("name", "namespace", "nodeName", "image", "queue", "uid", "generateName"):
            out |= {value} if isinstance(value, str) else set()
        elif key in ("labels", "matchLabels", "nodeSelector") and isinstance(value, dict):
            out |= {str(t) for t in _labels(value)}
        elif key == "annotations" and isinstance(value, dict):
            out |= {str(v) for v in value.values()}
        out |= names_in(value)
    return out


def _labels(labels: Mapping[str, Any]) -> set[str]:
    return {*labels} | {v for k, v in labels.items() if k not in VALUES}
