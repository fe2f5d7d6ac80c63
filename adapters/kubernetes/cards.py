"""Devices of nodes as the cluster's plug-ins describe them, and which of them pods hold.

Sources: the labels of NVIDIA's feature discovery; the registers of Volcano's and HAMi's device
plug-ins; KAI's reservation pods and group labels.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ...models import Amounts, Device, DeviceShare, Node
from ...models.devices import GPU
from ..paths import below
from .faults import Book, Ledger
from .meta import Thing
from .vendors import NVIDIA, OTHERS, SOFT, SOFT_NODE, Vendor

if TYPE_CHECKING:
    from .pods import Candidate

_MEMORY = "nvidia.com/gpu.memory"
_MIG, _REPLICAS = "nvidia.com/mig.strategy", "nvidia.com/gpu.replicas"
_VOLCANO, _HAMI = "volcano.sh/node-vgpu-register", NVIDIA.register
_VOLCANO_HANDSHAKE = "volcano.sh/node-vgpu-handshake"
GONE = "Deleted_"
"""What schedulers write there of a plug-in that has not answered for a minute, and a time."""
_UNHEALTHY = "volcano.sh/gpu-unhealthy-ids"
_CARD_MEMORY, _CARDS = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
VGPU_IDS = "volcano.sh/vgpu-ids-new"
_ALLOCATED = (VGPU_IDS, NVIDIA.allocated)
GROUP, GROUPS = "runai-gpu-group", "runai-gpu-group/"
RESERVED_INDEX = "run.ai/reserve_for_gpu_index"
DEVICE_INDEX = "apportion.dev/device-index"
"""On a reservation pod that we made: which of the node's devices a plan takes it for."""
RESERVATIONS = "kai-resource-reservation"


class Described(NamedTuple):
    """A node's devices, how they are handed out, and what it offers besides."""

    devices: tuple[Device, ...]
    hands_out: tuple[str, ...]
    offers: Mapping[str, int]
    resource: str = GPU
    """What the devices are counted as."""


