"""Shares of devices that NVIDIA's own plug-in hands out, in the way of KAI: reservation pods.

For each shared device a pod of ours asks the kubelet for one whole device, so that nobody else gets
it, and says which one that is. The pods that share it bear the name of its group as a label.
"""

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import msgspec

from ....models import NodeName
from ....models.devices import GPU, WHOLE_PPM
from ...kubernetes.body_pod import PodSpecBody, PodStatusBody
from ...kubernetes.cards import (
    DEVICE_INDEX,
    GROUP,
    GROUPS,
    RESERVATIONS,
    RESERVED_INDEX,
    group_indexes,
    groups_of,
    is_reservation,
)
from ...kubernetes.device_shares import says_something
from ...kubernetes.meta import Thing
from ..access import Api, LostError, RefusedError
from ..binder import ToBind
from ..mirror import Entry
from ..prepare import NotReadyError
from .waiting import POD, Means, Seen, Waiting, check_there, together
from .writing import Data, mark, send, telling

VISIBLE = "apportion.dev/visible-devices"
CONFIG_MAP = "runai/shared-gpu-configmap"
CONTAINER = "gpu-fraction-container-name"
SCHEDULER = "apportion-reservations"
"""No scheduler has this name: reservation pods are nobody's to plan or to evict."""
_OVER = frozenset(("Succeeded", "Failed"))
_NAME = "gpu-reservation"


@dataclass(frozen=True, slots=True)
class Options:
    """How reservation pods are made.

    Attributes
    ----------
    image
        What they run: it has to write the device's uuid or index into the annotation
        ``run.ai/reserve_for_gpu_index`` of its own pod, as KAI's resource-reservation does. Without
        one no share is handed over in this way.
    most_s
        How long that may take, in seconds.
    """

    image: str = ""
    namespace: str = RESERVATIONS
    service_account: str = RESERVATIONS
    runtime_class: str = ""
    most_s: float = 120.0


@dataclass(frozen=True, slots=True)
class _Reserved:
    """A device that is shared, or will be."""

    index: int
    group: str
    by: str
    """The name of its reservation pod; "" where there is none yet."""


