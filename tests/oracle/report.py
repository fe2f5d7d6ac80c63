"""Standing by name, for tests and for people."""

from fractions import Fraction

from apportion.models import Config, Snapshot
from oracle.amount import Vec
from oracle.standing import Fill, standing_of


class Report:
    """What queues have, need and are due, by their names."""

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self.standing = standing_of(snapshot, config)
        c = self.cluster = self.standing.cluster
        self._index: dict[str, int] = {q.name: i for i, q in reversed(list(enumerate(c.queues)))}
        self.capacity = dict(zip(c.resources, c.capacity, strict=False))
        self.root = dict(zip(c.resources, self.standing.root, strict=False))
        self.could_run = {c.groups[g].key for g in self.standing.could_run}

    def _by_name(self, row: Vec) -> dict[str, int]:
        return dict(zip(self.cluster.resources, row, strict=False))

    def demand(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.demand[self._index[queue]])

    def limit(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.limit[self._index[queue]])

    def due(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.due[self._index[queue]])

    def entitlement(self, queue: str) -> dict[str, Fraction]:
        row = self.standing.e[self._index[queue]]
        return dict(zip(self.cluster.resources, row, strict=True))

    def row(
        self, queue: str, started: frozenset[str] = frozenset()
    ) -> list[tuple[str, bool, Fill]]:
        """Return (name, is in, fill) in order; a minimum has its group's name, else the pod's.

        Fills are computed for queues with a parent only; a top queue's are 0.
        """
        c = self.cluster
        pods = frozenset(i for i, p in enumerate(c.pods) if p.key in started)
        row = self.standing.row(self._index[queue], pods)
        return [
            (c.groups[g].key if i < 0 else c.pods[i].key, p.is_in, p.fill)
            for (g, i), p in row.items()
        ]