class Cards:
    """The devices of all nodes, read once somebody asks for a share of one."""

    def __init__(self, nodes: Iterable[tuple[Thing, Node]], ledger: Ledger, book: Book) -> None:
        """``book`` is where it is said which nodes' devices cannot be read."""
        self._nodes = list(nodes)
        self._ledger = ledger
        self.book = book
        self._group_index: dict[tuple[str, str], int] = {}

    def cut(self, candidates: Iterable["Candidate"]) -> None:
        """Put the instances of cards in MIG mode in their place, as pods hold and want them."""
        from .mig_cards import cut_cards

        pods = list(candidates)
        held: dict[str, list[str]] = {}
        for c in pods:
            node = c.body.node_name
            if node and not c.finished:
                for key in _ALLOCATED:
                    held.setdefault(node, []).extend(allocated(c.thing.annotations.get(key, "")))
        _ = self.least_mib, self.most_mib  # of cards, not of instances
        there = {name: of.devices for name, of in self.by_node.items()}
        for name, devices in cut_cards(there, pods, held).items():
            ways = tuple(w for w in self.by_node[name].hands_out if w != "whole")
            self.by_node[name] = Described(devices, ways, self.by_node[name].offers)

    @cached_property
    def vendors(self) -> tuple[Vendor, ...]:
        """Whose devices some node has registered, NVIDIA's left out."""
        return tuple(v for v in OTHERS if any(v.register in t.annotations for t, _ in self._nodes))

    @cached_property
    def by_node(self) -> dict[str, Described]:
        plain: dict[object, Described] = {}
        with self._ledger.into(self.book):
            return {n.name: self._described(t, n, plain) for t, n in self._nodes}

    @property
    def are_read(self) -> bool:
        """Say whether anybody has asked for devices yet."""
        return "by_node" in vars(self)

    @property
    def any_in_mig_mode(self) -> bool:
        """Say whether cards are cut into instances as their pods want them."""
        return any(x.mode == "mig" for d in self.by_node.values() for x in d.devices)

    @cached_property
    def least_mib(self) -> Mapping[str, int]:
        """The memory of the smallest device by what they are counted as; 0 where nobody says it."""
        out: dict[str, int] = {}
        for d in self.by_node.values():
            if d.devices:
                sizes = (out.get(d.resource, 0), *(x.memory_mib for x in d.devices))
                out[d.resource] = min((s for s in sizes if s), default=0)
        return out

    @cached_property
    def any_by_memory(self) -> bool:
        """Say whether some node offers cards and their memory, as gpushare's plug-in does."""
        return any(n.allocatable[_CARDS] and n.allocatable[_CARD_MEMORY] for _, n in self._nodes)

    @cached_property
    def most_mib(self) -> Mapping[str, int]:
        """The memory of the largest device by what they are counted as."""
        out: dict[str, int] = {}
        for d in self.by_node.values():
            sizes = (out.get(d.resource, 0), *(x.memory_mib for x in d.devices))
            out[d.resource] = max(sizes)
        return out

    def nodes(self, asked: bool) -> list[Node]:
        """Return the nodes, with their devices where somebody asks for shares of some.

        What HAMi's plug-in offers as whole devices are its shares: its register counts always.
        """
        registered = bool(self.vendors) or any(_HAMI in t.annotations for t, _ in self._nodes)
        if not asked and not registered:
            return [n for _, n in self._nodes]
        out = []
        for _, n in self._nodes:
            found = self.by_node[n.name]
            if found.devices:
                offers = Amounts({**n.allocatable, **found.offers})
                n = replace(
                    n, devices=found.devices, hands_out=found.hands_out, allocatable=offers,
                    device_resource=found.resource,
                )  # fmt: skip
            out.append(n)
        return out

    def _described(self, thing: Thing, node: Node, plain: dict[object, Described]) -> Described:
        if _VOLCANO in thing.annotations:
            devices = self._registered(thing, _VOLCANO, _VOLCANO_HANDSHAKE, _volcano_register)
            if node.allocatable[GPU]:
                return Described(devices, ("volcano", "whole"), {})
            return Described(devices, ("volcano",), {GPU: 1000 * sum(d.healthy for d in devices)})
        if _HAMI in thing.annotations:
            devices = self._registered(thing, _HAMI, NVIDIA.handshake, _hami_register)
            return Described(devices, ("hami", "whole"), _offers(devices, NVIDIA))
        there = [v for v in self.vendors if v.register in thing.annotations]
        if there and not node.allocatable[GPU]:
            if len(there) > 1:
                self._ledger.warn(
                    thing.title, below("metadata.annotations", there[1].register),
                    f"stands beside devices {there[0].word}: of two kinds on one node only the "
                    "first is shared",
                )  # fmt: skip
            one = there[0]
            devices = self._registered(thing, one.register, one.handshake, _hami_register)
            if there[0].templates:
                mode = SOFT if thing.annotations.get(SOFT_NODE) == "true" else "template"
                devices = tuple(replace(d, mode=mode) for d in devices)
            offers = _offers(devices, there[0])
            return Described(devices, ("hami",), offers, there[0].resource)
        if node.allocatable[_CARDS] and node.allocatable[_CARD_MEMORY]:
            return _cards(thing, node)
        same = (node.allocatable[GPU], *(node.labels.get(k) for k in (_MEMORY, _MIG, _REPLICAS)))
        if same not in plain:
            plain[same] = _plain(node)
        return plain[same]

    def _registered(
        self, thing: Thing, key: str, handshake: str, read: Callable[[str], Iterator[Device]]
    ) -> tuple[Device, ...]:
        """Return the devices that a plug-in has registered; one that is gone gives none out."""
        try:
            devices = tuple(read(thing.annotations[key]))
        except (ValueError, TypeError, AttributeError):
            self._ledger.warn(
                thing.title, below("metadata.annotations", key),
                "cannot be read, so its devices take no shares; restart the device plug-in",
            )  # fmt: skip
            return ()
        said = thing.annotations.get(handshake, "")
        if not said.startswith(GONE):
            return devices
        self._ledger.warn(
            thing.title, below("metadata.annotations", handshake),
            f"is {said[:40]!r}: the device plug-in is gone, and its devices take nothing until it "
            "is back",
        )  # fmt: skip
        return tuple(replace(d, healthy=False) for d in devices)

    # Who holds what

    def note_groups(self, candidates: Iterable["Candidate"]) -> list["Candidate"]:
        """Number the groups of shares that KAI marks; return all pods as they count.

        A reservation pod stands for the device that its group shares: with the group's pods there
        it asks for nothing itself.
        """
        pods = list(candidates)
        there: dict[str, list[Thing]] = {}
        members: set[tuple[str, str]] = set()
        for c in pods:
            node = c.body.node_name
            if not node or c.finished or node not in self.by_node:
                continue
            if c.spec.share is not None or is_reservation(c.thing) or _indexes(c.thing.annotations):
                there.setdefault(node, []).append(c.thing)
            if c.spec.share is not None:
                members.update((node, g) for g in groups_of(c.thing))
        self._group_index = {
            (node, g): i
            for node, things in there.items()
            for g, i in group_indexes(things, len(self.by_node[node].devices)).items()
        }
        for c in pods:
            reserved = {(c.body.node_name, g) for g in groups_of(c.thing)}
            if is_reservation(c.thing) and reserved & members and GPU in c.spec.requests:
                rest = {r: v for r, v in c.spec.requests.items() if r != GPU}
                c.spec = replace(c.spec, requests=Amounts(rest))
        return pods

    def held(
        self, thing: Thing, node: str, share: DeviceShare | None, whole: int
    ) -> tuple[int, ...]:
        """Return the indexes of the devices that a running pod holds; () where nothing says it."""
        there = self.by_node.get(node)
        if there is None or not there.devices:
            return ()
        wanted = share.devices if share is not None else whole
        found = set(_indexes(thing.annotations))
        found |= {
            i for g in groups_of(thing) if (i := self._group_index.get((node, g))) is not None
        }
        by_uuid = {d.uuid: i for i, d in enumerate(there.devices) if d.uuid}
        for key in (*_ALLOCATED, *(v.allocated for v in self.vendors)):
            for u in allocated(thing.annotations.get(key, "")):
                at = by_uuid.get(u, by_uuid.get(u.partition("[")[0]))
                found |= set() if at is None else {at}
        if len(found) == wanted and all(i < len(there.devices) for i in found):
            return tuple(sorted(found))
        if found:
            self._ledger.warn(
                thing.title, "metadata.annotations",
                f"names {len(found)} devices of node {node} and holds {wanted}, so they do not "
                "count; any devices may be its own",
            )  # fmt: skip
        return ()


