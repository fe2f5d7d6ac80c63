"""Handing shares of devices over: what the way of each node needs to give a pod its devices.

The plan has chosen the devices; each way has a program on the node that gives a container access to
them, and that has to be told. Whole devices of a node with HAMi's plug-in are told likewise.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ....models import Device, GroupKey, NodeName, Plan
from ....models.devices import GPU
from ...kubernetes.body_pod import PodSpecBody
from ...kubernetes.vendors import NVIDIA, SOFT, Vendor, vendor_of
from ..access import Api, LostError, RefusedError
from ..binder import End, ToBind, bind_group
from ..prepare import NotReadyError
from .node_lock import NodeLock
from .reservation import VISIBLE, Reservations, labels_of
from .vgpu import (
    GPUSHARE,
    HAMI_NODE,
    VOLCANO,
    gpushare_notes,
    hami_keys,
    hami_labels,
    hami_notes,
    nothing,
    volcano_notes,
)
from .waiting import POD, Means, Seen, check_there, together
from .writing import mark, telling, unbound

_KEYS = {"volcano": VOLCANO, "gpushare": GPUSHARE, "reservation": (VISIBLE,)}
"""The annotations of each way but HAMi's, which depend on the vendor."""
_MIG = "mig"
Devices = Mapping[str, tuple[int, ...]]
"""By pod, the indexes of its devices."""


@dataclass(slots=True)
class HandOver:
    """Tells each way which devices a pod gets."""

    api: Api
    seen: Seen
    reservations: Reservations
    lock: NodeLock
    means: Means = field(default_factory=Means)
    may_write: Callable[[], bool] = lambda: True
    """Whether this replica still leads: asked before a pod is bound in turn."""
    _last_s: dict[NodeName, int] = field(default_factory=dict)
    """When a pod was last handed over, by node: their order is that of these times."""

    def concerns(self, pods: Sequence[ToBind], plan: Plan) -> bool:
        return any(way_of(b) for b in pods)

    async def prepare(self, group: GroupKey, pods: Sequence[ToBind], plan: Plan) -> None:
        devices: Devices = {b.pod: b.devices for b in plan.binds}
        by_way: dict[str, list[ToBind]] = {}
        # In the order in which a kubelet takes pods that come together.
        for b in sorted(pods, key=lambda b: (b.pod.created_s, b.pod.key)):
            if way := way_of(b):
                by_way.setdefault(way, []).append(b)
        tell: dict[str, Callable[[ToBind, Devices], Coroutine[Any, Any, None]]] = {
            "volcano": self._volcano, "gpushare": self._gpushare, "hami": self._hami,
        }  # fmt: skip
        await self.reservations.hand_over(by_way.pop("reservation", ()), devices)
        await together(*(tell[way](b, devices) for way, its in by_way.items() for b in its))
        turns: dict[NodeName, list[ToBind]] = {}
        for b in by_way.get("hami", ()):
            if devices.get(b.pod.key):
                turns.setdefault(b.node, []).append(b)
        await together(*(self._in_turn(its) for its in turns.values()))

    async def undo(self, group: GroupKey, pods: Sequence[ToBind]) -> None:
        for b in pods:
            way = way_of(b)
            pod = await unbound(self.api, b) if way else None
            if way == "hami" and (pod is not None or not self._is_there(b)):
                await self.lock.release(b)
            if pod is None:
                continue
            labels: dict[str, str | None] = {HAMI_NODE: None} if way == "hami" else {}
            if way == "reservation":
                old: dict[str, str] = pod["metadata"].get("labels") or {}
                labels = {k: v for k, v in labels_of((), old).items() if v is None}
            with suppress(RefusedError, LostError, msgspec.DecodeError):
                keys = hami_keys(_vendor(b)) if way == "hami" else _KEYS[way]
                await mark(self.api, b.pod, nothing(keys), labels)

    def _is_there(self, b: ToBind) -> bool:
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        return entry is not None and entry.uid == b.pod.uid

    # Ways

    async def _volcano(self, b: ToBind, devices: Devices) -> None:
        notes = volcano_notes(self._spec(b), self._given(b, devices), b.node, self._time_s(b.node))
        await self._mark(b, notes, {})

    async def _gpushare(self, b: ToBind, devices: Devices) -> None:
        indexes = devices.get(b.pod.key, ())
        await self._mark(b, gpushare_notes(indexes, self._time_s(b.node) * 10**9), {})

    async def _hami(self, b: ToBind, devices: Devices) -> None:
        given = self._given(b, devices)
        if any(d.mode == _MIG for d in given):
            said = "this version cannot tell HAMi's plug-in which MIG instance it gets"
            raise NotReadyError(f"pod {b.pod.key}: {said}; use mode hami-core")
        notes = hami_notes(self._spec(b), given, b.node, self._time_s(b.node), _vendor(b))
        if given:
            await self._mark(b, notes, hami_labels(b.node))

    async def _in_turn(self, pods: Sequence[ToBind]) -> None:
        """Take the node's lock for the pods, one after the other.

        HAMi's plug-in serves one pod at a time. All but the last are bound here, each once the one
        before has been served; the last is bound with all others of its group.
        """
        where = pods[0].node
        try:
            for b in pods:
                await self.lock.take(b)
                if b is pods[-1]:
                    return
                if not self.may_write():
                    raise NotReadyError("another replica leads")
                ended = await bind_group(self.api, [ToBind(b.pod, b.node)], self.means.sleep)
                if ended.ends[b.pod.key] is not End.BOUND:
                    raise NotReadyError(ended.why, ended.retry_after_s)
                if not await self.lock.served(b):
                    said = f"HAMi's plug-in on node {b.node} has not served pod {b.pod.key}"
                    raise NotReadyError(f"{said}; look at its log")
        except NotReadyError as e:
            raise NotReadyError(f"sharing devices of node {where}: {e}", e.wait_s) from e

    async def _mark(self, b: ToBind, notes: Mapping[str, str], labels: Mapping[str, str]) -> None:
        with telling(f"telling pod {b.pod.key} its devices"):
            await mark(self.api, b.pod, notes, labels)

    def _spec(self, b: ToBind) -> PodSpecBody:
        check_there(self.seen, b)
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        spec: PodSpecBody | None = entry.thing.body.spec if entry is not None else None
        return spec or PodSpecBody()

    def _given(self, b: ToBind, devices: Devices) -> list[Device]:
        if b.host is None:
            raise NotReadyError(f"node {b.node} is gone")
        return [b.host.devices[i] for i in devices.get(b.pod.key, ())]

    def _time_s(self, node: NodeName) -> int:
        """Return the time, and never one twice for a node."""
        now_s = max(int(self.means.wall_s()), self._last_s.get(node, 0) + 1)
        self._last_s[node] = now_s
        return now_s


def _vendor(b: ToBind) -> Vendor:
    share = b.pod.spec.share
    if share is None:
        return NVIDIA
    vendor = vendor_of(share.resource)
    return replace(vendor, templates=()) if share.mode == SOFT else vendor


def way_of(b: ToBind) -> str:
    """Return whose protocol gives the pod its devices on its node; "": none is needed."""
    spec = b.pod.spec
    if spec.share is not None:
        return spec.share.by
    whole = GPU in spec.requests and b.host is not None and "hami" in b.host.hands_out
    return "hami" if whole else ""
