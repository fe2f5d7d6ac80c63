"""What of a snapshot is a name, a label or a sentence: one rule for each field that holds text."""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from ...models import Amounts, BugError, Plan, Snapshot
from ...models.blocks import DeviceBlocks
from ...models.budget import Budget
from ...models.choice import Choice
from ...models.devices import Device, DeviceShare
from ...models.group import Group
from ...models.namespace import Namespace, ResourceQuota
from ...models.node import Node, Taint
from ...models.notes import Reason, Rejected, Warned
from ...models.numa import Numa
from ...models.plan import (
    Admission,
    AllocatedDevice,
    Allocation,
    Bind,
    Eviction,
    Held,
    Move,
    NewGeometry,
    Nomination,
    QueueRow,
    Settled,
    SolverRow,
    TierRow,
)
from ...models.pod import Pod
from ...models.podspec import HostPort, PodSpec, PodTerm, SpreadConstraint, Toleration
from ...models.queue import Queue
from ...models.resource_claim import Claim, DeviceMatch, DeviceRequest, PodClaim, PoolDevice
from ...models.selector import GT, LT, Requirement
from ...models.topology import Level, Subgroup, Topology, TopologyRequest
from ...models.volume import Volume
from ..kubernetes.kinds import READERS
from .vocabulary import ADDRESSES, KINDS, TOPOLOGIES

_CLASS = ".storageclass.storage.k8s.io/"
_TIER = re.compile(r"tier [0-9]+")
_READ = frozenset(kind for _, kind in READERS)
_PUBLIC = KINDS | _READ
_ABOUT = frozenset({"queue", "group", "pod", "node", *_READ})
_NUMBERS = ("int:", "bool:")
_TYPES = ("string:", "version:")


class Namer(Protocol):
    """Says what each text becomes. Names are of one or more parts between ``/``."""

    def name(self, text: str) -> str: ...

    def key(self, text: str) -> str: ...

    def value(self, key: str, text: str) -> str: ...

    def said(self, text: str) -> str: ...

    def compares(self, key: str) -> None:
        """Note that values of this label are compared as numbers."""

    def member(self, name: str) -> None:
        """Note that the name is that of a pod, whose numbers count."""

    def quota(self, key: str) -> str:
        """Return a key of a ResourceQuota without a storage class, which stays."""
        return key


Rule = Callable[[Namer, Any], Any]


def _kept(_: Namer, value: Any) -> Any:
    return value


def _name(n: Namer, value: str | None) -> str | None:
    return None if value is None else n.name(value)


def _names(n: Namer, value: Any) -> Any:
    return None if value is None else type(value)(map(n.name, value))


def _named(n: Namer, value: Mapping[str, Any]) -> dict[str, Any]:
    return {n.name(k): v for k, v in value.items()}