def group_indexes(things: Iterable[Thing], devices: int) -> dict[str, int]:
    """Return which of a node's devices each of KAI's groups shares.

    A group has the number that we have planned for it, else the one that its reservation pod tells,
    else one that is free.
    """
    things = list(things)
    out: dict[str, int] = {}
    for key in (DEVICE_INDEX, RESERVED_INDEX):
        for t in filter(is_reservation, things):
            index = t.annotations.get(key, "")
            if index.isdigit() and int(index) < devices and int(index) not in out.values():
                for g in groups_of(t):
                    out.setdefault(g, int(index))
    members = {g for t in things if not is_reservation(t) for g in groups_of(t)}
    there = {i for t in things for i in _indexes(t.annotations)}
    for g in sorted(members - out.keys()):
        free = [i for i in range(devices) if i not in there and i not in out.values()]
        if free:
            out[g] = free[0]
    return out


def groups_of(thing: Thing) -> Iterator[str]:
    """Yield KAI's names of the devices that a pod shares."""
    for key, value in thing.labels.items():
        if key == GROUP and value:
            yield value
        elif key.startswith(GROUPS):
            yield key.removeprefix(GROUPS)


def is_reservation(thing: Thing) -> bool:
    """Say whether the pod stands for the device that a group shares."""
    notes = thing.annotations
    return thing.namespace == RESERVATIONS or RESERVED_INDEX in notes or DEVICE_INDEX in notes


