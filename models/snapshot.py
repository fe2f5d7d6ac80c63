"""A snapshot: everything that a scheduling cycle may know, as one frozen value.

Canonical order: nodes, pods, groups, queues by key. ``digest`` names the content: two snapshots of
equal content have equal digests, wherever and whenever they were read.
"""

import gzip
import hashlib
import itertools
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
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


def with_pods(
    snapshot: Snapshot, changed: Mapping[PodKey, Pod], nominations: Mapping[PodKey, str]
) -> Snapshot:
    """Return the snapshot with some of its pods replaced, and these promises.

    It costs what changes, and what is known of the others goes on with it.
    """
    pods = list(snapshot.pods)
    for key, pod in changed.items():
        at = bisect_left(pods, key, key=attrgetter("key"))
        assert pods[at].key == key, f"pod {key} is not in the snapshot"
        pods[at] = pod
    out = replace(snapshot, pods=tuple(pods), nominations=tuple(sorted(nominations.items())))
    vars(out)["_pods_by_key"] = {**snapshot.pods_by_key, **changed}
    for name in ("_groups_by_key", "_nodes_by_name", "_queues_by_name"):
        if name in vars(snapshot):
            vars(out)[name] = vars(snapshot)[name]
    return out


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
            body[name] = msgspec.Raw(b"[" + b",".join(map(_written, values)) + b"]")
    body["pods"] = msgspec.Raw(_pods(snapshot.pods, [numbers[id(p.spec)] for p in snapshot.pods]))
    body["specs"] = [_raw(s) for s in index]
    return to_json({"apiVersion": API_VERSION, "kind": KIND, **body})


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(to_sorted_json(value))


def _written(value: Node | Group) -> bytes:
    """Return the value's JSON; it is kept with it, since most values are in many snapshots."""
    memo: dict[str, bytes] = vars(value)
    if "_json" not in memo:
        memo["_json"] = to_sorted_json(value)
    return memo["_json"]


_SPEC = b'"spec":'


def _pods(pods: Sequence[Pod], numbers: Sequence[int]) -> bytes:
    """Return the pods as JSON, each with the number of its spec in the spec's stead."""
    lengths: dict[int, int] = {}
    shown = [b"%d" % n for n in range(max(numbers, default=-1) + 1)]
    out: list[bytes] = []
    for p, n in zip(pods, numbers, strict=True):
        memo: dict[str, tuple[bytes, bytes] | None] = vars(p)
        if "_json" not in memo:
            if n not in lengths:
                lengths[n] = len(to_sorted_json(p.spec))
            memo["_json"] = _around_spec(p, lengths[n])
        kept = memo["_json"]
        if kept is None:
            out.append(to_json({**to_data(p), "spec": n}))
        else:
            out.append(kept[0] + shown[n] + kept[1])
    return b"[" + b",".join(out) + b"]"


def _around_spec(pod: Pod, length: int) -> tuple[bytes, bytes] | None:
    """Return the pod's JSON before its spec, of such a length, and after it.

    None: it is not clear where that is; a label may have that name.
    """
    before, *rest = to_sorted_json(pod).split(_SPEC)
    return (before + _SPEC, rest[0][length:]) if len(rest) == 1 else None


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
