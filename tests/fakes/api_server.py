"""An API server in memory for the feed: discovery, lists in pages, watches, compaction, faults."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from apportion.adapters.live.access import LostError, RefusedError

Data = dict[str, Any]
Fault = Callable[["FakeApiServer", str, Mapping[str, str]], Exception | None]
KINDS = {
    "pods": ("", "v1", "Pod", True),
    "nodes": ("", "v1", "Node", False),
    "queues": ("scheduling.volcano.sh", "v1beta1", "Queue", False),
}


class FakeApiServer:
    """Objects by resource, and everything that happened to them, until it is compacted."""

    def __init__(self, *plurals: str) -> None:
        self.plurals = {"pods", "nodes", *plurals}
        self.version = 10
        self.faults: list[Fault] = []
        """Asked before each request; the first error that one gives is the answer."""
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._objects: dict[str, dict[tuple[str, str], Data]] = {p: {} for p in KINDS}
        self._log: list[tuple[int, str, bytes]] = []
        self._compacted = 0
        self._watches = 0
        self._pages: dict[str, tuple[int, list[Data]]] = {}
        self._happened = asyncio.Event()

    # What a test does.

    def put(self, plural: str, *objects: Data) -> None:
        for one in objects:
            name = (one["metadata"].get("namespace", ""), one["metadata"]["name"])
            kind = "MODIFIED" if name in self._objects[plural] else "ADDED"
            self.version += 1
            one = {**one, "metadata": {**one["metadata"], "resourceVersion": str(self.version)}}
            self._objects[plural][name] = one
            self.tell(plural, event(kind, one))

    def delete(self, plural: str, name: str, namespace: str = "") -> None:
        one = self._objects[plural].pop((namespace, name))
        self.version += 1
        one = {**one, "metadata": {**one["metadata"], "resourceVersion": str(self.version)}}
        self.tell(plural, event("DELETED", one))

    def bookmark(self, plural: str) -> None:
        self.version += 1
        self.tell(plural, event("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}}))

    def tell(self, plural: str, line: bytes) -> None:
        """Send a line to whoever watches, now or from an earlier version on."""
        self._log.append((self.version, plural, line))
        self._happened.set()
        self._happened = asyncio.Event()

    def compact(self) -> None:
        """Forget what happened; pages that are not read yet are lost too."""
        self._compacted = self.version
        self._pages.clear()

    def restore(self, version: int) -> None:
        """Go back to an earlier version, as a backup of etcd does; its objects are to be put."""
        self.version = version
        for objects in self._objects.values():
            objects.clear()
        self._log.clear()
        self._pages.clear()

    def cut(self) -> None:
        """Break every watch off."""
        self._watches += 1
        self.tell("", b"")

    def known(self, plural: str) -> set[str]:
        return {name for _, name in self._objects[plural]}

    def count(self, what: str) -> int:
        """Return how many requests had a path or parameter of that name."""
        return sum(path == what or what in params for path, params in self.asked)

    # The API.

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        params = params or {}
        await self._begin(path, params)
        if path == "/apis":
            groups = {KINDS[p][:2] for p in self.plurals if KINDS[p][0]}
            return _json({"groups": [_group(*g) for g in sorted(groups)]})
        for group, version in {k[:2] for k in KINDS.values()}:
            if path == (f"/apis/{group}/{version}" if group else f"/api/{version}"):
                return _json({"resources": [_served(p) for p in self._of(group)]})
        return self._list(path.rsplit("/", 1)[-1], params)

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        await self._begin(path, {"watch": "true", **params})
        plural, mine = path.rsplit("/", 1)[-1], self._watches
        self._check(plural)
        at = int(params["resourceVersion"])
        if at < self._compacted:
            raise RefusedError(410, "Expired", f"too old resource version: {at}")
        if at > self.version:
            said = f"Too large resource version: {at}, current: {self.version}"
            raise RefusedError(504, "Timeout", said)
        seen = next((i for i, (v, _, _) in enumerate(self._log) if v > at), len(self._log))
        while True:
            while seen < len(self._log):
                _, of, line = self._log[seen]
                seen += 1
                if self._watches != mine:
                    raise LostError("connection reset")
                if of == plural:
                    yield line
            await self._happened.wait()

    async def send(self, *args: Any, **named: Any) -> bytes:
        raise NotImplementedError("the feed only reads")

    async def _begin(self, path: str, params: Mapping[str, str]) -> None:
        self.asked.append((path, dict(params)))
        await asyncio.sleep(0)
        for fault in list(self.faults):
            error = fault(self, path, params)
            if error is not None:
                raise error

    def _check(self, plural: str) -> None:
        if plural not in self.plurals:
            raise RefusedError(404, "NotFound", "the server could not find the resource")

    def _of(self, group: str) -> list[str]:
        return sorted(p for p in self.plurals if KINDS[p][0] == group)

    def _list(self, plural: str, params: Mapping[str, str]) -> bytes:
        self._check(plural)
        if "continue" in params:
            if params["continue"] not in self._pages:
                raise RefusedError(410, "Expired", "the provided continue parameter is too old")
            version, items = self._pages[params["continue"]]
        else:
            version, items = self.version, list(self._objects[plural].values())
        size = int(params.get("limit", len(items) or 1))
        page, rest = items[:size], items[size:]
        meta: Data = {"resourceVersion": str(version)}
        if rest:
            meta["continue"] = f"{plural}-{version}-{len(rest)}"
            self._pages[meta["continue"]] = (version, rest)
        # As a server does: items of built-in kinds do not say what they are.
        bare = [{k: v for k, v in o.items() if k not in ("apiVersion", "kind")} for o in page]
        return _json({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": bare})


def event(kind: str, one: Data) -> bytes:
    return _json({"type": kind, "object": one})


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _group(group: str, version: str) -> Data:
    versions = [{"version": "v1alpha1"}, {"version": version}]
    return {"name": group, "versions": versions, "preferredVersion": {"version": "v1alpha1"}}


def _served(plural: str) -> Data:
    _, _, kind, namespaced = KINDS[plural]
    return {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["list", "watch"]}
