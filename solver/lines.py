"""Lines: what waits in a leaf queue, in order, and what of it counts as in so far."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from ..models import QueueName
from ..policies.items import Item
from ..policies.scene import Scene


@dataclass
class Line:
    """A leaf queue's waiting items in order, and what of it counts as in so far."""

    queue: QueueName
    waiting: deque[Item]
    resting: list[Item]
    """What runs, in any order until somebody asks."""
    started: list[int]
    _sums: tuple[list[tuple[object, ...]], list[list[int]]] | None = None
    """Places of the running items in the order, first things first; and what the first so many add
    up to."""

    def running_before(self, key: tuple[object, ...], scene: Scene) -> list[int]:
        """Return what runs and ranks before the key."""
        if self._sums is None:
            self.resting.sort(key=attrgetter("leaf"))
            zero = scene.ledger.zero()[None]
            rows = np.concatenate([zero, scene.item_rows([i.pods for i in self.resting])])
            self._sums = ([i.leaf for i in self.resting], np.cumsum(rows, axis=0).tolist())
        keys, sums = self._sums
        return sums[bisect_left(keys, key)]
