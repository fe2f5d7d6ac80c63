"""A cluster in memory that answers the requests of the live scheduler as an API server would.

What a watch would tell of is shown by ``snapshot`` at once, or, with ``deaf``, only after
``hear``. Answers can be scripted by method and path.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from msgspec.structs import replace

from apportion.adapters.live.access import LostError, RefusedError
from apportion.models import NodeName, Pod, PodKey, PodState, Snapshot

Script = Callable[["Request"], Exception | None]


class Request:
    """One request that was made."""

    def __init__(self, method: str, path: str, body: Any, dry: bool) -> None:
        self.method = method
        self.path = path
        self.body = body
        self.dry = dry

    @property
    def pod(self) -> str:
        """``namespace/name`` of the pod in the path."""
        parts = self.path.split("/")
        return f"{parts[4]}/{parts[6]}"

    @property
    def verb(self) -> str:
        """bind, evict, try (an eviction that is only tried), status or get."""
        last = self.path.rsplit("/", 1)[-1]
        if last == "eviction":
            return "try" if self.dry else "evict"
        return {"binding": "bind", "status": "status"}.get(last, self.method.lower())

    def __repr__(self) -> str:
        return f"{self.verb} {self.pod}"


class FakeCluster:
    """Pods that can be bound and evicted; the rest of the snapshot stays as it is."""

    def __init__(self, snapshot: Snapshot, script: Script | None = None) -> None:
        pods = (replace(p, uid=p.uid or f"uid-{p.key}") for p in snapshot.pods)
        self._rest = snapshot
        self._now: dict[PodKey, Pod] = {p.key: p for p in pods}
        self._heard = dict(self._now)
        self._versions: dict[PodKey, int] = dict.fromkeys(self._now, 1)
        self._script = script or (lambda request: None)
        self.deaf = False
        self.requests: list[Request] = []
        self.changed = asyncio.Event()
        self.changes = 0
        self.departed = 0
        self.arrived = 0

    # What the scheduler sees.

    def snapshot(self, now_s: int) -> Snapshot:
        del now_s
        nominations = {p.key: p.nominated for p in self._heard.values() if p.nominated}
        return replace(
            self._rest,
            pods=tuple(sorted(self._heard.values(), key=lambda p: p.key)),
            nominations=tuple(sorted(nominations.items())),
        )

    def version_of(self, key: PodKey) -> str:
        return str(self._versions[key]) if key in self._versions else ""

    # What a test does to it, and asks of it.

    def put(self, pod: Pod) -> None:
        before = self._now.get(pod.key)
        self.departed += before is not None and before.holds and not pod.holds
        self.arrived += before is None and not pod.holds
        self._now[pod.key] = pod
        self._versions[pod.key] = self._versions.get(pod.key, 0) + 1
        self._tell()

    def delete(self, key: str) -> None:
        self.departed += self._now.pop(PodKey(key)).holds
        self._tell()

    def hear(self) -> None:
        """Let what has happened be seen."""
        self._heard = dict(self._now)
        self.changes += 1
        self.changed.set()

    def pod(self, key: str) -> Pod:
        return self._now[PodKey(key)]

    @property
    def places(self) -> dict[str, str]:
        """Node of every pod that has one."""
        return {p.key: p.node for p in self._now.values() if p.node is not None}

    def asked(self, verb: str) -> list[str]:
        """Return the pods of all requests of a kind, sorted."""
        return sorted(r.pod for r in self.requests if r.verb == verb)

    # The API.

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.send("GET", path, None, params=params)

    async def watch(self, path: str, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        raise NotImplementedError(f"{path} {params}: the fake has no watches")
        yield b""

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        request = Request(method, path, body, bool(params and params.get("dryRun")))
        self.requests.append(request)
        await asyncio.sleep(0)
        error = self._script(request)
        if isinstance(error, RefusedError):
            raise error
        answer = self._answer(request)
        if isinstance(error, LostError):  # carried out, but nobody hears of it
            raise error
        return answer

    def _answer(self, request: Request) -> bytes:
        pod = self._now.get(PodKey(request.pod))
        if pod is None:
            raise RefusedError(404, "NotFound", f'pods "{request.pod}" not found')
        if request.verb == "bind":
            self._bind(pod, request.body)
        elif request.verb in ("evict", "try"):
            self._evict(pod, request)
        elif request.verb == "status":
            at = request.body["status"]["nominatedNodeName"]
            self.put(replace(pod, nominated=at))
        return json.dumps(
            {
                "metadata": {"uid": pod.uid, "resourceVersion": self.version_of(pod.key)},
                "spec": {"nodeName": pod.node} if pod.node else {},
            }
        ).encode()

    def _bind(self, pod: Pod, body: Any) -> None:
        meta = body["metadata"]
        if meta.get("uid", pod.uid) != pod.uid:
            raise RefusedError(409, "Conflict", "the uid in the precondition does not match")
        if pod.node is not None:
            raise RefusedError(409, "Conflict", f"pod is already assigned to node {pod.node}")
        if meta.get("resourceVersion", self.version_of(pod.key)) != self.version_of(pod.key):
            raise RefusedError(409, "Conflict", "the resourceVersion does not match")
        node = NodeName(body["target"]["name"])
        self.put(replace(pod, state=PodState.RUNNING, node=node, nominated=None))

    def _evict(self, pod: Pod, request: Request) -> None:
        wanted = request.body["deleteOptions"].get("preconditions", {}).get("uid", pod.uid)
        if wanted != pod.uid:
            raise RefusedError(409, "Conflict", "the UID in the precondition does not match")
        if not request.dry:
            self.put(replace(pod, state=PodState.TERMINATING))

    def _tell(self) -> None:
        if not self.deaf:
            self.hear()
