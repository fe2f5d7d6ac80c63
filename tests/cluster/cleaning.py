"""Empty a cluster for the next test: what was not there at the start is deleted."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cluster.client import MERGE, THREADS, ApiError, Client, Data
from cluster.kinds import Kind
from cluster.waiting import DEADLINE_S, PlaneError, until

NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

MAKERS = {"apps", "batch"}
"""Groups whose objects bring others back: they go first."""

LAST = ("nodes", "customresourcedefinitions", "namespaces")
"""Kinds that others are in."""

FOLLOWING = ("apiservices",)
"""Kinds that the API server makes from definitions, and makes again where they are deleted."""

KEPT = {
    ("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases"),
    ("", "endpoints"), ("discovery.k8s.io", "endpointslices"),
}  # fmt: skip
"""Kinds that the parts of the control plane write in kube-system and beside their nodes."""


STAYS = ".volcano.sh"
"""Definitions of this group stay for other tests: it takes a second until new ones are served."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One object to be deleted."""

    kind: Kind
    name: str
    namespace: str | None
    uid: str
    has_finalizers: bool

    @property
    def path(self) -> str:
        return self.kind.path(self.name, self.namespace)


def paths(client: Client) -> dict[str, str]:
    """Return what is in the cluster now, by uid, to be kept by `clean`."""
    return {thing.uid: thing.path for kind in _kinds(client) for thing in _things(client, kind)}


def clean(client: Client, kept: Collection[str], deadline_s: float = DEADLINE_S) -> None:
    """Delete everything but what is to be kept, at once: no grace, no finalizers, no budgets."""

    left: list[str] = []

    def is_empty() -> bool:
        try:
            left[:] = _sweep(client, kept)
        except ApiError as error:
            if error.status != 429:
                raise
            left[:] = [str(error)]  # a definition came or went, its store is being made ready
        return not left

    try:
        until(is_empty, "the cluster is empty", deadline_s)
    except PlaneError as error:
        raise PlaneError(f"{error}; still there: {', '.join(left[:10])}") from None


def _sweep(client: Client, kept: Collection[str]) -> list[str]:
    """Delete what is there; return the paths of what was found, hence may be there still."""
    found = []
    with ThreadPoolExecutor(THREADS) as pool:
        for kind in _kinds(client):
            things = [t for t in _things(client, kind) if t.uid not in kept and not _stays(t)]
            list(pool.map(lambda thing: _delete(client, thing), things))
            found += [thing.path for thing in things]
    return found


def _kinds(client: Client) -> list[Kind]:
    """Return the kinds that can be emptied, in the order in which to do it."""
    kinds = [
        k for k in client.kinds() if {"list", "delete"} <= k.verbs and k.plural not in FOLLOWING
    ]

    def order(kind: Kind) -> int:
        if kind.plural in LAST:
            return LAST.index(kind.plural) + 2
        return 0 if kind.group in MAKERS else 1

    return sorted(kinds, key=order)


def _things(client: Client, kind: Kind) -> Iterator[Thing]:
    try:
        items = client.get(kind.path(), NAMES_ONLY)["items"] or ()  # null where there are none
    except ApiError as error:
        if error.status in (404, 405):  # its definition went a moment ago
            return
        raise
    for item in items:
        meta: dict[str, Any] = item["metadata"]
        namespace = meta.get("namespace")
        is_of_plane = namespace in ("kube-system", "kube-node-lease") and (
            (kind.group, kind.plural) in KEPT
        )
        if not is_of_plane:
            yield Thing(kind, meta["name"], namespace, meta["uid"], bool(meta.get("finalizers")))


def _stays(thing: Thing) -> bool:
    return thing.kind.kind == "CustomResourceDefinition" and thing.name.endswith(STAYS)


def _delete(client: Client, thing: Thing) -> None:
    """Delete one object whatever it waits for."""
    query = "?gracePeriodSeconds=0&propagationPolicy=Background"
    with _next_time():
        client.request("DELETE", thing.path + query)
    with _next_time():
        if thing.kind.plural == "namespaces":
            _finalize(client, thing)
        elif thing.has_finalizers and thing.kind.plural != "customresourcedefinitions":
            change: Data = {"metadata": {"finalizers": None}}
            client.request("PATCH", thing.path, change, sent=MERGE)


@contextmanager
def _next_time() -> Iterator[None]:
    """Let pass that an object is gone, has changed, or is being deleted: the next sweep sees."""
    try:
        yield
    except ApiError as error:
        if error.status not in (404, 409):
            raise


def _finalize(client: Client, thing: Thing) -> None:
    """Let an empty namespace go: its controller does not run."""
    body = client.get(thing.path)
    body["spec"] = {"finalizers": []}
    client.request("PUT", f"{thing.path}/finalize", body)