@dataclass(slots=True)
class Reservations:
    """Makes reservation pods, names them to the pods that share, and deletes those left over."""

    api: Api
    seen: Seen
    options: Options = field(default_factory=Options)
    means: Means = field(default_factory=Means)
    _busy: Counter[str] = field(default_factory=Counter)
    """Groups whose pods are being prepared."""

    async def hand_over(
        self, pods: Sequence[ToBind], devices: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Have a device reserved for each share, and tell the pods which it is.

        Raises
        ------
        NotReadyError
            If a device cannot be reserved.
        """
        if not pods:
            return
        if not self.options.image:
            said = "needs reservation pods, and no image for them is set"
            raise NotReadyError(f"the share of pod {pods[0].pod.key} {said}: --reservation-image")
        devices_of = self._devices({b.node: b for b in pods})
        wanted = {
            b.pod.key: [devices_of[b.node, i] for i in devices.get(b.pod.key, ())] for b in pods
        }
        busy = [d.group for ds in wanted.values() for d in ds]
        self._busy.update(busy)
        try:
            await together(*(self._one(b, wanted[b.pod.key]) for b in pods))
        finally:
            self._busy.subtract(busy)
            self._busy += Counter()

    def _devices(self, nodes: Mapping[NodeName, ToBind]) -> dict[tuple[str, int], _Reserved]:
        """Return each device of the nodes, with the group there is, else with a new name."""
        there: dict[str, list[Thing]] = {n: [] for n in nodes}
        by: dict[str, str] = {}
        for entry in self.seen.entries(POD):
            thing, spec = entry.thing, entry.thing.body.spec
            if thing.namespace == self.options.namespace:
                by |= dict.fromkeys(groups_of(thing), thing.name)
            node = spec.node_name if spec is not None else None
            if node in there and not _is_over(entry) and _matters(thing):
                there[node].append(thing)
        out: dict[tuple[str, int], _Reserved] = {}
        for node, b in nodes.items():
            number = len(b.host.devices) if b.host is not None else 0
            known = group_indexes(there[node], number)
            for group, i in known.items():
                out[node, i] = _Reserved(i, group, by.get(group, ""))
            for i in range(number):
                if (node, i) not in out:
                    group = _new_group(node, i, {*known, *by})
                    out[node, i] = _Reserved(i, group, by.get(group, ""))
        return out

    async def _one(self, b: ToBind, devices: Sequence[_Reserved]) -> None:
        # The label comes first: whoever looks for reservations without shares has to find one.
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        old = entry.thing.labels if entry is not None else {}
        with telling(f"marking pod {b.pod.key}"):
            await mark(self.api, b.pod, {}, labels_of([d.group for d in devices], old))
        told = ",".join([await self._reserved(b, d) for d in devices])
        with telling(f"telling pod {b.pod.key} its devices"):
            await mark(self.api, b.pod, {VISIBLE: told}, {})
            await self._config_maps(b, told)

    # Reservation pods

    async def _reserved(self, b: ToBind, d: _Reserved) -> str:
        """Return the device as its reservation pod tells it; make one if there is none.

        What it tells is a uuid, or a number in older versions of KAI.
        """
        name = d.by or await self._make(b, d)
        found = await Waiting(self.seen, self.means).until(
            lambda: self._told(b, name), (POD,), self.options.most_s
        )
        if found is None:
            said = f"pod {self.options.namespace}/{name} has not told its device after "
            raise NotReadyError(f"{said}{self.options.most_s:g} s; look at its log and events")
        return found

    async def _make(self, b: ToBind, d: _Reserved) -> str:
        name = f"{_NAME}-{d.group}"
        about = (
            f"reserving device {d.index} of node {b.node} by pod {self.options.namespace}/{name}"
        )
        with telling(about):
            try:
                await send(self.api, "POST", self._path(), self._body(name, d, b.node))
            except RefusedError as e:
                if e.reason != "AlreadyExists":
                    raise
        return name

    def _told(self, b: ToBind, name: str) -> str | None:
        check_there(self.seen, b)
        entry = self.seen.entry(POD, self.options.namespace, name)
        if entry is None:
            return None
        title = f"pod {entry.thing.key}, which reserves a device of node {b.node},"
        if entry.thing.deleted_s is not None:
            raise NotReadyError(f"{title} is being deleted", 1.0)
        if _is_over(entry):
            status: PodStatusBody = entry.thing.body.status
            raise NotReadyError(f"{title} has ended: {status.reason or status.phase}")
        return entry.thing.annotations.get(RESERVED_INDEX) or None

    def _body(self, name: str, d: _Reserved, node: NodeName) -> Data:
        o = self.options
        of_pod = (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"))
        env = [{"name": n, "valueFrom": {"fieldRef": {"fieldPath": p}}} for n, p in of_pod]
        container = {
            "name": "resource-reservation", "image": o.image, "env": env,
            "imagePullPolicy": "IfNotPresent", "resources": {"limits": {GPU: 1}},
        }  # fmt: skip
        spec: Data = {
            # Bound from the start: no scheduler sees it, and it is never half made.
            "nodeName": node, "schedulerName": SCHEDULER, "containers": [container],
            "tolerations": [{"operator": "Exists"}],
        }  # fmt: skip
        if o.service_account:
            spec["serviceAccountName"] = o.service_account
        if o.runtime_class:
            spec["runtimeClassName"] = o.runtime_class
        meta = {
            "name": name, "namespace": o.namespace, "annotations": {DEVICE_INDEX: str(d.index)},
            "labels": {"app": RESERVATIONS, GROUP: d.group},
        }  # fmt: skip
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    def _path(self, name: str = "") -> str:
        root = f"/api/v1/namespaces/{self.options.namespace}/pods"
        return f"{root}/{name}" if name else root

    # What KAI's containers read

    async def _config_maps(self, b: ToBind, devices: str) -> None:
        """Fill the ConfigMaps that KAI's admission has put into the pod, where it has."""
        entry = self.seen.entry(POD, b.pod.namespace, b.pod.name)
        prefix = entry.thing.annotations.get(CONFIG_MAP) if entry is not None else None
        if not prefix or entry is None:
            return
        base = f"{prefix}-{_container(entry.thing)}"
        portion = _portion(b)
        data = {"NVIDIA_VISIBLE_DEVICES": devices}
        more = {**data, "RUNAI_NUM_OF_GPUS": portion, "GPU_PORTION": portion}
        for name, told in ((base, more), (f"{base}-evar", data)):
            owner = {"apiVersion": "v1", "kind": "Pod", "name": b.pod.name, "uid": b.pod.uid}
            meta: Data = {
                "name": name, "namespace": b.pod.namespace, "ownerReferences": [owner],
            }  # fmt: skip
            root = f"/api/v1/namespaces/{b.pod.namespace}/configmaps"
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": told}
            try:
                await send(self.api, "POST", root, body)
            except RefusedError as e:
                if e.reason != "AlreadyExists":
                    raise
                await send(self.api, "PATCH", f"{root}/{name}", {"data": told})

    # Left over

    async def sweep(self) -> list[str]:
        """Delete reservation pods of ours whose device nobody shares; return their names.

        The server is asked once more before each: a pod may have been marked a moment ago.
        """
        ours = [
            e
            for e in self.seen.entries(POD)
            if e.thing.namespace == self.options.namespace and DEVICE_INDEX in e.thing.annotations
        ]
        used = self._used() if ours else set()
        gone: list[str] = []
        for entry in ours:
            groups = set(groups_of(entry.thing))
            if groups & used or entry.thing.deleted_s is not None or self._is_busy(groups):
                continue
            with suppress(RefusedError, LostError, msgspec.DecodeError):
                if not await self._shared(groups) and not self._is_busy(groups):
                    await self._delete(entry)
                    gone.append(entry.thing.name)
        return gone

    def _used(self) -> set[str]:
        """Return the groups of pods that are not over."""
        return {
            g
            for e in self.seen.entries(POD)
            if not is_reservation(e.thing) and not _is_over(e)
            for g in groups_of(e.thing)
        }

    def _is_busy(self, groups: Iterable[str]) -> bool:
        return any(self._busy[g] for g in groups)

    async def _shared(self, groups: Iterable[str]) -> bool:
        """Ask the server whether any pod shares a device of the groups."""
        for g in groups:
            for label in (f"{GROUP}={g}", f"{GROUPS}{g}"):
                body = await self.api.get("/api/v1/pods", {"labelSelector": label})
                items: list[Data] = msgspec.json.decode(body, type=Data).get("items") or []
                for pod in items:
                    over = pod.get("status", {}).get("phase") in _OVER
                    if pod["metadata"].get("namespace") != self.options.namespace and not over:
                        return True
        return False

    async def _delete(self, entry: Entry) -> None:
        body: dict[str, Any] = {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": entry.uid},
        }  # fmt: skip
        await self.api.send("DELETE", self._path(entry.thing.name), body)


def _new_group(node: str, index: int, used: Container[str]) -> str:
    """Return a name that no group has: the same at each try, so that none is reserved twice."""
    name = f"{hashlib.sha256(node.encode()).hexdigest()[:12]}-{index}"
    more = (f"{name}-{k}" for k in count(1))
    return next(n for n in chain((name,), more) if n not in used)


def labels_of(groups: Sequence[str], old: Mapping[str, str]) -> dict[str, str | None]:
    """Return the labels that name the groups, and take away those of before."""
    out: dict[str, str | None] = {k: None for k in old if k == GROUP or k.startswith(GROUPS)}
    if len(groups) == 1:
        return {**out, GROUP: groups[0]}
    return {**out, **{f"{GROUPS}{g}": g for g in groups}}


def _matters(thing: Thing) -> bool:
    return is_reservation(thing) or bool(says_something(thing))


def _is_over(entry: Entry) -> bool:
    status: PodStatusBody | None = entry.thing.body.status
    return status is not None and status.phase in _OVER


def _container(thing: Thing) -> str:
    """Return the number of the container that shares; ``i`` before one of an init container."""
    name = thing.annotations.get(CONTAINER)
    spec: PodSpecBody = thing.body.spec or PodSpecBody()
    for kind, containers in (("i", spec.init_containers), ("", spec.containers)):
        for i, c in enumerate(containers or ()):
            if name is not None and c.name == name:
                return f"{kind}{i}"
    return "0"


def _portion(b: ToBind) -> str:
    """Return the part of a device, as KAI writes it."""
    share, host = b.pod.spec.share, b.host
    if share is None:
        return "1.00"
    if share.memory_mib and host is not None and host.devices and host.devices[0].memory_mib:
        return f"{share.memory_mib / host.devices[0].memory_mib:.2f}"
    return f"{share.memory_ppm / WHOLE_PPM:.2f}"
