"""Lots: the work of a plan that the packer may move, and the yard in which it is to be packed.

Only pods that no rule ties to others take part: their nodes follow from filters, amounts and
devices. A group stays where the plan has it if one of its pods is tied.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...models import GroupKey, Pod, PodKey
from ...models.devices import GPU, WHOLE_PPM
from ...policies.cells_tracker import celled
from ...policies.device_places import kept_on
from ...policies.device_sizes import ANY_NUMBER, CORE, room_of, whole_devices
from ...policies.items import nominated_pods
from ...policies.levels import Level, Levels
from ...policies.members import Members, Standing
from ...policies.outcome import Outcome
from ...policies.scene import Scene
from ...policies.standing import standing_of
from ..leveling import first_of
from .yard import Flags, Ints, Kinds, Yard

UNIT = 1_000
"""Parts of a device: thousandths."""
STEP = 16
"""How much more the work of one level is worth than the same of the next."""
STEPS = 3
"""So many levels are told apart; later ones count as the last."""
SCALE = 1_000_000
FIRST = 100
"""How much more a part of the scarcest resource counts than of any other."""


@dataclass(frozen=True)
class Lot:
    """Pods that start together or not at all."""

    group: GroupKey
    pods: tuple[Pod, ...]
    level: Level
    order: tuple[object, ...]
    """Place among its like."""
    started: bool
    """The plan starts it."""
    base: bool = False
    """The minimum of a new group, without which its other pods may not start."""
    must: bool = False
    """It may not be left out."""


@dataclass
class Lots:
    """Work that may move, and the plan without it."""

    scene: Scene
    lots: list[Lot]
    closed: Flags
    """Nodes where nothing may change."""
    fixed: Outcome


def lots_of(outcome: Outcome, levels: Levels) -> Lots:
    """Return what may move."""
    scene = outcome.scene
    closed = _closed(outcome)
    lots: list[Lot] = []
    moving: set[PodKey] = set()
    able: dict[int, bool] = {}
    for m in scene.roster.values():
        mine = _of_group(outcome, levels, m)
        pods = [p for lot in mine for p in lot.pods]
        for p in pods:
            if id(p.spec) not in able:
                able[id(p.spec)] = _is_untied(scene, p) and device_ask(scene, p) is not None
        at = [scene.index[outcome.places[p.key]] for p in pods if p.key in outcome.places]
        if all(able[id(p.spec)] and _is_unseen(scene, p) for p in pods) and not closed[at].any():
            lots += mine
            moving |= {p.key for p in pods}
    stay = {k: n for k, n in outcome.places.items() if k not in moving}
    fixed = Outcome(scene, stay, outcome.evicted, bound=())
    return Lots(scene, _with_musts(lots), closed, fixed)


def _closed(outcome: Outcome) -> Flags:
    """Say on which nodes more than room and devices matters: victims, cells, blocks, plug-ins."""
    scene = outcome.scene
    out = np.array([bool(n.blocks or n.plugged) for n in scene.nodes], dtype=np.bool_)
    for p, i in scene.holders:
        if p.key in outcome.evicted:
            out[i] = True
    for cells in celled(scene.rules, scene):
        out[list(cells)] = True
    return out


def _is_untied(scene: Scene, pod: Pod) -> bool:
    """Say whether nothing in the pod's spec is about where others are."""
    s = pod.spec
    return not (s.sees_pods or s.host_ports or s.volumes or s.claims or s.plugged)


def _is_unseen(scene: Scene, pod: Pod) -> bool:
    """Say whether no place was promised to the pod, and no other pod asks where it is."""
    promised = pod.nominated is not None or pod.key in nominated_pods(scene)
    return not promised and scene.asked_labels.isdisjoint(pod.labels)


