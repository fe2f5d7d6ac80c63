"""Shares as the device plug-ins of HAMi and Volcano are told of them: annotations of the pod.

Sources: the schedulers and device plug-ins of HAMi 2 and Volcano 1.12 to 1.15.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ....models import Device
from ....models.quantity import parse
from ...kubernetes.body_pod import ContainerBody, PodSpecBody
from ...kubernetes.vendors import NVIDIA, Vendor
from ..prepare import NotReadyError

ALLOCATING = "allocating"
HAMI_NODE, HAMI_PHASE = "hami.io/vgpu-node", "hami.io/bind-phase"
_LONGEST_LABEL = 63

_WHEN = "predicate-time"
_HAMI = (HAMI_NODE, "hami.io/vgpu-time", "hami.io/bind-time", HAMI_PHASE)
VOLCANO = (
    "volcano.sh/vgpu-node", "volcano.sh/vgpu-time", "volcano.sh/bind-time",
    "volcano.sh/bind-phase", "volcano.sh/devices-to-allocate", "volcano.sh/vgpu-ids-new",
)  # fmt: skip
GPUSHARE = ("volcano.sh/gpu-index", "volcano.sh/predicate-time")


@dataclass(frozen=True, slots=True)
class _Words:
    """The resources by which a container asks for a share."""

    number: str
    memory: str
    percent: str
    cores: str
    mib: int = 1
    """How many MiB one of ``memory`` is."""


_OF_VOLCANO = _Words(
    "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage",
    "volcano.sh/vgpu-cores",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Ask:
    """What one container asks for on each of so many devices."""

    number: int
    mib: int
    percent: int
    """0: it says nothing of it."""
    cores: int


def hami_keys(vendor: Vendor) -> tuple[str, ...]:
    """Return the annotations that HAMi's plug-in for these devices reads."""
    more = (vendor.runtime, _WHEN) if vendor.runtime else ()
    return (*_HAMI, vendor.to_allocate, vendor.allocated, *more)


def hami_notes(
    spec: PodSpecBody,
    devices: Sequence[Device],
    node: str,
    now_s: int,
    vendor: Vendor = NVIDIA,
) -> dict[str, str]:
    """Return what HAMi's plug-in reads: init containers first, each ended by a semicolon.

    Raises
    ------
    NotReadyError
        If the containers ask for other devices than the pod is given.
    """
    # Init containers have ended when the others begin: devices serve twice.
    before = [_hami_ask(c, vendor) for c in spec.init_containers or ()]
    asks = [_hami_ask(c, vendor) for c in spec.containers or ()]
    _check(asks, devices)
    given = [*(devices[: a.number] for a in before), *_dealt(asks, devices)]
    both = list(zip([*before, *asks], given, strict=True))
    told = "".join(f"{_encoded(a, those, vendor.word, mib_first=True)};" for a, those in both)
    said = [node, str(now_s), str(now_s), ALLOCATING, told, told]
    if vendor.runtime:
        parts = [_part(a, d, vendor) for a, those in both for d in those]
        said += [json.dumps(parts, separators=(",", ":")), str(now_s)]
    return dict(zip(hami_keys(vendor), said, strict=True))


def _hami_ask(container: ContainerBody, vendor: Vendor) -> _Ask:
    words = _Words(vendor.resource, vendor.memory, vendor.percent, vendor.cores, vendor.memory_mib)
    ask = _ask(container, words, cores=vendor.cores_unsaid)
    mib, _ = vendor.cut(ask.mib)
    return replace(ask, mib=mib, percent=ask.percent or (0 if mib else 100))


def _part(ask: _Ask, device: Device, vendor: Vendor) -> dict[str, str | int]:
    """Return what the vendor's runtime is told of one device; what is nothing is left out."""
    _, name = vendor.cut(ask.mib)
    mib = _mib(ask, device, mib_first=True)
    part: dict[str, str | int] = {
        "UUID": device.uuid, "temp": name, "memory": mib, "core": ask.cores,
    }  # fmt: skip
    return {k: v for k, v in part.items() if v}


