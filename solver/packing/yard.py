"""The yard: nodes with what is free on them and on each device, and kinds of pods that want in.

Numbers only, so that the packer serves plans and benchmarks alike. A device holds ``unit`` parts; a
kind takes so many parts of one device, or a number of whole devices, which must be idle.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Place = tuple[int, int, tuple[int, ...]]
"""Node, kind, and the devices that are used there."""


@dataclass(frozen=True)
class Kinds:
    """Equal pods are one kind."""

    rows: Ints
    """(kind, resource): what one pod takes of its node."""
    devices: Ints
    """How many devices of the node."""
    parts: Ints
    """Parts of each; the unit where devices are taken whole, 0 where none is asked for."""
    wanted: Ints
    """How many pods wait."""
    may: Flags
    """(kind, node): whether it may be there at all."""
    worth: Ints
    """What one pod is worth; more is better."""
    least: Ints
    """How many of them must be placed."""

    def __len__(self) -> int:
        return len(self.wanted)


@dataclass(frozen=True)
class Yard:
    """Nodes with their room."""

    free: Ints
    """(node, resource)."""
    left: Ints
    """(node, device): parts left; 0 too where the node has no such device."""
    unit: int
    kinds: Kinds

    @property
    def shared(self) -> Flags:
        """Which kinds take a part of a device."""
        k = self.kinds
        out: Flags = (k.devices == 1) & (k.parts < self.unit)
        return out

    @property
    def sizes(self) -> list[int]:
        """The parts that kinds ask for, largest first."""
        return sorted({int(p) for p in self.kinds.parts[self.shared]}, reverse=True)


@dataclass
class Packing:
    """What is where: a yard while pods of its kinds come and go."""

    yard: Yard
    free: Ints = field(init=False)
    left: Ints = field(init=False)
    count: Ints = field(init=False)
    """(node, kind): how many."""
    waiting: Ints = field(init=False)
    at: list[list[tuple[int, tuple[int, ...]]]] = field(init=False)
    """By node: kinds with their devices."""

    def __post_init__(self) -> None:
        y = self.yard
        self.free, self.left = y.free.copy(), y.left.copy()
        self.count = np.zeros((len(y.free), len(y.kinds)), dtype=np.int64)
        self.waiting = y.kinds.wanted.copy()
        self.at = [[] for _ in y.free]

    @property
    def places(self) -> list[Place]:
        return [(v, k, d) for v, here in enumerate(self.at) for k, d in here]

    @property
    def worth(self) -> int:
        return int((self.count.sum(axis=0) * self.yard.kinds.worth).sum())

    @property
    def placed(self) -> int:
        return int(self.count.sum())

    @property
    def short(self) -> int:
        """How many pods that must be placed are not."""
        k = self.yard.kinds
        return int(np.maximum(0, k.least - (k.wanted - self.waiting)).sum())

    def put(self, node: int, kind: int, devices: tuple[int, ...]) -> None:
        k = self.yard.kinds
        self.free[node] -= k.rows[kind]
        for d in devices:
            self.left[node, d] -= k.parts[kind]
        self.count[node, kind] += 1
        self.waiting[kind] -= 1
        self.at[node].append((kind, devices))

    def take(self, node: int, kind: int, devices: tuple[int, ...]) -> None:
        k = self.yard.kinds
        self.at[node].remove((kind, devices))
        self.free[node] += k.rows[kind]
        for d in devices:
            self.left[node, d] += k.parts[kind]
        self.count[node, kind] -= 1
        self.waiting[kind] += 1

    def device_room(self, kind: int) -> Flags:
        """Say on which nodes devices for one more pod of the kind are left."""
        k = self.yard.kinds
        n = int(k.devices[kind])
        if not n:
            return np.ones(len(self.free), dtype=np.bool_)
        enough: Flags = (self.left >= k.parts[kind]).sum(axis=1) >= n
        return enough

    def fits(self, kind: int) -> Flags:
        """Say on which nodes one more pod of the kind fits."""
        k = self.yard.kinds
        room = (self.free >= k.rows[kind]).all(axis=1)
        out: Flags = k.may[kind] & room & self.device_room(kind)
        return out

    def devices_for(self, node: int, kind: int) -> tuple[int, ...] | None:
        """Pick devices of the node: for a part the fullest that bears it, else the first idle."""
        k = self.yard.kinds
        n = int(k.devices[kind])
        if not n:
            return ()
        able = [int(d) for d in np.flatnonzero(self.left[node] >= k.parts[kind])]
        if len(able) < n:
            return None
        able.sort(key=lambda d: (int(self.left[node, d]), d))
        return tuple(able[:n])