def _parts(n: Namer, value: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {_selection(n, k): _named(n, v) for k, v in value.items()}


def _consumed(n: Namer, value: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple((n.name(k), v) for k, v in value)


def _name_of_name(n: Namer, value: Mapping[str, str]) -> dict[str, str]:
    return {n.name(k): n.name(v) for k, v in value.items()}


def _key(n: Namer, value: str) -> str:
    return n.key(value)


def _keys(n: Namer, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(n.key, value))


def _said(n: Namer, value: str) -> str:
    return n.said(value)


def _labels(n: Namer, value: Mapping[str, str]) -> dict[str, str]:
    return {n.key(k): n.value(k, v) for k, v in value.items()}


def _selector(n: Namer, value: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((n.key(k), n.value(k, v)) for k, v in value)


def _owner(n: Namer, value: str) -> str:
    kind, slash, name = value.partition("/")
    return f"{_kind(n, kind)}/{n.name(name)}" if slash else n.name(value)


def _kind(n: Namer, value: str) -> str:
    return value if value in _PUBLIC else n.name(value)


def _counted(n: Namer, value: Mapping[str, int]) -> dict[str, int]:
    return {_kind(n, k): v for k, v in value.items()}


def _selection(n: Namer, value: str) -> str:
    kind, mark, digest = value.partition("#")
    return f"{n.name(kind)}{mark}{digest}"


def _selections(n: Namer, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_selection(n, v) for v in value)


def _attributes(n: Namer, value: Mapping[str, str]) -> dict[str, str]:
    return {n.key(k): _typed(n, v) for k, v in value.items()}


def _typed(n: Namer, value: str) -> str:
    if value.startswith(_NUMBERS):
        return value
    kind = next((t for t in _TYPES if value.startswith(t)), "")
    return kind + n.name(value[len(kind) :])


def _address(n: Namer, value: str) -> str:
    return value if value in ADDRESSES else n.name(value)


def _quota(n: Namer, value: Mapping[str, int]) -> dict[str, int]:
    out: dict[str, int] = {}
    for k, v in value.items():
        name, middle, rest = k.partition(_CLASS)
        out[f"{n.name(name)}{middle}{rest}" if middle else n.quota(k)] = v
    return out


def _topology(n: Namer, value: str) -> str:
    if value in TOPOLOGIES or not value:
        return value
    if value.startswith("label "):
        return "label " + n.key(value.removeprefix("label "))
    dialect, slash, name = value.partition("/")
    return f"{dialect}/{n.name(name)}" if slash else n.name(value)


def _level(n: Namer, value: str) -> str:
    return value if _TIER.fullmatch(value) else n.key(value)


def _domains(n: Namer, value: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {n.name(d): tuple(map(n.name, nodes)) for d, nodes in value.items()}


def _about(n: Namer, value: str) -> str:
    word, _, name = value.partition(" ")
    return f"{word} {n.name(name)}" if word in _ABOUT and " " not in name else n.said(value)


def _nominations(n: Namer, value: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((n.name(pod), n.name(node)) for pod, node in value)


def _running(n: Namer, value: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        n.name(pod): {k: n.name(v) if isinstance(v, str) else v for k, v in place.items()}
        for pod, place in value.items()
    }


def _taint(n: Namer, t: Taint | Toleration) -> Taint | Toleration:
    return replace(t, key=n.key(t.key), value=n.value(t.key, t.value))


def _requirement(n: Namer, r: Requirement) -> Requirement:
    if r.operator in (GT, LT):
        n.compares(r.key)
    return replace(r, key=n.key(r.key), values=tuple(n.value(r.key, v) for v in r.values))


WHOLE: Mapping[type, Rule] = {Taint: _taint, Toleration: _taint, Requirement: _requirement}
"""Values whose fields depend on each other."""
RULES: Mapping[type, Mapping[str, Rule]] = {
    Snapshot: {
        "nominations": _nominations, "scheduler_names": _names, "counted": _counted,
    },
    Node: {
        "name": _name, "allocatable": _kept, "labels": _labels, "drivers": _named,
        "hands_out": _kept, "device_resource": _kept, "counters": _named, "plugged": _kept,
    },
    Device: {"model": _kept, "uuid": _name, "mode": _kept},
    DeviceShare: {
        "by": _kept, "resource": _kept, "mode": _kept, "models": _kept, "not_models": _kept,
        "uuids": _names, "not_uuids": _names,
    },
    DeviceBlocks: {"resource": _kept},
    Numa: {"policy": _kept, "scope": _kept},
    PoolDevice: {
        "id": _name, "selections": _selections, "attributes": _attributes, "counters": _named,
        "parts": _parts,
    },
    DeviceRequest: {"name": _name, "selection": _selection, "resource": _kept},
    DeviceMatch: {"attribute": _key, "requests": _names},
    PodClaim: {"name": _name, "claim": _name, "problem": _said},
    Claim: {"namespace": _name, "name": _name, "devices": _names, "draws": _named},
    Pod: {
        "namespace": _name, "name": _name, "group": _name, "role": _name, "subgroups": _names,
        "node": _name, "nominated": _name, "labels": _labels, "gates": _keys, "uid": _name,
        "owner": _owner, "user": _name, "scheduler": _name, "claimed": _names,
        "draws": _named,
        "claim_names": _name_of_name,
    },
    PodSpec: {
        "node_selector": _selector, "numa_policy": _kept, "refused_by": _names,
    },
    HostPort: {"protocol": _kept, "address": _address},
    PodTerm: {"topology_key": _key, "namespaces": _names},
    SpreadConstraint: {"topology_key": _key},
    Volume: {
        "claim": _name, "driver": _name, "sharing": _kept, "keys": _keys, "made_in": _name,
        "storage_class": _name, "problem": _said,
    },
    Group: {
        "namespace": _name, "name": _name, "queue": _name, "role_minimum": _named,
        "source": _kind, "user": _name,
    },
    Choice: {"roles": _named},
    Subgroup: {"name": _name},
    TopologyRequest: {"topology": _topology, "required": _level, "preferred": _level},
    Topology: {"name": _topology},
    Level: {"name": _level, "domains": _domains},
    Queue: {
        "name": _name, "parent": _name, "capability": _kept, "deserved": _kept,
        "namespaces": _names,
    },
    Budget: {"namespace": _name, "name": _name},
    Namespace: {"name": _name, "labels": _labels, "queue": _name},
    ResourceQuota: {"namespace": _name, "name": _name, "hard": _quota, "used": _quota},
    Reason: {"rule": _kept, "about": _about, "message": _said},
    Rejected: {"object": _said, "path": _said, "message": _said},
    Warned: {"object": _said, "path": _said, "message": _said},
    Plan: {"snapshot": _kept, "config": _kept},
    Bind: {"pod": _name, "group": _name, "node": _name},
    Nomination: {"pod": _name, "group": _name, "node": _name},
    Move: {"pod": _name, "group": _name, "node": _name, "room_for": _name},
    Eviction: {
        "pod": _name, "group": _name, "node": _name, "beneficiaries": _names, "reason": _said,
        "cost": _kept,
    },
    Admission: {"group": _name},
    NewGeometry: {"node": _name, "slices": _kept, "groups": _names},
    Allocation: {"pod": _name, "claim": _name, "resource_claim": _name, "node": _name},
    AllocatedDevice: {
        "request": _name, "driver": _name, "pool": _name, "device": _name, "consumed": _consumed,
    },
    Held: {"group": _name, "pods": _names},
    QueueRow: {"name": _name, "parent": _name, "deserved": _kept},
    TierRow: {"name": _kept, "unit": _kept, "sense": _kept},
    SolverRow: {"engine": _kept, "status": _kept, "detail": _said},
    Settled: {"running": _running, "evicted": _names},
}  # fmt: skip


class Walk:
    """One way through a snapshot; equal specs stay one object."""

    def __init__(self, namer: Namer) -> None:
        self._namer = namer
        self._specs: dict[int, PodSpec] = {}

    def through(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with every text as the namer says it."""
        sizes: dict[str, int] = {}
        for p in snapshot.pods:
            if p.group is not None:
                sizes[p.group] = sizes.get(p.group, 0) + 1
        for p in snapshot.pods:
            if p.group is not None and sizes[p.group] > 1:
                self._namer.member(p.name)
        walked: Snapshot = self._of(snapshot)
        return walked

    def through_plan(self, plan: Plan) -> Plan:
        """Return a plan of such a snapshot with every text as the namer says it."""
        walked: Plan = self._of(plan)
        return walked

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if kind is PodSpec:
            if id(value) not in self._specs:
                self._specs[id(value)] = self._fields(value)
            return self._specs[id(value)]
        if kind in WHOLE:
            return WHOLE[kind](self._namer, value)
        if isinstance(value, msgspec.Struct):
            return self._fields(value)
        if isinstance(value, tuple | list):
            return tuple(map(self._of, value))
        if value is None or isinstance(value, int | float | Enum | Amounts):
            return value
        if isinstance(value, Mapping) and not value:
            return value
        # What nobody has thought of may be a name, and is never let through.
        raise BugError(f"masking has no rule for a {kind.__name__}")

    def _fields(self, value: msgspec.Struct) -> Any:
        rules = RULES.get(type(value), {})
        out = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            rule = rules.get(name)
            out[name] = self._of(old) if rule is None else rule(self._namer, old)
        return replace(value, **out)
