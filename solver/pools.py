"""Pools: room on nodes, or quota of queues, that anybody may use, and what takers have freed.

What a taker uses beyond what it has freed comes out of what is common, and only as long as it does.
"""

from collections.abc import Sequence

import numpy as np

from ..models import GroupKey, QueueName
from ..policies.ledger import Matrix
from ..policies.limits import Limits

ANY = 1 << 80
"""Quota of a queue without a limit."""


class Pools:
    """One pool a row: what is common, and by taker what it has freed less what it uses."""

    def __init__(self, base: Matrix) -> None:
        self._base = base.copy()
        self.common = base.copy()
        """What anybody may use; may be negative."""
        self._freed: dict[int, dict[GroupKey, Matrix]] = {}

    def own(self, at: int, group: GroupKey | None) -> Matrix:
        """Return what the group may use of a pool."""
        freed = self._freed.get(at, {}).get(group) if group is not None else None
        common: Matrix = self.common[at]
        return common if freed is None else np.asarray(common + np.maximum(freed, 0))

    def frees(self, at: int, group: GroupKey | None) -> bool:
        """Say whether the group has freed something there."""
        return group in self._freed.get(at, ())

    def left(self, at: int, group: GroupKey) -> Matrix | None:
        """Return what a group has freed there and does not use; None if it has freed nothing."""
        freed = self._freed.get(at, {}).get(group)
        return None if freed is None else np.asarray(np.maximum(freed, 0))

    def is_even(self, at: int, group: GroupKey) -> bool:
        """Say whether the group uses there what it has freed, no more and no less."""
        freed = self._freed.get(at, {}).get(group)
        return freed is not None and not freed.any()

    def cede(self, at: int, taker: GroupKey, other: GroupKey, row: Matrix) -> None:
        """Let another group have so much of what the taker has freed."""
        self.add(at, taker, -row)
        self.add(at, other, row)

    def add(self, at: int, taker: GroupKey | None, row: Matrix) -> None:
        """Let so much more be there, for the taker or (None) for all; a negative row is less."""
        if taker is None:
            self._base[at] = self._base[at] + row
        else:
            of_takers = self._freed.setdefault(at, {})
            of_takers[taker] = of_takers[taker] + row if taker in of_takers else row
        common = self._base[at]
        freed = self._freed.get(at)
        for of in freed.values() if freed else ():
            common = common + np.minimum(of, 0)
        self.common[at] = common

    def waive(self, at: int, group: GroupKey) -> None:
        """Forget that the group has freed something there."""
        left = self._freed.get(at, {}).pop(group, None)
        if left is not None:
            self.add(at, None, left)


def limited_queues(limits: Limits) -> list[QueueName]:
    """Return the queues that have a limit of something."""
    return [q for q, of in limits.limit.items() if any(v is not None for v in of)]


def open_quotas(limits: Limits, queues: Sequence[QueueName]) -> Matrix:
    """Return what each of the queues has open; much, where it has no limit."""
    rows = [
        [
            ANY if most is None else min(ANY, max(0, most - use))
            for most, use in zip(limits.limit[q], limits.use[q], strict=True)
        ]
        for q in queues
    ]
    width = len(rows[0]) if rows else 0
    made: Matrix = np.array(rows, dtype=object).reshape(len(queues), width)
    return made
