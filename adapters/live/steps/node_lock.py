"""The lock of a node by which HAMi's plug-in knows whose devices the kubelet asks for.

The annotation names one pod. Whoever binds a share takes the lock; the plug-in gives it back once
it has served the pod, or failed. A lock of a pod that is gone, or older than 5 minutes, counts for
nothing.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import msgspec

from ....models import Pod
from ...kubernetes.times import stamp
from ..access import Api, LostError, RefusedError
from ..binder import ToBind
from ..mirror import Kind
from ..prepare import NotReadyError
from .waiting import POD, Means, Seen, Waiting, is_at
from .writing import read, send, telling, version_of

NODE: Kind = ("", "Node")
LOCK = "hami.io/mutex.lock"
EXPIRES_S = 300
TURN_S = 60.0
"""The plug-in serves a pod within this time."""
TRIES = 5


@dataclass(slots=True)
class NodeLock:
    """Takes the locks of nodes for pods, one at a time."""

    api: Api
    seen: Seen
    means: Means = field(default_factory=Means)

    async def take(self, b: ToBind) -> None:
        """Take the lock for a pod; waits while another pod is served.

        Raises
        ------
        NotReadyError
            If the node stays locked, is gone, or the server refuses.
        """
        end_s = self.means.now_s() + TURN_S
        version = ""
        for _ in range(TRIES):
            left_s = end_s - self.means.now_s()
            free = await Waiting(self.seen, self.means).until(
                partial(self._is_free, b, version), (NODE, POD), left_s
            )
            if free is None:
                break
            with telling(f"locking node {b.node} for pod {b.pod.key}"):
                node = await read(self.api, _path(b.node))
                version = version_of(node)
                if self._valid(_lock(node), b.pod) is None and await self._write(b, version):
                    return
        said = f"node {b.node} is locked for pod {self._holder(b)}"
        raise NotReadyError(f"{said}; look at HAMi's device plug-in there")

    async def served(self, b: ToBind) -> bool:
        """Wait until the plug-in has given the lock back; False: it has not in time."""
        done = await Waiting(self.seen, self.means).until(
            lambda: True if self._holder(b, own=True) != b.pod.key else None, (NODE, POD), TURN_S
        )
        return done is not None

    async def release(self, b: ToBind) -> None:
        """Give the lock back if the pod has it. Never raises for the server."""
        with suppress(RefusedError, LostError, msgspec.DecodeError):
            node = await read(self.api, _path(b.node))
            if _owner(_lock(node)) == b.pod.key:
                await self._patch(b.node, version_of(node), None)

    def _is_free(self, b: ToBind, version: str) -> bool | None:
        """Say True once the node, as it was seen after the version, is not locked for others."""
        entry = self.seen.entry(NODE, "", b.node)
        if entry is None:
            raise NotReadyError(f"node {b.node} is gone")
        return True if is_at(entry, version) and self._holder(b) is None else None

    def _holder(self, b: ToBind, own: bool = False) -> str | None:
        """Return the pod that has the node's lock, unless that counts for nothing."""
        entry = self.seen.entry(NODE, "", b.node)
        lock = entry.thing.annotations.get(LOCK, "") if entry is not None else ""
        return self._valid(lock, None if own else b.pod)

    def _valid(self, lock: str, pod: Pod | None) -> str | None:
        owner = _owner(lock)
        if not lock or (pod is not None and owner == pod.key):
            return None
        since_s = _since_s(lock)
        if since_s is None or self.means.wall_s() - since_s > EXPIRES_S:
            return None
        if owner:
            namespace, _, name = owner.partition("/")
            if self.seen.entry(POD, namespace, name) is None:
                return None
        return owner

    async def _write(self, b: ToBind, version: str) -> bool:
        """Lock the node; False: it has changed meanwhile."""
        now = stamp(self.means.wall_s())
        try:
            await self._patch(b.node, version, f"{now},{b.pod.namespace},{b.pod.name}")
        except RefusedError as e:
            if e.status == 409:
                return False
            raise
        return True

    async def _patch(self, node: str, version: str, lock: str | None) -> None:
        meta = {"resourceVersion": version, "annotations": {LOCK: lock}}
        await send(self.api, "PATCH", _path(node), {"metadata": meta})


def _path(node: str) -> str:
    return f"/api/v1/nodes/{node}"


def _lock(node: dict[str, object]) -> str:
    notes = msgspec.convert(node["metadata"], type=_Meta).annotations or {}
    return notes.get(LOCK, "")


class _Meta(msgspec.Struct):
    annotations: dict[str, str] | None = None


def _owner(lock: str) -> str:
    """Return the pod that a lock names; "": the older form names none."""
    words = lock.split(",")
    return f"{words[1]}/{words[2]}" if len(words) == 3 else ""


def _since_s(lock: str) -> float | None:
    try:
        return datetime.fromisoformat(lock.split(",")[0].replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
