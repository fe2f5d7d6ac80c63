"""Lines: what waits in a leaf queue, in order, and what of it counts as in so far."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

from ..models import QueueName
from ..policies.items import Item


@dataclass
class Line:
    """A leaf queue's waiting items in order, and what of it counts as in so far."""

    queue: QueueName
    waiting: deque[Item]
    before: list[tuple[tuple[object, ...], tuple[int, ...]]]
    """Running items that rank somewhere, with their order."""
    started: list[int]
    keys: list[tuple[object, ...]] = field(default_factory=list)
    """Places of the running items in the order, first things first."""
    sums: list[list[int]] = field(default_factory=list)
    """What the first so many running items add up to."""

    def sort(self, resources: int) -> None:
        """Put the running items in their order."""
        self.before.sort(key=lambda of: of[0])
        self.keys = [key for key, _ in self.before]
        self.sums = [[0] * resources]
        for _, row in self.before:
            self.sums.append([a + b for a, b in zip(self.sums[-1], row, strict=True)])

    def running_before(self, key: tuple[object, ...]) -> list[int]:
        """Return what runs and ranks before the key."""
        return self.sums[bisect_left(self.keys, key)]
