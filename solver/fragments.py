"""Fragments: what a place would make useless to the expected mix, while greedy's plan grows.

An estimate for the choice of nodes: a share counts as put onto the fullest device that bears it,
and what evictions free is not looked at. The goal itself measures the plan.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..models import Pod, PodKey
from ..models.devices import GPU
from ..policies.device_rows import milli_of
from ..policies.device_sizes import whole_devices
from ..policies.expected_fragmentation import ExpectedFragmentation, idle_parts
from ..policies.expected_mix import SCALE, WHOLE, Expected, mix_of
from ..policies.ledger import Matrix
from ..policies.outcome import Outcome
from ..policies.scene import Scene

Parts = NDArray[np.int64]
Costs = NDArray[np.float64]


class Fragments:
    """Idle parts of every node's devices, and what is lost where a pod comes."""

    def __init__(self, scene: Scene, mix: Sequence[Expected]) -> None:
        self._mix = mix
        self._nodes = scene.nodes
        before = Outcome(scene, {}, ())
        column = scene.ledger.column[GPU]
        having = scene.allocatable[:, column] > 0
        idle = [idle_parts(before, i) if has else [] for i, has in enumerate(having.tolist())]
        most = max(1, max(map(len, idle), default=1))
        self._idle: Parts = np.array([[*x, *[0] * (most - len(x))] for x in idle], dtype=np.int64)
        self._on: dict[PodKey, tuple[int, ...]] = {}

    def put(self, pod: Pod, node: int) -> None:
        ask = self._ask(pod, node)
        if ask[0]:
            at = self._devices(self._idle[[node]], *ask)[0]
            self._on[pod.key] = tuple(int(d) for d in at)
            self._idle[node, at] -= ask[1]

    def take_back(self, pod: Pod, node: int) -> None:
        if pod.key in self._on:
            self._idle[node, list(self._on.pop(pod.key))] += self._ask(pod, node)[1]

    def costs(self, pod: Pod, nodes: "NDArray[np.intp]", room: Matrix, row: Matrix) -> Costs:
        """Return, by node, how many GPUs the mix could use no more if the pod came there."""
        before = self._lost(nodes, self._idle[nodes], room)
        after = self._idle[nodes].copy()
        asks: dict[tuple[int, int], list[int]] = {}
        for k, i in enumerate(nodes.tolist()):
            asks.setdefault(self._ask(pod, i), []).append(k)
        for (number, milli), mine in asks.items():
            if number:
                at = self._devices(after[mine], number, milli)
                np.put_along_axis(
                    part := after[mine], at, np.take_along_axis(part, at, axis=1) - milli, axis=1
                )
                after[mine] = np.maximum(part, 0)
        return np.asarray(
            (self._lost(nodes, after, room - row) - before) / (WHOLE * SCALE), dtype=float
        )

    def _ask(self, pod: Pod, node: int) -> tuple[int, int]:
        """Return how many devices and how much of each, in thousandths."""
        share, devices = pod.spec.share, self._nodes[node].devices
        if share is None:
            return min(whole_devices(pod), self._idle.shape[1]), WHOLE
        if not devices:
            return 0, 0
        return min(share.devices, self._idle.shape[1]), min(WHOLE, milli_of(share, devices[0]))

    @staticmethod
    def _devices(idle: Parts, number: int, milli: int) -> "NDArray[np.intp]":
        """Return the fullest devices that bear so much, by row."""
        order = np.argsort(np.where(idle >= milli, idle, 10 * WHOLE), axis=1, kind="stable")
        return np.asarray(order[:, :number])

    def _lost(self, nodes: "NDArray[np.intp]", idle: Parts, room: Matrix) -> Parts:
        """Return weight times idle thousandths that the mix cannot use, by node."""
        all_of = idle.sum(axis=1)
        out = np.zeros(len(nodes), dtype=np.int64)
        for m in self._mix:
            able = idle >= m.milli
            hosts = m.may[nodes] & (able.sum(axis=1) >= m.devices)
            hosts &= np.asarray((room >= m.row).all(axis=1), dtype=np.bool_)
            out += m.weight * np.where(hosts, np.where(able, 0, idle).sum(axis=1), all_of)
        return out


def fragments_of(scene: Scene) -> Fragments | None:
    """Return the estimate where the goal is asked for and some kind is expected; else None."""
    name = ExpectedFragmentation().name
    if scene.config.tiers.packing != name or name in scene.config.off:
        return None
    mix = mix_of(scene)
    return Fragments(scene, mix) if mix else None
