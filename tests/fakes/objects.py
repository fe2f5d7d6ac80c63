"""Objects of an API server in memory, which a mirror sees: merge patches, versions, controllers."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.mirror import Mirror
from apportion.adapters.live.shelves import Kind

Data = dict[str, Any]
Path = str
KINDS: dict[str, Kind] = {
    "pods": ("", "Pod"),
    "nodes": ("", "Node"),
    "configmaps": ("", "ConfigMap"),
    "persistentvolumeclaims": ("", "PersistentVolumeClaim"),
    "persistentvolumes": ("", "PersistentVolume"),
    "queues": ("scheduling.volcano.sh", "Queue"),
    "storageclasses": ("storage.k8s.io", "StorageClass"),
    "resourceclaims": ("resource.k8s.io", "ResourceClaim"),
    "namespaces": ("", "Namespace"),
    "resourceclaimtemplates": ("resource.k8s.io", "ResourceClaimTemplate"),
    "resourceslices": ("resource.k8s.io", "ResourceSlice"),
    "deviceclasses": ("resource.k8s.io", "DeviceClass"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that changes something."""

    method: str
    path: Path
    body: Any


@dataclass
class FakeObjects:
    """Objects by path, as ``/api/v1/namespaces/default/pods/p``.

    ``controllers`` are told of every write, after it, and may write themselves with ``put``; an
    error that ``script`` returns is the answer to the request instead.
    """

    mirror: Mirror = field(default_factory=lambda: Mirror(ReadOptions()))
    objects: dict[Path, Data] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    controllers: list[Callable[[Path, Data], None]] = field(default_factory=list)
    script: Callable[[Asked], Exception | None] = lambda _: None
    deaf: bool = False
    """The mirror hears of nothing."""
    _version: int = 100

    # What a test does.

    def put(self, *things: Data) -> None:
        for one in things:
            path = path_of(one)
            self._keep(path, one)

    def remove(self, path: Path) -> None:
        one = self.objects.pop(path)
        meta = one["metadata"]
        kind = KINDS[path.split("/")[-2]]
        if kind in self.mirror.readable:
            self.mirror.remove(kind, meta.get("namespace", ""), meta["name"])

    def change(self, path: Path, patch: Mapping[str, Any]) -> None:
        """Merge a change into an object, as some controller does."""
        self._keep(path, merged(self.objects[path], patch))

    def sent(self, method: str, part: str = "") -> list[Asked]:
        """Return the requests of a method to paths that contain the part."""
        return [a for a in self.asked if a.method == method and part in a.path]

    # The API.

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        if path in self.objects:
            return json.dumps(self.objects[path]).encode()
        if path.rpartition("/")[2] in KINDS:
            return json.dumps({"items": self._list(path, params or {})}).encode()
        raise RefusedError(404, "NotFound", path)

    def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        asked = Asked(method, path, json.loads(json.dumps(body)))
        self.asked.append(asked)
        error = self.script(asked)
        if error is not None:
            raise error
        made = self._done(asked, content_type)
        for told in self.controllers:
            told(path_of(made), made)
        return json.dumps(made).encode()

    def _done(self, asked: Asked, content_type: str) -> Data:
        body: Data = asked.body or {}
        if asked.method == "POST":
            path = f"{asked.path}/{body['metadata']['name']}"
            if path in self.objects:
                raise RefusedError(409, "AlreadyExists", path)
            named: Data = body["metadata"]
            uid = f"uid-{named['name']}-{self._version}"
            return self._keep(path, {**body, "metadata": {"uid": uid, **named}})
        path = whole_path(asked.path)
        if path not in self.objects:
            raise RefusedError(404, "NotFound", path)
        before = self.objects[path]
        conditions: Data = body.get("preconditions") or body.get("metadata") or {}
        for key in ("uid", "resourceVersion"):
            if conditions.get(key) not in (None, before["metadata"].get(key)):
                raise RefusedError(409, "Conflict", f"{path}: {key}")
        if asked.method == "DELETE":
            self.remove(path)
            return before
        if asked.method == "PUT":
            return self._keep(path, body)
        assert (asked.method, content_type) == ("PATCH", "application/merge-patch+json")
        return self._keep(path, merged(before, body))

    def _keep(self, path: Path, one: Data) -> Data:
        self._version += 1
        one = json.loads(json.dumps(one))
        one["metadata"]["resourceVersion"] = str(self._version)
        one["metadata"].setdefault("uid", f"uid-{one['metadata']['name']}")
        self.objects[path] = one
        if not self.deaf:
            self._tell(path)
        return one

    def _tell(self, path: Path) -> None:
        kind = KINDS[path.split("/")[-2]]
        if kind in self.mirror.readable:
            self.mirror.put(kind, json.dumps(self.objects[path]).encode())

    def hear(self) -> None:
        """Let the mirror hear of everything again."""
        self.deaf = False
        for path in self.objects:
            self._tell(path)

    def _list(self, path: Path, params: Mapping[str, str]) -> list[Data]:
        plural = path.rpartition("/")[2]
        found = [o for p, o in self.objects.items() if p.split("/")[-2] == plural]
        key, has, value = params.get("labelSelector", "").partition("=")
        return [o for o in found if not key or _has(o, key, value if has else None)]


def _has(one: Data, key: str, value: str | None) -> bool:
    labels = one["metadata"].get("labels", {})
    return key in labels and value in (None, labels[key])


def whole_path(path: Path) -> Path:
    """Return the path of the object to which a subresource belongs."""
    parts = path.split("/")
    return "/".join(parts[:-1]) if parts[-1] in ("status", "binding") else path


def path_of(one: Mapping[str, Any]) -> Path:
    """Return where an object is."""
    api, meta = one["apiVersion"], one["metadata"]
    plural = next(p for p, (_, kind) in KINDS.items() if kind == one["kind"])
    root = f"/apis/{api}" if "/" in api else f"/api/{api}"
    inside = f"/namespaces/{meta['namespace']}" if meta.get("namespace") else ""
    return f"{root}{inside}/{plural}/{meta['name']}"


def merged(before: Any, patch: Any) -> Any:
    """Return the result of a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    out = dict(before) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), value)
    return out