def _of_group(outcome: Outcome, levels: Levels, m: Members) -> list[Lot]:
    scene = outcome.scene
    minimum, elastic = levels.minimum.get(m.key), levels.elastic.get(m.key)
    broken = m.standing is Standing.BROKEN or m.key in outcome.losses
    if broken or not m.pending or scene.bonds.of_group(m.key):
        return []
    g = m.group
    order = (-g.priority, g.created_s, g.key)
    begun = outcome.started.get(m.key, ())
    base: tuple[Pod, ...] = ()
    out: list[Lot] = []
    if m.standing is Standing.NEW:
        base = m.split(_ranked(m, begun))[0] if begun else first_of(standing_of(scene), m)
        if minimum is None or not base or not m.is_whole(base):
            return []
        out.append(Lot(m.key, base, minimum.level, order, bool(begun), base=True))
        if not begun:
            return out
    kept = {p.key for p in base}
    rest = [p for p in m.pending if p.key not in kept]
    if elastic is None:
        return [] if any(p.key in outcome.places for p in rest) else out
    return out + [
        Lot(m.key, (p,), elastic.level, (*order, i), p.key in outcome.places)
        for i, p in enumerate(rest)
    ]


def _ranked(m: Members, pods: Iterable[Pod]) -> list[Pod]:
    keys = {p.key for p in pods}
    return [p for p in m.pending if p.key in keys]


def _with_musts(lots: Sequence[Lot]) -> list[Lot]:
    """Mark what may not be left out: all of the levels that start as a whole, the first things.

    A minimum stays, too, where other pods of its group start.
    """
    short = min((lot.level for lot in lots if not lot.started), default=None)
    several = {lot.group for lot in lots if lot.started and not lot.base}
    out = []
    for lot in lots:
        first = short is None or lot.level < short or (lot.base and lot.group in several)
        out.append(replace(lot, must=lot.started and first))
    return out


