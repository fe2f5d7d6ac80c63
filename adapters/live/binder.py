"""Binding the pods of a group: all of them, and when one fails, it is said which and why.

A bind names the pod's uid and the version that the plan saw, so that a pod that was replaced or
changed in between is refused by the server, not bound to what was planned for another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from ...models import Node, NodeName, Pod, PodKey
from .access import Api, LostError, RefusedError

TRIES = 5
"""Of one bind, while the server is busy or does not answer."""
WAIT_S = 0.2
"""Before the second try; twice as long before each later one."""
Sleep = Callable[[float], Awaitable[None]]


class End(StrEnum):
    """How a bind ended."""

    BOUND = "bound"
    GONE = "gone"
    """The pod is not there any more, or is another one."""
    REFUSED = "refused"
    """The server will not have it: somebody else has bound the pod, or a policy forbids it."""
    UNSURE = "unsure"
    """There was no answer: the bind may have been carried out."""
    BUSY = "busy"
    """The server took no work."""


@dataclass(frozen=True, slots=True)
class ToBind:
    """A pod, its node, the resource version that the plan saw, and the node as it was then."""

    pod: Pod
    node: NodeName
    version: str = ""
    host: Node | None = None


@dataclass(slots=True)
class BoundGroup:
    """What became of the binds of a group."""

    ends: dict[PodKey, End] = field(default_factory=dict)
    why: str = ""
    """Of the first that failed."""
    retry_after_s: float = 0.0

    @property
    def is_whole(self) -> bool:
        return all(e is End.BOUND for e in self.ends.values())


async def bind_group(api: Api, pods: Sequence[ToBind], sleep: Sleep = asyncio.sleep) -> BoundGroup:
    """Bind the pods at once; never raises for what the server says.

    What ``api`` itself raises ends all of it, once every bind that was begun has ended.
    """
    done = BoundGroup()

    async def one(b: ToBind) -> None:
        end, why, wait_s = await _bind(api, b, sleep)
        done.ends[b.pod.key] = end
        if end is not End.BOUND:
            done.why = done.why or why
            done.retry_after_s = max(done.retry_after_s, wait_s)

    ended = await asyncio.gather(*(one(b) for b in pods), return_exceptions=True)
    for error in ended:
        if error is not None:
            raise error
    return done


async def _bind(api: Api, b: ToBind, sleep: Sleep) -> tuple[End, str, float]:
    version, unsure, why, wait_s = b.version, False, "", 0.0
    for attempt in range(TRIES):
        if attempt:
            await sleep(max(WAIT_S * 2 ** (attempt - 1), wait_s))
            there = await _look(api, b)
            if there is not None:
                end, version = there
                if end is not None:
                    return end, why, wait_s
                unsure = False
        try:
            await _send(api, b, version)
        except LostError as e:
            unsure, why, wait_s = True, f"binding pod {b.pod.key} to node {b.node}: {e}", 0.0
        except RefusedError as e:
            why, wait_s = f"binding pod {b.pod.key} to node {b.node}: {e}", e.retry_after_s or 0.0
            if e.status == 404:
                return End.GONE, why, wait_s
            if e.status != 409 and not e.is_for_now:
                return End.REFUSED, why, wait_s
        else:
            return End.BOUND, "", 0.0
    return (End.UNSURE if unsure else End.BUSY), why, wait_s


async def _send(api: Api, b: ToBind, version: str) -> None:
    pod = b.pod
    metadata: dict[str, Any] = {"namespace": pod.namespace, "name": pod.name}
    if pod.uid:
        metadata["uid"] = pod.uid
    if version:
        metadata["resourceVersion"] = version
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": b.node},
    }
    await api.send("POST", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding", body)


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    scheduling_gates: list[Any] = []


class _Seen(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


async def _look(api: Api, b: ToBind) -> tuple[End | None, str] | None:
    """Return how the pod stands (None: it still waits) and its version; None without an answer."""
    try:
        body = await api.get(f"/api/v1/namespaces/{b.pod.namespace}/pods/{b.pod.name}")
        seen = msgspec.json.decode(body, type=_Seen)
    except RefusedError as e:
        return (End.GONE, "") if e.status == 404 else None
    except (LostError, msgspec.DecodeError):
        return None
    if (b.pod.uid and seen.metadata.uid != b.pod.uid) or seen.metadata.deletion_timestamp:
        return End.GONE, ""
    if seen.spec.node_name:
        return (End.BOUND if seen.spec.node_name == b.node else End.REFUSED), ""
    if seen.spec.scheduling_gates:
        return End.REFUSED, ""
    return None, seen.metadata.resource_version
