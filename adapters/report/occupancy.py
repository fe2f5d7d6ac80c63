"""Occupancy: who is on which device of each node once the plan has been carried out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ...models import GroupKey, Node, NodeName, Plan, Pod, PodState, Snapshot

State = Literal["runs", "starts", "promised", "leaving"]
ORDER: Mapping[State, int] = {"runs": 0, "starts": 1, "promised": 2, "leaving": 3}
WHOLE = 1000
MOST_CELLS = 16
"""A resource with more devices on a node is shown as one bar."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a part of a device: a group, or None for pods of other schedulers."""

    group: GroupKey | None
    state: State
    part: float
    """Of one cell, at most 1."""


Cell = tuple[Holder, ...]
"""Who shares a device."""


@dataclass(frozen=True, slots=True)
class Row:
    """The devices of one resource on a node, or one bar for an amount."""

    resource: str
    amount: int
    """What there is, in canonical units."""
    used: int
    """What is held after the plan, without what leaves."""
    cells: tuple[Cell, ...]
    is_bar: bool = False
    """One cell stands for all of the amount."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A pod on its node after the plan, or on its way from there."""

    pod: Pod
    state: State
    devices: tuple[int, ...]


def stays(plan: Plan, snapshot: Snapshot) -> Mapping[NodeName, list[Stay]]:
    """Return who is on each node: what runs first, then what comes, then what leaves."""
    out: dict[NodeName, list[Stay]] = {n.name: [] for n in snapshot.nodes}
    for node, stay in _all(plan, snapshot):
        if node in out:
            out[node].append(stay)
    for of in out.values():
        of.sort(key=lambda s: (ORDER[s.state], s.pod.group or "", s.pod.key))
    return out


def _all(plan: Plan, snapshot: Snapshot) -> Iterator[tuple[NodeName, Stay]]:
    pods = snapshot.pods_by_key
    evicted = {e.pod for e in plan.evictions}
    for p in snapshot.pods:
        if p.holds and p.node is not None:
            leaves = p.state is PodState.TERMINATING or p.key in evicted
            yield p.node, Stay(p, "leaving" if leaves else "runs", p.devices)
    for b in plan.binds:
        if b.pod in pods:
            yield b.node, Stay(pods[b.pod], "starts", b.devices)
    for n in plan.nominations:
        if n.pod in pods:
            yield n.node, Stay(pods[n.pod], "promised", n.devices)


def devices_asked_for(snapshot: Snapshot) -> frozenset[str]:
    """Return the extended resources that any pod asks for: the others are no picture worth."""
    specs = {id(p.spec): p.spec for p in snapshot.pods}
    return frozenset(r for s in specs.values() for r in s.requests if "/" in r)


def rows_of(node: Node, here: Iterable[Stay], asked: frozenset[str]) -> list[Row]:
    """Return a row for each kind of device of the node; of a node without any, its CPU."""
    here = list(here)
    names = [r for r in node.allocatable if r in asked and node.allocatable[r] >= WHOLE]
    if not names:
        return [_bar("cpu", node, here)]
    return [
        _cells(r, node, here) if node.allocatable[r] <= MOST_CELLS * WHOLE else _bar(r, node, here)
        for r in names
    ]


def used_of(resource: str, here: Iterable[Stay]) -> int:
    """Return what is held after the plan, without what leaves."""
    return sum(s.pod.spec.requests[resource] for s in here if s.state != "leaving")


def _bar(resource: str, node: Node, here: list[Stay]) -> Row:
    """Return one cell, with a part for each group."""
    amount = node.allocatable[resource]
    parts: dict[tuple[GroupKey | None, State], int] = {}
    for s in here:
        if s.state != "leaving":
            key = (s.pod.group, s.state)
            parts[key] = parts.get(key, 0) + s.pod.spec.requests[resource]
    holders = tuple(
        Holder(g, state, min(1.0, v / amount)) for (g, state), v in parts.items() if v and amount
    )
    return Row(resource, amount, used_of(resource, here), (holders,), is_bar=True)


def _cells(resource: str, node: Node, here: list[Stay]) -> Row:
    amount = node.allocatable[resource]
    cells: list[dict[tuple[GroupKey | None, State], float]] = [
        {} for _ in range(-(-amount // WHOLE))
    ]
    free = [float(WHOLE)] * len(cells)
    counted = resource == node.device_resource
    for s in sorted(here, key=lambda s: (ORDER[s.state], not (counted and s.devices))):
        asked = s.pod.spec.requests[resource]
        known = s.devices if counted else ()
        for i, part in _spots(asked, known, free):
            who = (s.pod.group, s.state)
            cells[i][who] = cells[i].get(who, 0.0) + part
            free[i] -= part
    made = tuple(tuple(Holder(*who, v / WHOLE) for who, v in of.items()) for of in cells)
    return Row(resource, amount, used_of(resource, here), made)


def _spots(asked: int, known: tuple[int, ...], free: list[float]) -> Iterator[tuple[int, float]]:
    """Yield which cells an amount is drawn on: those that are known, else the first with room.

    What leaves is drawn only where nobody else is by then.
    """
    if known:
        each = asked / len(known)
        for i in known:
            if i < len(free) and free[i] > 0:
                yield i, min(each, free[i])
        return
    left = float(asked)
    while left > 0:
        want = min(left, WHOLE)
        at = next((i for i, f in enumerate(free) if f >= want), None)
        if at is None:
            return
        yield at, want
        left -= want


def sizes(of: Mapping[NodeName, list[Stay]]) -> dict[GroupKey, int]:
    """Return how much of all devices (or, in a cluster without any, of CPU) each group holds."""
    devices: dict[GroupKey, int] = {}
    cpu: dict[GroupKey, int] = {}
    for s in (s for here in of.values() for s in here):
        if s.pod.group is None or s.state == "leaving":
            continue
        g, asks = s.pod.group, s.pod.spec.requests
        devices[g] = devices.get(g, 0) + sum(v for r, v in asks.items() if "/" in r)
        cpu[g] = cpu.get(g, 0) + asks["cpu"]
    return {g: (devices[g] << 40) + cpu[g] for g in devices}