def device_ask(scene: Scene, pod: Pod) -> tuple[int, int] | None:
    """Return how many devices and how many parts of each; None where that depends on the device."""
    share = pod.spec.share
    if share is None:
        n = whole_devices(pod)
        return (n, UNIT if n else 0)
    found: set[int] = set()
    for d in {d for i in np.flatnonzero(scene.mask(pod)) for d in scene.nodes[i].devices}:
        if share.bears(d):
            mib = max(1, d.memory_mib)
            memory = max(share.memory_mib * WHOLE_PPM, share.memory_ppm * mib)
            cores = share.cores_percent * UNIT // 100 if share.by in ("volcano", "hami") else 0
            slot = -(-UNIT // d.slots) if d.slots else 0
            found.add(max(1, -(-memory * UNIT // (mib * WHOLE_PPM)), cores, slot))
        elif d.healthy:
            return None
    return (share.devices, found.pop()) if len(found) == 1 else None


@dataclass(frozen=True)
class Packable:
    """The yard in which lots are wanted, and of which kind each pod is."""

    yard: Yard
    kind_of: Mapping[PodKey, int]


def yard_of(lots: Lots, wanted: Sequence[Lot]) -> Packable:
    """Write the yard; there must be pods that are wanted."""
    scene = lots.scene
    steps = _steps(wanted)
    numbers: dict[object, int] = {}
    kinds: list[tuple[Pod, int, int]] = []
    """A pod of each, how many devices, the level's step."""
    known: dict[tuple[int, int], int] = {}
    kind_of: dict[PodKey, int] = {}
    count: list[int] = []
    least: list[int] = []
    for lot in wanted:
        step = steps[lot.level]
        for p in lot.pods:
            kind = known.get((id(p.spec), step), -1)
            if kind < 0:
                ask = device_ask(scene, p)
                assert ask is not None
                key = (tuple(map(int, scene.row(p))), ask, scene.mask(p).tobytes(), step)
                kind = known[id(p.spec), step] = numbers.setdefault(key, len(kinds))
                if kind == len(kinds):
                    kinds.append((p, *ask))
                    count.append(0)
                    least.append(0)
            kind_of[p.key] = kind
            count[kind] += 1
            least[kind] += lot.must
    rows = np.array([[int(v) for v in scene.row(p)] for p, _, _ in kinds], dtype=np.int64)
    weights = [STEP ** (STEPS - 1 - key[3]) for key in numbers]  # type: ignore[index]
    worth = _worth(lots, rows, np.array(count)) * np.array(weights, dtype=np.int64)
    left = _left(lots)
    free, rows = _scaled(lots, rows, left)
    made = Kinds(
        rows=rows,
        devices=np.array([d for _, d, _ in kinds], dtype=np.int64),
        parts=np.array([n for _, _, n in kinds], dtype=np.int64),
        wanted=np.array(count, dtype=np.int64),
        may=np.array([scene.mask(p) & ~lots.closed for p, _, _ in kinds], dtype=np.bool_),
        worth=worth,
        least=np.array(least, dtype=np.int64),
    )
    return Packable(Yard(free, left, UNIT, made), kind_of)


def _worth(lots: Lots, rows: Ints, count: Ints) -> Ints:
    """Return what one pod of each kind is worth, whatever its level.

    First its share of what is scarcest, beside what all want; then its dominant share.
    """
    table = standing_of(lots.scene)
    capacity = np.array([int(c) for c in table.limits.capacity], dtype=float)
    there = np.array([r in table.columns for r in range(len(capacity))]) & (capacity > 0)
    demand = (rows * count[:, None]).sum(axis=0) / np.maximum(capacity, 1)
    scarce = int(np.where(there, demand, -1.0).argmax())
    shares = [table.share([int(v) for v in row]) for row in rows]
    worth = [
        int(SCALE * (FIRST * int(row[scarce]) / capacity[scarce] + float(share)))
        for row, share in zip(rows, shares, strict=True)
    ]
    return np.maximum(1, np.array(worth, dtype=np.int64))


def _steps(lots: Iterable[Lot]) -> Mapping[Level, int]:
    """Number levels from the first that is not complete; those before it count with it."""
    levels = sorted({lot.level for lot in lots})
    first = min((lot.level for lot in lots if not lot.must), default=None)
    before = sum(first is not None and v < first for v in levels)
    return {v: min(STEPS - 1, max(0, i - before)) for i, v in enumerate(levels)}


def _left(lots: Lots) -> Ints:
    """Return the parts that are left of each device once everybody who stays has theirs."""
    scene, fixed = lots.scene, lots.fixed
    column = scene.ledger.column.get(GPU)
    users = {i for p, i in fixed.new_pods if p.spec.share is not None or whole_devices(p)}
    out: list[list[int]] = []
    for i, n in enumerate(scene.nodes):
        if lots.closed[i] or i in users:
            out.append([])
        elif not n.devices:
            room = int(fixed.room[i][column]) if column is not None else 0
            out.append([UNIT] * max(0, min(64, room // UNIT)))
        else:
            out.append(_left_on(fixed, i))
    most = max(1, max(map(len, out)))
    return np.array([[*d, *[0] * (most - len(d))] for d in out], dtype=np.int64)


def _left_on(fixed: Outcome, node: int) -> list[int]:
    """Return the parts left; nothing where it is not known who is on which device."""
    state = kept_on(fixed, node)
    if state.floating:
        return []
    unknown = state.whole - sum(state.taken)
    out: list[int] = []
    for device, room, shares, taken in zip(
        state.node.devices, state.room, state.shares, state.taken, strict=True
    ):
        idle = device.healthy and not taken and not shares
        if not device.healthy or taken or (idle and unknown > 0):
            unknown -= idle
            out.append(0)
            continue
        full = room_of(device)
        parts = [UNIT * room[0] // full[0], UNIT * room[1] // (100 * CORE)]
        if full[2] < ANY_NUMBER:
            parts.append(UNIT * room[2] // full[2])
        out.append(max(0, min(parts)))
    return out


def _scaled(lots: Lots, rows: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Return the free amounts and the kinds' rows in the largest units that lose nothing.

    The devices' own column is left out where the devices say as much.
    """
    room = np.maximum(lots.fixed.room, 0).astype(np.int64)
    room[lots.closed] = 0
    column = lots.scene.ledger.column.get(GPU)
    covered = column is not None and bool((room[:, column] >= left.sum(axis=1)).all())
    kept = [r for r in np.flatnonzero(rows.any(axis=0)).tolist() if r != column or not covered]
    units = np.array([np.gcd.reduce(rows[:, r]) for r in kept], dtype=np.int64)
    return room[:, kept] // units, rows[:, kept] // units
