"""Within: who takes from other branches stays within a measure at each queue up to its branch."""

from ...models import QueueName
from ...models.queue import ROOT
from ...policies.standing import MEASURES, Measure
from .ground import Ground

Cross = dict[tuple[QueueName, Measure, QueueName, int], int]
"""By leaf, measure, common ancestor and lead: the column of room from other branches."""


class Within:
    """Tells what is taken from other branches at most."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._ratios: dict[tuple[QueueName, int, int], float] = {}

    def tell(self, cross: Cross) -> None:
        """Who takes from other branches stays within the measure, at each queue up to its branch.

        If anything is taken, all that starts there is at most what the measure leaves and what is
        freed there; so what is taken is too. Use beyond the measure has to be freed first.
        """
        if not cross:
            return
        use = self.ground.use
        tree = self.ground.parts.scene.tree
        for q in tree.downwards:
            by_measure: dict[Measure, list[tuple[QueueName, int, int]]] = {m: [] for m in MEASURES}
            for (leaf, m, above, lead), column in cross.items():
                path = (*tree.path(leaf), ROOT)
                if q in path[: path.index(above)]:
                    by_measure[m].append((leaf, lead, column))
            for r in sorted(self.ground.table.columns):
                if not self.ground.parts.rows[:, r].any():
                    continue
                most = {m: self.ground.table.floors[m][q][r] for m in MEASURES}
                for m, of in by_measure.items():
                    self._limited(q, r, most[m] - int(use[q][r]), of)
                both = [x for of in by_measure.values() for x in of]
                self._limited(q, r, max(most.values()) - int(use[q][r]), both)

    def _limited(
        self, q: QueueName, r: int, room: int, of: list[tuple[QueueName, int, int]]
    ) -> None:
        ratios = [(column, self._ratio(leaf, lead, r)) for leaf, lead, column in of]
        some = [(column, x) for column, x in ratios if x > 0]
        if not some:
            return
        kinds = self.ground.kinds_below[q]
        left = room / self.ground.parts.unit[r]
        row = self.ground.program.add_rows(max(0.0, left))
        columns, coefs = zip(*some, strict=True)
        self.ground.program.put(row, columns, coefs)
        total = self.ground.held_by(kinds, r)
        if left < 0:
            # From nothing freed to everything: the line above what is left of it.
            part = max(0.0, (total + left) / total) * (1 + 1e-12) if total else 0.0
        else:
            part = 1.0
        self.ground.program.put(
            row, self.ground.parts.evicted[kinds], -part * self.ground.held[kinds, r]
        )

    def _ratio(self, leaf: QueueName, lead: int, r: int) -> float:
        """Return the least of r that waiting work of a lead asks for with each unit of the lead."""
        if r == lead:
            return 1.0
        if (leaf, lead, r) not in self._ratios:
            self._ratios[leaf, lead, r] = self._least(leaf, lead, r)
        return self._ratios[leaf, lead, r]

    def _least(self, leaf: QueueName, lead: int, r: int) -> float:
        mine = self.ground.starts_of[leaf]
        mine = mine[
            (self.ground.lead[mine] == lead)
            & self.ground.able[mine]
            & (self.ground.amounts[mine, lead] > 0)
        ]
        if not len(mine):
            return 0.0
        return float((self.ground.amounts[mine, r] / self.ground.amounts[mine, lead]).min()) * (
            1 - 1e-12
        )
