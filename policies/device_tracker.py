"""Devices of nodes while a plan grows: where a share or whole devices still find a place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import Pod
from .device_packing import Devices, uses_devices, whole_devices
from .tracker import Mask, World


class DeviceTracker:
    """The state of every node with devices; what comes floats: it finds a place together."""

    def __init__(self, world: World) -> None:
        self._size = len(world.nodes)
        self._of = {i: Devices.of(n) for i, n in enumerate(world.nodes) if n.devices}
        self._masks: dict[object, tuple[Mask, set[int]]] = {}
        self._known: dict[object, bool] = {}
        for p, i in world.present:
            if i in self._of and uses_devices(p):
                self._of[i].add(p)

    def allows(self, pod: Pod) -> Mask | None:
        if not self._of or not uses_devices(pod):
            return None
        kind = pod.spec.share or whole_devices(pod)
        if kind not in self._masks:
            mask = np.full(self._size, pod.spec.share is None, dtype=np.bool_)
            self._masks[kind] = (mask, set(self._of))
        mask, stale = self._masks[kind]
        for i in stale:
            state = self._of[i]
            memo = (kind, state.key)
            if memo not in self._known:
                self._known[memo] = state.holds([pod])
            mask[i] = self._known[memo]
        stale.clear()
        return mask.copy()

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def most(self, pod: Pod, counts: NDArray[Any]) -> NDArray[Any]:
        if not self._of or not uses_devices(pod):
            return counts
        out = counts.copy()
        for i in np.flatnonzero(counts):
            if int(i) in self._of:
                out[i] = self._of[int(i)].copies(pod, int(counts[i]))
        return out

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if node not in self._of or not uses_devices(pod):
            return
        for _ in range(abs(times)):
            self._of[node].add(pod, 1 if times > 0 else -1)
        for _, stale in self._masks.values():
            stale.add(node)
