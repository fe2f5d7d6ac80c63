"""Shares of devices that pods ask for, in the words of KAI, Volcano and HAMi.

A share is charged as the largest of its memory, core and fraction part, in thousandths of
``nvidia.com/gpu`` (or what else its devices are counted as) for each device, rounded down; of
memory, its part of the smallest such device in the cluster.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace

from ...models import Amounts, DeviceShare, PodSpec
from ...models.devices import GPU, WHOLE_PPM
from ..paths import below
from .body_pod import PodSpecBody
from .cards import VGPU_IDS, Cards, allocated
from .container_shares import ask_of_several, joined
from .faults import Faults, Ledger
from .meta import Thing
from .resources import steps_of
from .vendors import NVIDIA, OTHERS, SOFT, SOFT_MODE, Vendor, vendor_of

FRACTION, MEMORY, NUMBER = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
_MIG = "mig"
_MODES = ("volcano.sh/vgpu-mode", "nvidia.com/vgpu-mode")
POLICY, MUTEX = "hami.io/gpu-scheduler-policy", "mutex"
_POLICIES = {
    POLICY: ("binpack", "spread", "topology-aware", "numa", MUTEX),
    "hami.io/node-scheduler-policy": ("binpack", "spread"),
}
ANNOTATIONS = frozenset(
    (
        FRACTION, MEMORY, NUMBER, POLICY, *_MODES,
        *(k for v in (NVIDIA, *OTHERS) for k in v.annotations),
    )
)  # fmt: skip
"""Annotations that say something of a share."""
VOLCANO = "volcano.sh/vgpu-"
GPUSHARE = ("volcano.sh/gpu-memory", "volcano.sh/gpu-number")
HAMI = (NVIDIA.memory, NVIDIA.percent, NVIDIA.cores)
_VGPU = frozenset(VOLCANO + x for x in ("number", "memory", "memory-percentage", "cores"))
_RESOURCES = frozenset((*HAMI, *GPUSHARE, *_VGPU))
_MOST_DEVICES = 64
_LARGEST_MIB = 1 << 30


def says_something(thing: Thing) -> tuple[str | None, ...]:
    """Return what the pod's annotations say of a share; () where they say nothing."""
    notes = thing.annotations
    if notes.keys().isdisjoint(ANNOTATIONS):
        return ()
    return tuple(notes.get(k) for k in sorted(ANNOTATIONS))


def with_share(spec: PodSpec, thing: Thing, cards: Cards, faults: Faults) -> PodSpec:
    """Return the spec with the share that the pod asks for and its charge; else as it is."""
    notes, asks = thing.annotations, spec.requests
    if (FRACTION in notes or MEMORY in notes) and GPU not in asks:
        share = _reservation(notes, faults)
        return spec if share is None else _with(spec, [[(asks, share)]], share, cards)
    vendor = NVIDIA
    if _RESOURCES.isdisjoint(asks):
        other = next((v for v in cards.vendors if v.resource in asks), None)
        if other is None:
            return spec
        vendor = other
    by_volcano = any(r.startswith(VOLCANO) for r in asks)
    if not by_volcano and any(r in asks for r in GPUSHARE):
        if GPUSHARE[0] not in asks and not cards.any_by_memory:
            return spec  # nobody divides cards, so that they are counted as any resource is
        share = _gpushare(asks)
        return _with(spec, [[(asks, share)]], share, cards)
    words = _VGPU if by_volcano else vendor.resources

    def share_of(asked: Amounts) -> DeviceShare:
        return _volcano(asked, notes) if by_volcano else _hami(asked, notes, vendor)

    steps = [
        shares
        for step in steps_of(thing.body.spec or PodSpecBody())
        if (shares := [(a, share_of(a)) for a in step if not words.isdisjoint(a)])
    ]
    if not ask_of_several(steps):
        share = share_of(asks)
        return _with(spec, [[(asks, share)]], share, cards)
    least, most = (of.get(vendor.resource, 0) for of in (cards.least_mib, cards.most_mib))
    share = joined([[s for _, s in step] for step in steps], least, most, held_of(thing))
    return _with(spec, steps, share, cards)


_Steps = Sequence[Sequence[tuple[Amounts, DeviceShare]]]
"""What containers that run at once ask for, step by step."""


def _with(spec: PodSpec, steps: _Steps, share: DeviceShare, cards: Cards) -> PodSpec:
    return replace(spec, share=share, requests=_charged(spec.requests, steps, share, cards))


def held_of(thing: Thing) -> int:
    """Return how many devices the plug-ins have noted for a pod on a node; 0: none.

    A pod that waits has nothing yet, whatever its own annotations say.
    """
    if thing.body.spec is None or not thing.body.spec.node_name:
        return 0
    notes = thing.annotations
    keys = (k for k in (VGPU_IDS, *(v.allocated for v in (NVIDIA, *OTHERS))) if k in notes)
    return max((len(set(allocated(notes[k]))) for k in keys), default=0)


def warn_of_notes(spec: PodSpec, thing: Thing, ledger: Ledger) -> None:
    """Say which notes of a pod look like a share and count for nothing."""
    for key in thing.annotations.keys() & _RESOURCES:
        ledger.warn(
            thing.title, below("metadata.annotations", key),
            "is the name of a resource and counts for nothing as an annotation; put it under "
            "resources.limits of the container",
        )  # fmt: skip
    for key in thing.annotations.keys() & _POLICIES.keys():
        for word in set(_words(thing.annotations[key])) - set(_POLICIES[key]):
            ledger.warn(
                thing.title, below("metadata.annotations", key),
                f"{word[:40]!r} is no policy and counts for nothing; write one or more of "
                + ", ".join(_POLICIES[key]),
            )  # fmt: skip
    if spec.share is None and GPU in spec.requests:
        for key in thing.annotations.keys() & {FRACTION, MEMORY}:
            ledger.warn(
                thing.title, below("metadata.annotations", key),
                f"counts for nothing beside a request of whole {GPU}; leave one of them out",
            )  # fmt: skip


