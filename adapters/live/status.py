"""How a live scheduler is doing, read from the cluster alone: Lease, Queues, conditions of pods."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ..kubernetes.times import seconds_of
from .access import Api, RefusedError
from .lease import NOTE, LeaseName

_PAGE = "1000"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class _PodStatus(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _QueueStatus(msgspec.Struct):
    state: str = ""
    pending: int = 0
    running: int = 0
    inqueue: int = 0
    allocated: dict[str, str | int] | None = None


class _Queue(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _QueueStatus = msgspec.field(default_factory=_QueueStatus)


class _ListMeta(msgspec.Struct):
    more: str = msgspec.field(default="", name="continue")


class _PodList(msgspec.Struct):
    items: list[_Pod] = []
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class _QueueList(msgspec.Struct):
    items: list[_Queue] = []


@dataclass(frozen=True, slots=True)
class Leader:
    """Who schedules. ``cycle`` is what the Lease says of the last one."""

    holder: str
    renewed_s: int | None
    """Seconds since 1970."""
    changes: int
    cycle: dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueueState:
    """A Queue as its status says."""

    name: str
    state: str
    running: int
    waiting: int
    allocated: dict[str, str]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods that wait for the same reason."""

    namespace: str
    pods: tuple[str, ...]
    reason: str
    message: str
    since_s: int | None
    """Since when the first of them has been told so."""


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that ``apportion status`` shows."""

    leader: Leader | None
    """None: there is no Lease."""
    queues: tuple[QueueState, ...]
    waiting: tuple[Waiting, ...]
    running: int
    """Pods of ours that have a node and have not ended."""


async def status_of(api: Api, lease: LeaseName, names: Sequence[str]) -> Status:
    """Ask the cluster.

    Raises
    ------
    RefusedError, LostError
        If pods cannot be listed; a Lease or Queues that are not there are left out.
    """
    pods = [p for some in [await _pods(api, n) for n in names] for p in some]
    alive = [p for p in pods if p.status.phase not in ("Succeeded", "Failed")]
    return Status(
        await _leader(api, lease),
        tuple(await _queues(api)),
        tuple(_waiting(p for p in alive if not p.spec.node_name)),
        sum(bool(p.spec.node_name) for p in alive),
    )


async def _leader(api: Api, lease: LeaseName) -> Leader | None:
    try:
        body = await api.get(f"{lease.path}/{lease.name}")
    except RefusedError as e:
        if e.status == 404:
            return None
        raise
    data = msgspec.json.decode(body, type=dict[str, Any])
    spec = data.get("spec") or {}
    note = ((data.get("metadata") or {}).get("annotations") or {}).get(NOTE)
    try:
        cycle = msgspec.json.decode(note or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        cycle = {}
    return Leader(
        str(spec.get("holderIdentity") or ""),
        _moment(spec.get("renewTime")),
        int(spec.get("leaseTransitions") or 0),
        cycle,
    )


async def _queues(api: Api) -> list[QueueState]:
    try:
        body = await api.get("/apis/scheduling.volcano.sh/v1beta1/queues")
    except RefusedError as e:
        if e.status == 404:
            return []
        raise
    found = msgspec.json.decode(body, type=_QueueList).items
    return [
        QueueState(
            q.metadata.name,
            q.status.state or "Open",
            q.status.running,
            q.status.pending + q.status.inqueue,
            {k: str(v) for k, v in sorted((q.status.allocated or {}).items())},
        )
        for q in sorted(found, key=lambda q: q.metadata.name)
    ]


async def _pods(api: Api, scheduler: str) -> list[_Pod]:
    out: list[_Pod] = []
    params = {"fieldSelector": f"spec.schedulerName={scheduler}", "limit": _PAGE}
    while True:
        page = msgspec.json.decode(await api.get("/api/v1/pods", params), type=_PodList)
        out += page.items
        if not page.metadata.more:
            return out
        params = {**params, "continue": page.metadata.more}


def _waiting(pods: Iterable[_Pod]) -> list[Waiting]:
    told: dict[tuple[str, str, str], list[tuple[str, int | None]]] = defaultdict(list)
    for p in pods:
        said = next((c for c in p.status.conditions or () if c.type == "PodScheduled"), None)
        reason, message = ("", "") if said is None else (said.reason, said.message)
        since = None if said is None else _moment(said.last_transition_time)
        told[p.metadata.namespace, reason, message].append((p.metadata.name, since))
    return [
        Waiting(
            namespace,
            tuple(sorted(name for name, _ in its)),
            reason,
            message,
            min((s for _, s in its if s is not None), default=None),
        )
        for (namespace, reason, message), its in sorted(told.items())
    ]


def _moment(text: str | None) -> int | None:
    try:
        return seconds_of(text) if text else None
    except ValueError:
        return None