def hami_labels(node: str) -> dict[str, str]:
    """Return the label by which HAMi's monitor finds the pod."""
    return {HAMI_NODE: node} if len(node) <= _LONGEST_LABEL else {}


def volcano_notes(
    spec: PodSpecBody, devices: Sequence[Device], node: str, now_s: int
) -> dict[str, str]:
    """Return what Volcano's plug-in reads: containers divided by semicolons.

    ``now_s`` says which pod comes first on a node. Raises as :func:`hami_notes` does.
    """
    asks = [_ask(c, _OF_VOLCANO, memory_alone=True) for c in spec.containers or ()]
    _check(asks, devices)
    given = _dealt(asks, devices)
    told = ";".join(
        _encoded(a, those, NVIDIA.word, mib_first=False)
        for a, those in zip(asks, given, strict=True)
    )
    return dict(zip(VOLCANO, (node, str(now_s), str(now_s), ALLOCATING, told, told), strict=True))


def gpushare_notes(indexes: Iterable[int], now_ns: int) -> dict[str, str]:
    """Return what the gpushare plug-in reads; ``now_ns`` says which pod comes first."""
    return dict(zip(GPUSHARE, (",".join(map(str, indexes)), str(now_ns)), strict=True))


def _ask(
    container: ContainerBody, words: _Words, memory_alone: bool = False, cores: int = 0
) -> _Ask:
    """Return what a container asks for; ``cores`` is what it has that says nothing of them."""
    limits = (container.resources.limits if container.resources else None) or {}
    requests = (container.resources.requests if container.resources else None) or {}

    def amount(resource: str) -> int:
        found = limits.get(resource)
        found = requests.get(resource) if found is None else found
        return -(-parse(found, resource) // 1000) if found is not None else 0

    number, mib = amount(words.number), amount(words.memory) * words.mib
    if memory_alone and not number and mib:
        number = 1
    percent = amount(words.percent)
    if not mib and not percent:
        percent = 100
    if words.cores in limits or words.cores in requests:
        cores = amount(words.cores)
    return _Ask(number, mib, min(percent, 100), cores)


def _check(asks: Sequence[_Ask], devices: Sequence[Device]) -> None:
    number = sum(a.number for a in asks)
    if len(devices) not in (number, max((a.number for a in asks), default=0)):
        said = f"its containers ask for {number} devices, and the plan has {len(devices)}"
        raise NotReadyError(f"{said}; ask for each by number in every container that needs it")


def _dealt(asks: Sequence[_Ask], devices: Sequence[Device]) -> list[Sequence[Device]]:
    """Deal the devices out, container by container; where they are too few, to all from the first.

    Which of it, the plan has decided by how many devices it gives.
    """
    if len(devices) < sum(a.number for a in asks):
        return [devices[: a.number] for a in asks]
    out: list[Sequence[Device]] = []
    at = 0
    for a in asks:
        out.append(devices[at : at + a.number])
        at += a.number
    return out


def _encoded(ask: _Ask, devices: Iterable[Device], word: str, mib_first: bool) -> str:
    """Return one container's devices: ``uuid,type,MiB,cores:`` each."""
    return "".join(
        f"{d.uuid},{word or d.model},{_mib(ask, d, mib_first)},{ask.cores}:" for d in devices
    )


def _mib(ask: _Ask, device: Device, mib_first: bool) -> int:
    """Return the memory on a device; of both ways to ask, HAMi takes MiB and Volcano percent."""
    by_percent = ask.percent and not (mib_first and ask.mib)
    return device.memory_mib * ask.percent // 100 if by_percent else ask.mib


def nothing(keys: Iterable[str]) -> Mapping[str, None]:
    """Return a change that takes annotations away."""
    return dict.fromkeys(keys)
