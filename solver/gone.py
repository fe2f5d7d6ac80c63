"""Gone: what of the herd is evicted in a draft, by runner and by pod, and what of each is left."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..models import Pod, PodKey
from ..policies.cost import age_s, losses_of
from ..policies.ledger import Matrix
from ..policies.scene import Scene
from ..policies.tracker import Mask
from .herd import Herd


@dataclass(frozen=True)
class Wave:
    """Pods that leave together: one, or what is left of a whole group."""

    scene: Scene
    pods: tuple[Pod, ...]

    @cached_property
    def lost(self) -> int:
        """Work that is lost with them, in thousandths of device-seconds."""
        return sum(losses_of(self.scene, self.pods))

    @cached_property
    def age_s(self) -> int:
        """How long they have existed, together."""
        return sum(age_s(self.scene, p) for p in self.pods)

    @cached_property
    def freed(self) -> dict[int, Matrix]:
        """What they leave, by node."""
        out: dict[int, Matrix] = {}
        for p in self.pods:
            node = self.scene.index.get(p.node or "")
            if node is not None:
                row = self.scene.row(p)
                out[node] = out[node] + row if node in out else row
        return out


class Gone:
    """Counts evictions, and takes them back."""

    def __init__(self, scene: Scene, herd: Herd) -> None:
        self._scene, self._herd = scene, herd
        self._alone: dict[PodKey, Wave] = {}
        self._rests: dict[int, Wave] = {}
        """What is left of runners, as long as nothing more of them leaves or stays."""
        self.of_runner: NDArray[np.int64] = np.zeros(len(herd.runners), dtype=np.int64)
        """How many pods of each runner are evicted."""
        self._pods: Mask | None = None

    def note(self, pod: Pod, more: int) -> None:
        """Take note that the pod leaves (1), or stays after all (−1)."""
        runner = self._herd.at.get(pod.group) if pod.group is not None else None
        if runner is not None:
            self.of_runner[runner] += more
            self._rests.pop(runner, None)
        if self._pods is not None:
            self._mark([pod.key], more > 0)

    def alone(self, pod: Pod) -> Wave:
        """Return a single pod that leaves."""
        if pod.key not in self._alone:
            self._alone[pod.key] = Wave(self._scene, (pod,))
        return self._alone[pod.key]

    def rest(self, runner: int, evicted: Container[PodKey]) -> Wave:
        """Return what is left of what may be evicted of a runner; ``evicted``: all that are."""
        if runner not in self._rests:
            able = self._herd.runners[runner].able
            self._rests[runner] = Wave(
                self._scene, tuple([p for p in able if p.key not in evicted])
            )
        return self._rests[runner]

    def pods(self, evicted: Iterable[PodKey]) -> Mask:
        """Return which of the herd's pods are evicted; ``evicted``: all that are."""
        if self._pods is None:
            self._pods = np.zeros(len(self._herd.pods.node), dtype=np.bool_)
            self._mark(evicted, True)
        return self._pods

    def _mark(self, keys: Iterable[PodKey], leaves: bool) -> None:
        assert self._pods is not None
        for key in keys:
            at = self._herd.pods.at.get(key)
            if at is not None:
                self._pods[at] = leaves
