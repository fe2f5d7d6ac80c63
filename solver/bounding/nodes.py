"""Nodes merged upwards: those that take the same shapes and have as many idle devices are one.

The room of a class is the sum of its nodes' room, negative room taken as none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...models import Pod, PodKey, PodState
from ...models.devices import GPU
from ...policies.evictable import given_up, given_up_pods
from ...policies.scene import Scene
from .program import Index, Real
from .work import Shape, whole_devices

MOST_CLASSES = 300
"""Of more classes than these, idle devices do not tell nodes apart."""


@dataclass(frozen=True)
class Classes:
    """Nodes by class; a node that takes nothing is in none (−1)."""

    of_node: Index
    room: Real
    """Class by resource, in the ledger's units."""
    most: Real
    """The most room that one node of the class has, likewise."""
    fits: NDArray[np.int64]
    """Shape by class: how many could be there, were all gone that they could have a right to."""
    idle: Index
    """How many whole devices are idle on each node of the class; −1: not the same number."""
    whole: Real
    """How many whole devices are idle in the class."""
    by_size: dict[int, Real]
    """By number of devices: on how many sets of so many idle ones of one node there are."""

    @property
    def size(self) -> int:
        return len(self.idle)


@dataclass(frozen=True)
class Idle:
    """Whole devices that nobody uses, by node; and what a share's leaving adds to them."""

    on_node: Index
    of_share: dict[str, float]
    """By pod: the part of a device that its leaving makes idle, at most."""


def idle_devices(scene: Scene, may_leave: "set[PodKey]") -> Idle:
    """Count idle devices: a device is in use while some share is on it."""
    column = scene.ledger.column.get(GPU)
    n = len(scene.nodes)
    if column is None:
        return Idle(np.zeros(n, dtype=np.int64), {})
    devices = np.array(
        [
            len(d.devices) or int(v) // 1000
            for d, v in zip(scene.nodes, scene.offered[:, column], strict=True)
        ],
        dtype=np.int64,
    )
    on: dict[tuple[int, int], list[Pod]] = {}
    goes, whole = given_up_pods(scene), dict[int, int]()
    for p, i in scene.before:
        spec = p.spec
        if id(spec) not in whole:
            whole[id(spec)] = whole_devices(p) if spec.share is None else -1
        if not whole[id(spec)] or p.state is PodState.TERMINATING or p.key in goes:
            continue
        if spec.share is None:
            devices[i] -= whole[id(spec)]
        for d in p.devices if spec.share is not None else ():
            on.setdefault((i, d), []).append(p)
    of_share: dict[str, float] = {}
    for (i, _), pods in on.items():
        devices[i] -= 1
        if all(p.key in may_leave for p in pods):
            for p in pods:
                of_share[p.key] = of_share.get(p.key, 0.0) + 1.0 / len(pods)
    return Idle(np.maximum(devices, 0), of_share)


def room_without(scene: Scene) -> "NDArray[np.int64]":
    """Return what is free on each node once what every plan may give up is gone."""
    room = scene.room_later.copy()
    for m in scene.roster.broken:
        if given_up(scene, m):
            for p in m.running:
                if p.node in scene.index:
                    i = scene.index[p.node]
                    room[i] = room[i] + scene.row(p)
    return np.maximum(room, 0)


def places_of(shape: Shape, room: "NDArray[np.int64]") -> Index:
    """Return how many pods of a shape each node has room for."""
    fit = np.where(shape.mask, np.iinfo(np.int64).max, 0)
    for c in np.flatnonzero(shape.row):
        fit = np.minimum(fit, room[:, c] // shape.row[c])
    return np.asarray(fit, dtype=np.int64)


def classes_of(
    shapes: Sequence[Shape],
    room: "NDArray[np.int64]",
    freed: "NDArray[np.int64]",
    idle: Index,
    alone: Index,
) -> Classes:
    """Merge nodes, but those ``alone``; ``freed`` is what evictable work holds on each."""
    wide = room + freed
    fits = np.zeros((len(shapes), len(room)), dtype=np.int64)
    for s, shape in enumerate(shapes):
        fits[s] = places_of(shape, room if shape.is_rightless else wide)
    used = np.asarray(fits.any(axis=0), dtype=np.bool_)
    takes = np.packbits(fits > 0, axis=0).T
    counts = np.minimum(idle, 255).astype(np.uint8)
    own = np.zeros(len(room), dtype=np.int64)
    own[alone] = alone + 1
    single = own.view(np.uint8).reshape(len(room), -1)
    numbers, size = _numbered(np.column_stack([takes, counts, single]), used)
    alike = size <= MOST_CLASSES + len(alone)
    if not alike:
        numbers, size = _numbered(np.column_stack([takes, single]), used)
    out_fits = np.zeros((len(shapes), size), dtype=np.int64)
    out_room, most = np.zeros((size, room.shape[1])), np.zeros((size, room.shape[1]))
    whole = np.zeros(size)
    same = np.full(size, -1, dtype=np.int64)
    at, nodes = numbers[used], np.flatnonzero(used)
    np.add.at(out_room, at, room[nodes].astype(np.float64))
    np.maximum.at(most, at, room[nodes].astype(np.float64))
    np.add.at(whole, at, idle[nodes])
    for s in range(len(shapes)):
        np.add.at(out_fits[s], at, fits[s, nodes])
    if alike:
        same[at] = idle[nodes]
    by_size = {}
    for k in sorted({s.whole for s in shapes if s.whole}):
        sets = np.zeros(size)
        np.add.at(sets, at, idle[nodes] // k)
        by_size[k] = sets
    return Classes(numbers, out_room, most, out_fits, same, whole, by_size)


def _numbered(key: NDArray[np.uint8], used: NDArray[np.bool_]) -> tuple[Index, int]:
    numbers = np.full(len(key), -1, dtype=np.int64)
    if not used.any():
        return numbers, 0
    _, inverse = np.unique(key[used], axis=0, return_inverse=True)
    numbers[used] = inverse.ravel()
    return numbers, int(inverse.max()) + 1
