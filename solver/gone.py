"""Gone: what of the herd is evicted in a draft, by runner and by pod."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..models import Pod, PodKey
from ..policies.tracker import Mask
from .herd import Herd


class Gone:
    """Counts evictions, and takes them back."""

    def __init__(self, herd: Herd) -> None:
        self._herd = herd
        self.of_runner: NDArray[np.int64] = np.zeros(len(herd.runners), dtype=np.int64)
        """How many pods of each runner are evicted."""
        self._pods: Mask | None = None

    def note(self, pod: Pod, more: int) -> None:
        """Take note that the pod leaves (1), or stays after all (−1)."""
        runner = self._herd.at.get(pod.group) if pod.group is not None else None
        if runner is not None:
            self.of_runner[runner] += more
        if self._pods is not None:
            self._mark([pod.key], more > 0)

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
