"""Devices of nodes while a plan grows: where a share or whole devices still find a place."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import Pod
from .device_packing import Devices, IdleDevices
from .device_sizes import ANY_NUMBER, uses, uses_devices, whole_devices
from .device_sketch import Sketch
from .tracker import Mask, World

MEMO = "device states"


class DeviceStates:
    """What is known of states of devices: each has a number, and is asked for a kind of pod once.

    It follows from the nodes and the pods before the plan: all trackers of a scene share it.
    """

    def __init__(self, world: World) -> None:
        self.idle = IdleDevices(world.nodes).of
        """The devices of each node that has some, without any pod; never to be changed."""
        specs = {id(p.spec): p.spec for p, _ in world.before}
        wanted = {k for k, spec in specs.items() if uses(spec)}
        self._users = [of for of in world.before if id(of[0].spec) in wanted]
        self._keys = frozenset(p.key for p, _ in self._users)
        self._full: dict[int, Devices] | None = None
        self._numbers: dict[object, int] = {}
        self._samples: list[Devices] = []
        """A state of each number, which nobody changes."""
        self._answers: dict[object, dict[int, int]] = {}
        self._asked: dict[object, int] = {}
        self.numbers = np.full(len(world.nodes), -1, dtype=np.int64)
        """By node, the number of the state with all pods before the plan; −1: not known yet."""

    @property
    def full(self) -> dict[int, Devices]:
        """The devices with all pods before the plan; never to be changed."""
        if self._full is None:
            self._full = {}
            self.put(self._full, self._users)
        return self._full

    def put(self, states: dict[int, Devices], pods: Iterable[tuple[Pod, int]]) -> None:
        """Add pods to the states of nodes, each a copy of the idle one at first."""
        for p, i in pods:
            if i in self.idle:
                if i not in states:
                    states[i] = self.idle[i].copy()
                states[i].add(p)

    def changes(
        self, present: Sequence[tuple[Pod, int]]
    ) -> tuple[list[tuple[Pod, int]], list[tuple[Pod, int]]]:
        """Return who was there before and is not present, and who is present and was not there."""
        here = {p.key for p, _ in present}
        left = [of for of in self._users if of[0].key not in here]
        return left, [of for of in present if of[0].key not in self._keys]

    def number(self, state: Devices) -> int:
        """Return the state's number; equal ones hold the same."""
        key = state.key
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._samples)
            self._samples.append(state.copy())
        return number

    def holds(self, pod: Pod, number: int) -> bool:
        """Say whether the state of this number takes the pod."""
        known = self._answers.setdefault((pod.spec.share or whole_devices(pod), True), {})
        if number not in known:
            known[number] = int(self._samples[number].holds([pod]))
        return known[number] >= 1

    def takes(self, pod: Pod, numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return how many pods like this one states of these numbers take, at most ``most``."""
        kind = (pod.spec.share or whole_devices(pod), most == 1)
        known = self._answers.setdefault(kind, {})
        if most > self._asked.get(kind, 1):
            known.clear()
            self._asked[kind] = most
        found = np.flatnonzero(np.bincount(numbers)).tolist()
        table = np.zeros(found[-1] + 1, dtype=np.int64)
        for number in found:
            if number not in known:
                state = self._samples[number]
                known[number] = (
                    int(state.holds([pod])) if most == 1 else state.copies(pod, self._asked[kind])
                )
            table[number] = known[number]
        return np.minimum(table, most)[numbers]


def states_of(world: World) -> DeviceStates:
    """Return what is known of the states of a world's devices."""
    if MEMO not in world.memo:
        world.memo[MEMO] = DeviceStates(world)
    states: DeviceStates = world.memo[MEMO]
    return states


class DeviceTracker:
    """The state of every node with devices; what comes floats: it finds a place together."""

    def __init__(self, world: World) -> None:
        self._known = states_of(world)
        self._idle = self._known.idle
        self.is_idle = not self._idle
        self._size = len(world.nodes)
        self._of: dict[int, Devices] = {}
        """States of nodes with pods on their devices; the others are idle."""
        self._owned: set[int] = set()
        self._floats = False
        """Some state has, or had, shares of which nobody says where they are."""
        self._sketches: dict[int, Sketch | None] = {}
        """Nodes whose state is this tracker's own, and may be changed."""
        self._masks: dict[object, tuple[Mask, Mask]] = {}
        """Nodes that take pods of a kind, and nodes of which that is not known."""
        self._number = np.full(self._size, -1, dtype=np.int64)
        self._there = np.zeros(self._size, dtype=np.bool_)
        """Nodes with devices that are known."""
        self._there[list(self._idle)] = True
        self._stale = self._there.copy()
        """Nodes whose states have to be numbered."""
        self._goes_on = False
        """Nodes on which nothing has changed are as they were before the plan."""
        if self._idle:
            present = world.present_with(uses)
            left, come = self._known.changes(present)
            if 2 * (len(left) + len(come)) < len(present):
                self._goes_on = True
                self._of = dict(self._known.full)
                self._number = self._known.numbers.copy()
                self._stale &= self._number < 0
                for p, i in left:
                    self.add(p, i, -1)
                for p, i in come:
                    self.add(p, i)
            else:
                self._known.put(self._of, present)
                self._owned = set(self._of)

    def _states(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the nodes' states."""
        for i in nodes[self._stale[nodes]].tolist():
            self._count(i)
        return self._number[nodes]

    def _count(self, node: int) -> None:
        """Find the number of the node's state."""
        number = self._known.number(self._of.get(node) or self._idle[node])
        self._number[node], self._stale[node] = number, False
        if self._goes_on and node not in self._owned:
            self._known.numbers[node] = number

    def allows(self, pod: Pod) -> Mask | None:
        if not self._idle or not uses_devices(pod):
            return None
        return self.within(pod, np.ones(self._size, dtype=np.bool_))

    def within(self, pod: Pod, mask: Mask) -> Mask:
        """Return those of the nodes that take the pod; no others are looked at."""
        if not self._idle or not uses_devices(pod):
            return mask
        takes, open_ = self._masks_of(pod)
        asked = np.flatnonzero(open_ & mask)
        open_[asked] = False
        if self._floats:
            asked = asked[[self._sketched(pod, takes, int(i)) for i in asked]]
        if len(asked):
            takes[asked] = self._known.takes(pod, self._states(asked), 1) >= 1
        return takes & mask

    def takes(self, pod: Pod, node: int) -> bool:
        """Say whether the node takes the pod."""
        if not self._idle or not uses_devices(pod):
            return True
        takes, open_ = self._masks_of(pod)
        if open_[node]:
            open_[node] = False
            if not self._floats or self._sketched(pod, takes, node):
                if self._stale[node]:
                    self._count(node)
                takes[node] = self._known.holds(pod, int(self._number[node]))
        return bool(takes[node])

    def surely(self, pod: Pod, node: int) -> int:
        """Return how many pods like this one, which the node takes, it takes in a row."""
        if not uses_devices(pod):
            return ANY_NUMBER
        state = self._of.get(node) or self._idle.get(node)
        if pod.spec.share is not None or state is None or state.floating:
            return 1
        return max(1, state.copies(pod, len(state.room)))

    def _masks_of(self, pod: Pod) -> tuple[Mask, Mask]:
        """Return the nodes that take such a pod, and those of which that is not known."""
        kind = pod.spec.share or whole_devices(pod)
        if kind not in self._masks:
            takes = np.full(self._size, pod.spec.share is None, dtype=np.bool_)
            self._masks[kind] = (takes, self._there.copy())
        return self._masks[kind]

    def _sketched(self, pod: Pod, takes: Mask, node: int) -> bool:
        """Note whether a sketch of what floats on the node takes the pod; say if it cannot tell."""
        state = self._of.get(node)
        if state is None or not state.floating:
            return True
        if node not in self._sketches:
            self._sketches[node] = Sketch.of(state)
        sketch = self._sketches[node]
        if sketch is None:
            return True
        takes[node] = sketch.place(pod) is not None
        return not takes[node] and not sketch.refuses(pod)

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def most(self, pod: Pod, counts: NDArray[Any]) -> NDArray[Any]:
        if not self._idle or not uses_devices(pod):
            return counts
        out = counts.copy()
        nodes = np.flatnonzero((counts > 0) & self._there)
        if len(nodes):
            takes = self._known.takes(pod, self._states(nodes), int(counts[nodes].max()))
            out[nodes] = np.minimum(counts[nodes], takes)
        return out

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if node not in self._idle or not uses_devices(pod):
            return
        if node not in self._owned:
            self._of[node] = (self._of.get(node) or self._idle[node]).copy()
            self._owned.add(node)
            self._sketches.pop(node, None)
        state = self._of[node]
        for _ in range(abs(times)):
            floating = len(state.floating)
            state.add(pod, 1 if times > 0 else -1)
            sketch = self._sketches.pop(node, None)
            goes_on = times > 0 and (pod.spec.share is None or len(state.floating) > floating)
            if sketch is not None and goes_on and sketch.add(pod):
                self._sketches[node] = sketch
        self._floats = self._floats or bool(state.floating)
        self._stale[node] = True
        for _, open_ in self._masks.values():
            open_[node] = True