def _charged(asks: Amounts, steps: _Steps, share: DeviceShare, cards: Cards) -> Amounts:
    out = {r: v for r, v in asks.items() if not r.endswith("-percentage")}
    out.pop("nvidia.com/priority", None)
    if share.by == "hami":
        vendor = vendor_of(share.resource)
        for r in (vendor.memory, vendor.cores):
            if r in out:
                out[r] = max(sum(a[r] * s.devices for a, s in step) for step in steps)
    charge = max(sum(_charge(s, cards) for _, s in step) for step in steps)
    return Amounts({**out, share.resource: charge})


def _charge(share: DeviceShare, cards: Cards) -> int:
    least_mib = cards.least_mib.get(share.resource, 0)
    part = share.memory_mib * 1000 // least_mib if least_mib else 1000 * bool(share.memory_mib)
    each = min(1000, max(1, part, share.memory_ppm // 1000, share.cores_percent * 10))
    return each * share.devices


def _reservation(notes: Mapping[str, str], faults: Faults) -> DeviceShare | None:
    before = len(faults.found)
    if FRACTION in notes and MEMORY in notes:
        faults.add(
            below("metadata.annotations", MEMORY),
            f"stands beside {FRACTION}; leave one of them out",
        )
    ppm = _fraction_ppm(notes[FRACTION], faults) if FRACTION in notes else 0
    mib = _number(notes, MEMORY, _LARGEST_MIB, faults) if MEMORY in notes else 0
    number = _number(notes, NUMBER, _MOST_DEVICES, faults) if NUMBER in notes else 1
    if len(faults.found) > before:
        return None
    return DeviceShare("reservation", number, mib, ppm)


def _fraction_ppm(written: str, faults: Faults) -> int:
    try:
        part = Fraction(written) if len(written) <= 20 and "/" not in written else Fraction(0)
    except (ValueError, ZeroDivisionError):
        part = Fraction(0)
    if not 0 < part <= 1:
        faults.add(
            below("metadata.annotations", FRACTION),
            f"{written[:40]!r} is no part of a device; write a number above 0 and up to 1, "
            'such as "0.5"',
        )
        return 0
    return -int(-part * WHOLE_PPM // 1)


def _number(notes: Mapping[str, str], key: str, most: int, faults: Faults) -> int:
    written = notes[key]
    short = written.isascii() and written.isdigit() and len(written) <= 12
    if not short or not 1 <= int(written) <= most:
        what = "MiB of device memory" if key == MEMORY else "devices"
        faults.add(
            below("metadata.annotations", key),
            f"{written[:40]!r} is no number of {what}; write a whole number from 1 to {most}",
        )
        return 0
    return int(written)


def _whole(asks: Amounts, resource: str) -> int:
    """Return how many of it are asked for; device resources come in whole numbers."""
    return -(-asks[resource] // 1000)


def _volcano(asks: Amounts, notes: Mapping[str, str]) -> DeviceShare:
    mib, percent = _whole(asks, VOLCANO + "memory"), _whole(asks, VOLCANO + "memory-percentage")
    if not mib and not percent:
        percent = 100
    return DeviceShare(
        "volcano",
        max(1, _whole(asks, VOLCANO + "number")),
        mib,
        min(100, percent) * WHOLE_PPM // 100,
        min(100, _whole(asks, VOLCANO + "cores")),
        mode := _first(notes, _MODES) or "hami-core",
        *_choice(notes, NVIDIA),
        per_card=int(mode == _MIG),
    )


def _hami(asks: Amounts, notes: Mapping[str, str], vendor: Vendor) -> DeviceShare:
    mib, percent = _whole(asks, vendor.memory) * vendor.memory_mib, _whole(asks, vendor.percent)
    mode = _first(notes, _MODES) if vendor is NVIDIA else ""
    if vendor.templates and notes.get(SOFT_MODE) == SOFT:
        mode = SOFT
    elif mib:
        mib, _ = vendor.cut(mib)
    if (not mib and not percent) or MUTEX in _words(notes.get(POLICY, "")):
        percent = 100
    cores = _whole(asks, vendor.cores) if vendor.cores in asks else vendor.cores_unsaid
    return DeviceShare(
        "hami",
        max(1, _whole(asks, vendor.resource)),
        mib,
        min(100, percent) * WHOLE_PPM // 100,
        min(100, cores),
        mode,
        *_choice(notes, vendor),
        vendor.resource,
    )


def _gpushare(asks: Amounts) -> DeviceShare:
    mib, cards = _whole(asks, GPUSHARE[0]), _whole(asks, GPUSHARE[1])
    if cards:
        return DeviceShare("gpushare", cards, mib, WHOLE_PPM)
    return DeviceShare("gpushare", 1, mib)


def _first(notes: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((notes[k] for k in keys if k in notes), "")


def _choice(
    notes: Mapping[str, str], vendor: Vendor
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return which models and devices the pod wants, and which it does not."""
    return (
        _words(notes.get(vendor.models, "").lower()),
        _words(notes.get(vendor.not_models, "").lower()),
        _words(_first(notes, vendor.uuids)),
        _words(_first(notes, vendor.not_uuids)),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted({w.strip() for w in text.split(",") if w.strip()}))
