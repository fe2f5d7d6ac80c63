"""The head of every object: kind, name, labels, owner, age."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ..files import Document
from .faults import Faults
from .shape import Hot, shaped, text_map
from .times import seconds_of

CLUSTER_WIDE = frozenset(
    (
        "Node", "Namespace", "PriorityClass", "Queue", "ClusterQueue", "Cohort", "ResourceFlavor",
        "WorkloadPriorityClass", "ClusterTrainingRuntime",
        "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment",
        "NodeResourceTopology", "Numatopology", "HyperNode", "Topology",
        "ResourceSlice", "DeviceClass", "DeviceTaintRule",
    )
)  # fmt: skip
_UNUSABLE = re.compile(r"[/\s\x00-\x1f\x7f\"'%]")
_USUAL = re.compile(r"[a-z0-9]([-a-z0-9.:]*[a-z0-9])?")
_LONGEST_NAME = 253


class OwnerBody(Hot):
    """One owner reference."""

    kind: str = ""
    name: str = ""
    uid: str | None = None
    api_version: str | None = None
    controller: bool | None = None


class MetaBody(Hot):
    """``metadata`` as it stands in the object."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    generation: int | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    owner_references: list[OwnerBody] | None = None


class HeadBody(Hot):
    """What every object begins with."""

    api_version: str | None = None
    kind: str | None = None
    metadata: MetaBody | None = None


_HEAD = msgspec.json.Decoder(HeadBody).decode


def head_of(document: Document) -> HeadBody | None:
    """Return the head without decoding the rest; None where that takes a closer look."""
    if document.raw is None:
        return None
    try:
        return _HEAD(document.raw)
    except (msgspec.DecodeError, RecursionError):
        return None


class Owner(NamedTuple):
    """The controller of an object."""

    kind: str
    name: str
    uid: str
    api_group: str


class Thing(msgspec.Struct, gc=False):
    """One object that was read: its head, and the body in the shape of its kind."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner: Owner | None
    created_s: int | None
    deleted_s: int | None
    generation: int | None
    source: str
    body: Any = None
    made_from: tuple[str, str] | None = None
    """For a pod that is not created yet: the object it is made from, and its template's path."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def title(self) -> str:
        return f"{self.kind} {self.key}"

    def note(self, *keys: str) -> str | None:
        """Return the first of the annotations that is there, else the first of the labels."""
        for of in (self.annotations, self.labels):
            for key in keys:
                if key in of:
                    return of[key]
        return None


@lru_cache(maxsize=4096)
def api_group(api_version: str) -> str:
    """Return the group of ``group/version``; "" for the core group."""
    return api_version.rpartition("/")[0]


def place_of(document: Document) -> str:
    """Return how messages name where the object stands."""
    return f"{document.source}, object {document.index + 1}"


def thing_of(
    document: Document, group: str, kind: str, faults: Faults, head: HeadBody | None = None
) -> Thing:
    """Read the head of an object; what is wrong with it is added to the faults."""
    meta = (head.metadata or MetaBody()) if head is not None else _meta(document, faults)
    name, namespace = meta.name or "", meta.namespace or ""
    if name or not any(path in ("metadata", "metadata.name") for path, _ in faults.found):
        _check_name(name, meta, faults)
    namespace = namespace_of(kind, namespace)
    if _is_unusable(namespace):
        faults.add("metadata.namespace", _name_rule(namespace))
    return Thing(
        group=group,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=meta.uid or "",
        labels=text_map(meta.labels),
        annotations=text_map(meta.annotations),
        owner=_controller(meta.owner_references),
        created_s=moment(meta.creation_timestamp, "metadata.creationTimestamp", faults),
        deleted_s=moment(meta.deletion_timestamp, "metadata.deletionTimestamp", faults),
        generation=meta.generation,
        source=place_of(document),
    )


def namespace_of(kind: str, written: str) -> str:
    """Return the namespace of an object; "" for cluster-wide kinds."""
    return "" if kind in CLUSTER_WIDE else written or "default"


def moment(text: str | None, path: str, faults: Faults) -> int | None:
    """Return the seconds of a timestamp; a malformed one is a fault."""
    if not text:
        return None
    try:
        return seconds_of(text)
    except ValueError as e:
        faults.add(path, str(e))
        return None


def is_usual_name(name: str) -> bool:
    """Say whether the API server would take the name."""
    return bool(_USUAL.fullmatch(name))


def _meta(document: Document, faults: Faults) -> MetaBody:
    raw = document.data.get("metadata")
    meta, found = shaped(raw if raw is not None else {}, MetaBody)
    faults.extend(found, under="metadata")
    return meta or _partly(raw)


def _is_unusable(name: str) -> bool:
    return len(name) > _LONGEST_NAME or bool(_UNUSABLE.search(name))


def _partly(raw: Any) -> MetaBody:
    """Return what can be read of a faulty head, so that messages can name the object."""
    if not isinstance(raw, dict):
        return MetaBody()
    name, namespace = raw.get("name"), raw.get("namespace")
    return MetaBody(
        name=name if isinstance(name, str) else None,
        namespace=namespace if isinstance(namespace, str) else None,
    )


def _check_name(name: str, meta: MetaBody, faults: Faults) -> None:
    if not name and meta.generate_name:
        faults.add(
            "metadata.name",
            "is missing; generateName becomes a name only at the API server, so write a name",
        )
    elif not name:
        faults.add("metadata.name", "is missing; every object needs a name")
    elif _is_unusable(name):
        faults.add("metadata.name", _name_rule(name))


def _name_rule(name: str) -> str:
    shown = name if len(name) <= 60 else name[:57] + "..."
    return (
        f"{shown!r} is no name; write at most {_LONGEST_NAME} lower-case letters, digits, "
        "'-' and '.'"
    )


def _controller(owners: list[OwnerBody] | None) -> Owner | None:
    for o in owners or ():
        if o.controller:
            return Owner(o.kind, o.name, o.uid or "", api_group(o.api_version or ""))
    return None
