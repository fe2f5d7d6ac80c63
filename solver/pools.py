"""Pools: room on nodes, or quota of queues, that anybody may use, and what takers have freed.

What a taker uses beyond what it has freed comes out of what is common, and only as long as it does.
"""

import numpy as np

from ..models import GroupKey
from ..policies.ledger import Matrix


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

    def add(self, at: int, taker: GroupKey | None, row: Matrix) -> None:
        """Let so much more be there, for the taker or (None) for all; a negative row is less."""
        if taker is None:
            self._base[at] = self._base[at] + row
        else:
            freed = self._freed.setdefault(at, {})
            freed[taker] = freed[taker] + row if taker in freed else row
        common = self._base[at]
        for of in self._freed.get(at, {}).values():
            common = common + np.minimum(of, 0)
        self.common[at] = common

    def waive(self, at: int, group: GroupKey) -> None:
        """Forget that the group has freed something there."""
        left = self._freed.get(at, {}).pop(group, None)
        if left is not None:
            self.add(at, None, left)
