"""Cards in MIG mode under a vGPU plug-in: each instance is a device of its own, for one share.

A plug-in cuts a card when the first share comes to it, by one of the geometries that it knows, and
keeps to that until the card is free. Cards in use are cut as their pods say; idle ones for what
waits, first things first, so that each share gets the smallest instance that bears it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from ...models import Device, DeviceShare, PodState
from ...models.devices import WHOLE_PPM
from ...models.mig import even_cuts, model_of
from .pods import Candidate

MIG = "mig"
_INSTANCE = re.compile(r"(.+)\[(\d{1,2})-(\d{1,2})\]")
_GB = re.compile(r"\.(\d+)gb")


@dataclass
class _Card:
    node: str
    at: int
    device: Device
    cuts: tuple[tuple[int, ...], ...]
    """By geometry, the memory of each instance in MiB."""
    chosen: int = -1
    free: list[int] | None = None
    """Instances that nobody has been counted on, by their memory."""


def instance_of(text: str) -> tuple[str, int, int] | None:
    """Return card, geometry and position of an instance's id; None for a card's own."""
    found = _INSTANCE.fullmatch(text)
    return (found[1], int(found[2]), int(found[3])) if found else None


def cut_cards(
    by_node: Mapping[str, tuple[Device, ...]],
    pods: Iterable[Candidate],
    held: Mapping[str, Iterable[str]],
) -> dict[str, tuple[Device, ...]]:
    """Return the nodes that have cards in MIG mode, with instances in their place.

    ``held`` are the ids that pods hold, by node. Shares that want such instances are turned into
    amounts of memory.
    """
    cards = {
        (name, i): _Card(name, i, d, _cuts(d))
        for name, devices in by_node.items()
        for i, d in enumerate(devices)
        if d.mode == MIG
    }
    if not cards:
        return {}
    for node, ids in held.items():
        for said in map(instance_of, ids):
            for c in cards.values() if said is not None else ():
                if c.node == node and said is not None and c.device.uuid == said[0]:
                    c.chosen = said[1] if said[1] < len(c.cuts) else len(c.cuts)
    most = max(max(map(max, c.cuts)) for c in cards.values())
    full = max(c.device.memory_mib for c in cards.values())
    waiting = []
    for p in pods:
        share = p.spec.share
        if share is None or share.mode != MIG:
            continue
        share = _in_mib(share, full, most)
        if p.state is PodState.PENDING:
            waiting.append((-p.priority.value, p.thing.created_s or 0, p.thing.key, share))
        p.spec = replace(p.spec, share=share)
    _choose(list(cards.values()), [w[3] for w in sorted(waiting, key=lambda w: w[:3])])
    return {
        name: tuple(
            x
            for i, d in enumerate(devices)
            for x in (_instances(cards[name, i]) if (name, i) in cards else (d,))
        )
        for name, devices in by_node.items()
        if any(d.mode == MIG for d in devices)
    }


def _cuts(device: Device) -> tuple[tuple[int, ...], ...]:
    """Return the geometries as the memory of instances; of an unknown model the whole card."""
    model = model_of(device.model)
    if model is None:
        return ((device.memory_mib,),)
    out = []
    for profiles in even_cuts(model):
        sizes = [int(m[1]) << 10 for name in profiles if (m := _GB.search(name)) is not None]
        out.append(tuple(sizes) if len(sizes) > 1 else (device.memory_mib,))
    return tuple(out)


def _in_mib(share: DeviceShare, full: int, most: int) -> DeviceShare:
    """Return the share as an amount of memory, which an instance has or has not."""
    mib = max(share.memory_mib, -(-share.memory_ppm * full // WHOLE_PPM))
    return replace(share, memory_mib=min(mib, most), memory_ppm=0, cores_percent=0)


def _choose(cards: list[_Card], waiting: Iterable[DeviceShare]) -> None:
    """Choose a geometry for idle cards: the smallest instance for each share, most of it first."""
    for c in cards:
        if 0 <= c.chosen < len(c.cuts):
            c.free = sorted(c.cuts[c.chosen])
    for share in waiting:
        given: Counter[int] = Counter()
        node = ""
        for _ in range(share.devices):
            n = _serve(share, cards, given, node)
            if n is None:
                break
            given[n] += 1
            node = cards[n].node


def _serve(
    share: DeviceShare, cards: list[_Card], given: Mapping[int, int], node: str
) -> int | None:
    """Give the share an instance of a card that it may have more of; return the card's number.

    ``node``: where its other instances are; "": anywhere.
    """
    mib = share.memory_mib
    able = [
        (n, c)
        for n, c in enumerate(cards)
        if node in ("", c.node) and not (share.per_card and given.get(n, 0) >= share.per_card)
    ]
    found = [(x, n) for n, c in able for x in c.free or () if x >= mib]
    idle = [
        (min(x for x in cut if x >= mib), -cut.count(min(x for x in cut if x >= mib)), n, g)
        for n, c in able
        if c.chosen < 0 and c.device.healthy
        for g, cut in enumerate(c.cuts)
        if max(cut) >= mib
    ]
    best = min(idle, default=None)
    if found and (best is None or min(found)[0] <= best[0]):
        size, n = min(found)
    elif best is not None:
        size, _, n, g = best
        cards[n].chosen = g
        cards[n].free = sorted(cards[n].cuts[g])
    else:
        return None
    _take(cards[n], size)
    return n


def _take(card: _Card, size: int) -> None:
    assert card.free is not None
    card.free.remove(size)


def _instances(card: _Card) -> tuple[Device, ...]:
    """Return the instances; an idle card that nobody waits for is one, a strange one has none."""
    d = card.device
    chosen = card.chosen if card.chosen >= 0 else len(card.cuts) - 1
    if chosen >= len(card.cuts):
        return (replace(d, healthy=False),)
    return tuple(
        replace(d, memory_mib=mib, slots=1, uuid=f"{d.uuid}[{chosen}-{k}]", card=card.at + 1)
        for k, mib in enumerate(card.cuts[chosen])
    )
