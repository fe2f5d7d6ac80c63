"""From documents to objects: each is named, shaped, and kept or refused, never lost in silence."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..files import Document
from .body_pod import ConditionBody
from .faults import Faults, Ledger
from .kinds import MANIFEST_READERS, Read, name_of_kind, readers_for
from .meta import HeadBody, Thing, api_group, head_of, is_usual_name, moment, place_of, thing_of
from .options import ReadOptions
from .owners import MIN_MEMBER, OWNER_KINDS
from .times import seconds_of
from .train_jobs import GROUP, RUNTIMES, jobset_of

_OURS = "apportion.dev/"
_CORE_KINDS = frozenset(
    (
        "Pod", "Node", "Namespace", "ResourceQuota", "LimitRange",
        "PersistentVolume", "PersistentVolumeClaim",
    )
)  # fmt: skip
Key = tuple[str, str, str, str]


class Manifest(NamedTuple):
    """A workload that no API server has seen, with all that its file says."""

    thing: Thing
    data: Any


class Objects:
    """The objects of the input by API group and kind, and the newest moment in them."""

    def __init__(self) -> None:
        self.newest_s = 0
        self.pod_keys: set[str] = set()
        """Every pod of the input, bad ones included."""
        self.owners: list[Thing] = []
        """Objects of any other kind that say how many of their pods form a group."""
        self.manifests: list[Manifest] = []
        self._things: dict[tuple[str, str], list[Thing]] = {}

    def of(self, group: str, kind: str) -> list[Thing]:
        """Return the objects of one kind, in the order they were kept."""
        return self._things.get((group, kind), [])

    def keep(self, thing: Thing) -> None:
        self._things.setdefault((thing.group, thing.kind), []).append(thing)


class _Reader:
    """Reads documents into objects."""

    def __init__(self, options: ReadOptions, ledger: Ledger) -> None:
        self.objects = Objects()
        self._seen: dict[Key, Thing] = {}
        self._ledger = ledger
        self._readers = readers_for(options.queues_from) | MANIFEST_READERS

    def add(self, document: Document) -> None:
        """Read one document."""
        head = head_of(document)
        if head is None or not head.kind or not head.api_version:
            head = None
            if _is_apportions(document.data):
                return
            kind = self._kind_of(document)
            if kind is None:
                return
            version = document.data.get("apiVersion") or ""
        elif head.api_version.startswith(_OURS):
            return
        else:
            kind, version = head.kind, head.api_version
        group = api_group(version)
        read = self._readers.get((group, kind))
        if read is None:
            self._ledger.counted[name_of_kind(group, kind)] += 1
            self._keep_owner(document, group, kind)
            return
        self._add(document, group, kind, read, head)

    def make_jobsets(self) -> None:
        """Read the JobSets that TrainJobs would make, once everything else is read."""
        objects = self.objects
        runtimes = [r for kind in RUNTIMES for r in objects.of(GROUP, kind)]
        there = {t.key for t in objects.of("jobset.x-k8s.io", "JobSet")}
        jobs = [m for m in objects.manifests if m.thing.kind == "TrainJob"]
        for job, data in jobs:
            if job.key in there:
                continue
            document = jobset_of(job, data, runtimes, self._ledger)
            if document is not None:
                self.add(document)
                made = objects.of("jobset.x-k8s.io", "JobSet")
                objects.manifests += [Manifest(t, document.data) for t in made if t.key == job.key]

    def _kind_of(self, document: Document) -> str | None:
        data, place = document.data, place_of(document)
        faults = Faults()
        if not isinstance(data, dict):
            shown = repr(data)[:40]
            faults.add("", f"is no object but {shown}; write apiVersion, kind and metadata")
            self._ledger.reject(place, faults)
            return None
        kind, version = data.get("kind"), data.get("apiVersion")
        if not isinstance(kind, str) or not kind:
            faults.add("kind", "is missing or no text; write the kind of the object, such as Pod")
        if version is not None and not isinstance(version, str):
            faults.add("apiVersion", "must be text, such as v1")
        elif not version and isinstance(kind, str) and kind in _CORE_KINDS:
            faults.add("apiVersion", "is missing; write v1")
        if faults:
            self._ledger.reject(place, faults)
            return None
        return str(kind)

    def _add(
        self, document: Document, group: str, kind: str, read: Read, head: HeadBody | None
    ) -> None:
        thing, faults, newest_s = read_thing(document, group, kind, read, head)
        if kind == "Pod":
            self.objects.pod_keys.add(thing.key)
        if not faults:
            self.objects.newest_s = max(self.objects.newest_s, newest_s)
            self._keep(thing, faults)
        if not (faults or thing.uid or thing.owner) and (group, kind) in OWNER_KINDS:
            self.objects.manifests.append(Manifest(thing, document.data))
        if faults:
            self._ledger.reject(title_of(thing), faults)

    def _keep(self, thing: Thing, faults: Faults) -> None:
        key = (thing.group, thing.kind, thing.namespace, thing.name)
        first = self._seen.setdefault(key, thing)
        if first is thing:
            self.objects.keep(thing)
            if not is_usual_name(thing.name):
                self._ledger.warn(
                    thing.title,
                    "metadata.name",
                    "an API server would refuse this name; write lower-case letters, digits, "
                    "'-' and '.'",
                )
        elif not are_equal(first, thing):
            faults.add(
                "metadata.name",
                f"{thing.source} has other content than {first.source}, which counts; "
                "remove one of them",
            )

    def _keep_owner(self, document: Document, group: str, kind: str) -> None:
        """Keep the head of an object of another kind that makes its pods a group."""
        meta = document.data.get("metadata")
        annotations: Any = meta.get("annotations") if isinstance(meta, dict) else None
        if isinstance(annotations, dict) and MIN_MEMBER in annotations:
            faults = Faults()
            thing = thing_of(document, group, kind, faults)
            if not faults:
                self.objects.owners.append(thing)


def read_thing(
    document: Document, group: str, kind: str, read: Read, head: HeadBody | None
) -> tuple[Thing, Faults, int]:
    """Return the object, what is wrong with it, and the newest moment that it tells of."""
    faults = Faults()
    faults.extend(document.faults)
    thing = thing_of(document, group, kind, faults, head)
    thing.body, found = read(document)
    faults.extend(found)
    return thing, faults, 0 if faults else _newest_s(thing, faults)


def title_of(thing: Thing) -> str:
    """Return how messages call an object that may be faulty."""
    return thing.title if thing.name else f"{thing.kind} in {thing.source}"


def _newest_s(thing: Thing, faults: Faults) -> int:
    """Return the newest moment; a malformed one is a fault."""
    newest = max(thing.created_s or 0, thing.deleted_s or 0)
    status: Any = getattr(thing.body, "status", None)
    if getattr(status, "start_time", None):
        newest = max(newest, moment(status.start_time, "status.startTime", faults) or 0)
    conditions: list[ConditionBody] = getattr(status, "conditions", None) or []
    for i, c in enumerate(conditions):
        if not c.last_transition_time:
            continue
        try:
            at = seconds_of(c.last_transition_time)
        except ValueError as e:
            faults.add(f"status.conditions[{i}].lastTransitionTime", str(e))
        else:
            newest = newest if newest > at else at
    return newest


def _is_apportions(data: Any) -> bool:
    return isinstance(data, dict) and str(data.get("apiVersion")).startswith(_OURS)


def are_equal(a: Thing, b: Thing) -> bool:
    """Say whether two objects say the same, as far as it is read."""
    return all(
        getattr(a, name) == getattr(b, name)
        for name in ("uid", "labels", "annotations", "owner", "created_s", "deleted_s", "body")
    )


def read_objects(documents: Iterable[Document], options: ReadOptions, ledger: Ledger) -> Objects:
    """Read all documents."""
    reader = _Reader(options, ledger)
    for document in documents:
        reader.add(document)
    if not options.live:
        reader.make_jobsets()
    return reader.objects
