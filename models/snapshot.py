"""A snapshot: everything that a scheduling cycle may know, as one frozen value.

Canonical order: nodes, pods, groups, queues by key. ``digest`` names the content: two snapshots of
equal content have equal digests, wherever and whenever they were read.
"""

import gzip
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from .budget import Budget
from .errors import InputError
from .group import Group
from .names import GroupKey, PodKey
from .namespace import Namespace, ResourceQuota
from .node import Node
from .notes import Rejected, Warned
from .pod import Pod
from .podspec import PodSpec
from .queue import Queue
from .resource_claim import Claim
from .topology import Topology
from .value import Value, from_data, from_json, to_data, to_json, to_sorted_json

API_VERSION = "apportion.dev/v1alpha1"
KIND = "Snapshot"

T = TypeVar("T")


class Snapshot(Value, frozen=True, weakref=True, dict=True):
    """Nodes, pods, groups, queues and what bounds them, at one moment.

    Building one sorts nothing: use :func:`snapshot_of`.
    """

    taken_at_s: int = 0
    """Seconds since 1970; every age is computed from it, never from the clock."""
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    groups: tuple[Group, ...] = ()
    queues: tuple[Queue, ...] = ()
    budgets: tuple[Budget, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    topologies: tuple[Topology, ...] = ()
    claims: tuple[Claim, ...] = ()
    nominations: tuple[tuple[PodKey, str], ...] = ()
    """(pod, node) promised by the cycle before; kept where nothing speaks against it."""
    scheduler_names: tuple[str, ...] = ("apportion",)
    counted: Mapping[str, int] = {}
    """Objects of kinds that this version reads past, by kind."""
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[Warned, ...] = ()
    masked: bool = False
    """Names, labels and sentences are pseudonyms."""

    def group(self, key: GroupKey) -> Group:
        return self.groups_by_key[key]

    @property
    def groups_by_key(self) -> Mapping[GroupKey, Group]:
        return _cached(self, "groups_by_key", lambda: {g.key: g for g in self.groups})

    @property
    def pods_by_key(self) -> Mapping[PodKey, Pod]:
        return _cached(self, "pods_by_key", lambda: {p.key: p for p in self.pods})

    @property
    def pods_by_group(self) -> Mapping[GroupKey, tuple[Pod, ...]]:
        return _cached(self, "pods_by_group", lambda: _by_group(self.pods))

    @property
    def nodes_by_name(self) -> Mapping[str, Node]:
        return _cached(self, "nodes_by_name", lambda: {n.name: n for n in self.nodes})

    @property
    def claims_by_key(self) -> Mapping[str, Claim]:
        return _cached(self, "claims_by_key", lambda: {c.key: c for c in self.claims})

    @property
    def queues_by_name(self) -> Mapping[str, Queue]:
        return _cached(self, "queues_by_name", lambda: {q.name: q for q in self.queues})

    @property
    def digest(self) -> str:
        """``sha256:`` and the hash of the canonical JSON."""
        return _cached(self, "digest", lambda: "sha256:" + hashlib.sha256(write(self)).hexdigest())


def _cached(snapshot: Snapshot, name: str, make: Callable[[], T]) -> T:
    memo: dict[str, T] = vars(snapshot)
    key = "_" + name
    if key not in memo:
        memo[key] = make()
    return memo[key]


def _by_group(pods: tuple[Pod, ...]) -> dict[GroupKey, tuple[Pod, ...]]:
    out: dict[GroupKey, list[Pod]] = {}
    for p in pods:
        if p.group is not None:
            out.setdefault(p.group, []).append(p)
    return {g: tuple(ps) for g, ps in out.items()}


_KEYS: Mapping[str, Callable[[Any], str]] = {
    "nodes": lambda n: n.name,
    "pods": lambda p: p.key,
    "groups": lambda g: g.key,
    "queues": lambda q: q.name,
    "budgets": lambda b: b.key,
    "namespaces": lambda n: n.name,
    "quotas": lambda q: q.key,
    "topologies": lambda t: t.name,
    "claims": lambda c: c.key,
}


def snapshot_of(**fields: Any) -> Snapshot:
    """Build a snapshot in canonical order.

    Raises
    ------
    ValueError
        If two nodes, pods, groups or queues share a key, or a pod names an unknown group.
    """
    for name, key in _KEYS.items():
        values = sorted(fields.get(name, ()), key=key)
        for a, b in itertools.pairwise(values):
            if key(a) == key(b):
                raise ValueError(f"{name}: two share the name {key(a)}")
        fields[name] = tuple(values)
    fields["nominations"] = tuple(sorted(fields.get("nominations", ())))
    known = {g.key for g in fields["groups"]}
    for p in fields["pods"]:
        if p.group is not None and p.group not in known:
            raise ValueError(f"pod {p.key}: group {p.group} is not in the snapshot")
    return Snapshot(**fields)


def write(snapshot: Snapshot) -> bytes:
    """Return the canonical JSON. Equal pod specs are written once, in a table."""
    index: dict[PodSpec, int] = {}
    numbers: dict[int, int] = {}
    for p in snapshot.pods:
        if id(p.spec) not in numbers:
            numbers[id(p.spec)] = index.setdefault(p.spec, len(index))
    # The long lists are written as they are; the rest is little.
    body = to_data(replace(snapshot, nodes=(), pods=(), groups=()))
    for name in ("nodes", "groups"):
        if values := getattr(snapshot, name):
            body[name] = _raw(values)
    body["pods"] = msgspec.Raw(_pods(snapshot.pods, [numbers[id(p.spec)] for p in snapshot.pods]))
    body["specs"] = [_raw(s) for s in index]
    return to_json({"apiVersion": API_VERSION, "kind": KIND, **body})


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(to_sorted_json(value))


_SPEC = b'"spec":'


def _pods(pods: Sequence[Pod], numbers: Sequence[int]) -> bytes:
    """Return the pods as JSON, each with the number of its spec in the spec's stead."""
    whole = to_sorted_json(pods).split(_SPEC)
    if len(whole) != len(pods) + 1:
        # A label of that name, say: one by one it is clear which is the pod's own.
        return to_json([{**to_data(p), "spec": n} for p, n in zip(pods, numbers, strict=True)])
    written: dict[int, tuple[bytes, int]] = {}
    out = whole[:1]
    for p, n, rest in zip(pods, numbers, whole[1:], strict=True):
        if n not in written:
            written[n] = (b"%s%d" % (_SPEC, n), len(to_sorted_json(p.spec)))
        short, length = written[n]
        out.append(short + rest[length:])
    return b"".join(out)


def read(data: bytes) -> Snapshot:
    """Read what :func:`write` wrote, gzipped or not.

    Raises
    ------
    InputError
        If it is no snapshot, or of another version.
    """
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return from_document(from_json(data, dict[str, Any]))


def from_document(body: dict[str, Any]) -> Snapshot:
    """Read a snapshot from its parsed JSON."""
    if (body.get("apiVersion"), body.get("kind")) != (API_VERSION, KIND):
        raise InputError(
            f"not a snapshot of this version: apiVersion {body.get('apiVersion')!r}, "
            f"kind {body.get('kind')!r}; expected {API_VERSION} {KIND}"
        )
    body = dict(body)
    try:
        specs = [from_data(s, PodSpec) for s in body.pop("specs", [])]
        pods = []
        for raw in body.pop("pods", []):
            spec = specs[raw["spec"]]
            pod = from_data({**raw, "spec": {}}, Pod)
            pods.append(_with_spec(pod, spec))
        rest = from_data(
            {k: v for k, v in body.items() if k not in ("apiVersion", "kind")}, Snapshot
        )
    except (KeyError, IndexError, TypeError, ValueError) as e:
        raise InputError(f"not a readable snapshot: {e}") from e
    return replace(rest, pods=tuple(pods))


def _with_spec(pod: Pod, spec: PodSpec) -> Pod:
    return replace(pod, spec=spec)