def names_devices(thing: Thing) -> bool:
    """Say whether the pod bears a mark of the devices that it holds."""
    return bool(_indexes(thing.annotations)) or any(k in thing.annotations for k in _ALLOCATED)


def _indexes(notes: Mapping[str, str]) -> tuple[int, ...]:
    """Return the device indexes of an annotation ``gpu-index``, under whatever prefix."""
    for key, value in notes.items():
        if key == "gpu-index" or key.endswith("/gpu-index"):
            words = [w.strip() for w in value.split(",")]
            if all(w.isascii() and w.isdigit() and len(w) <= 4 for w in words):
                return tuple(int(w) for w in words)
    return ()


def allocated(text: str) -> Iterator[str]:
    """Yield the ids of devices: containers by ``;``, devices by ``:``, fields by ``,``."""
    for device in text.replace(";", ":").split(":"):
        uuid = device.split(",")[0].strip()
        if uuid:
            yield uuid


def _offers(devices: Iterable[Device], vendor: Vendor) -> dict[str, int]:
    """Return what HAMi's plug-in has in all, so that queues can name it."""
    healthy = [d for d in devices if d.healthy]
    return {
        vendor.resource: 1000 * len(healthy),
        vendor.memory: 1000 * sum(d.memory_mib for d in healthy) // vendor.memory_mib,
        vendor.cores: 100_000 * len(healthy),
    }


def _volcano_register(text: str) -> Iterator[Device]:
    for row in filter(None, (r.strip() for r in text.split(":"))):
        uuid, slots, mib, model, healthy, *mode = row.split(",")
        yield Device(
            int(mib), int(slots), healthy.lower() == "true", model, uuid,
            mode[0] if mode and mode[0] else "hami-core",
        )  # fmt: skip


def _hami_register(text: str) -> Iterator[Device]:
    if text.lstrip().startswith("["):
        rows: list[dict[str, Any]] = json.loads(text)
        for r in rows:
            yield Device(
                int(r["devmem"]), int(r.get("count", 0)), bool(r.get("health", True)),
                str(r.get("type", "")), str(r["id"]), str(r.get("mode", "")),
            )  # fmt: skip
        return
    for row in filter(None, (r.strip() for r in text.split(":"))):
        uuid, slots, mib, _, model, _, healthy, *rest = row.split(",")
        mode = rest[1] if len(rest) > 1 else ""
        yield Device(int(mib), int(slots), healthy.lower() == "true", model, uuid, mode)


def _cards(thing: Thing, node: Node) -> Described:
    n = node.allocatable[_CARDS] // 1000
    mib = node.allocatable[_CARD_MEMORY] // 1000 // max(1, n)
    bad = set(thing.annotations.get(_UNHEALTHY, "").replace(" ", "").split(","))
    devices = tuple(Device(mib, healthy=str(i) not in bad) for i in range(n))
    offers = {} if node.allocatable[GPU] else {GPU: 1000 * n}
    ways = ("gpushare", "whole") if node.allocatable[GPU] else ("gpushare",)
    return Described(devices, ways, offers)


def _plain(node: Node) -> Described:
    n = node.allocatable[GPU] // 1000
    written = node.labels.get(_MEMORY, "")
    mib = int(written) if written.isascii() and written.isdigit() and len(written) <= 9 else 0
    ways: tuple[str, ...] = ("whole",)
    replicated = node.labels.get(_REPLICAS, "1") not in ("", "0", "1")
    if node.labels.get(_MIG) not in ("single", "mixed") and not replicated:
        ways = ("reservation", "whole")
    return Described((Device(mib),) * n, ways, {})
