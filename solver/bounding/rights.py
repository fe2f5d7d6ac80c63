"""Freed room is for those with a right to it: flows of room from victims to work that starts.

On each node, whatever starts has free room or what is freed by victims to which it has a right (the
rule of claims). Added up by queue that gives the amounts that are told here, in units of the
column by which shapes are led.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from ...models import QueueName
from ...policies.standing import MEASURES
from .beyond import Spot
from .ground import Ground
from .growth import Growth
from .program import Index
from .victims import spots_of
from .within import Cross, Within


def tell_rights(ground: Ground, taken: Mapping[int, Index]) -> None:
    """Tell whose room is taken by whom."""
    _Rights(ground).tell(taken)


class _Rights:
    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._growth = Growth(ground)

    def tell(self, taken: Mapping[int, Index]) -> None:
        every: Cross = {}
        for r, columns in taken.items():
            own, cross = self._claimants(r)
            row = self.ground.program.add_rows(0.0)
            self.ground.program.put(row, columns, 1.0)
            self.ground.program.put(row, [c for of in own.values() for c in of.values()], -1.0)
            self.ground.program.put(row, list(cross.values()), -1.0)
            given = self._givers(r, own)
            self._pool(r, cross, given)
            every |= cross
        Within(self.ground).tell(every)

    # Who takes

    def _claimants(self, r: int) -> tuple[dict[QueueName, dict[int, int]], Cross]:
        """Add columns: what each leaf takes by its own rights, by priority, and from others."""
        own: dict[QueueName, dict[int, int]] = {}
        cross: Cross = {}
        for q, mine in self.ground.starts_of.items():
            mine = mine[(self.ground.lead[mine] == r) & self.ground.able[mine]]
            if not len(mine) or not self.ground.kinds:
                continue
            least = min(
                (self.ground.kinds[n].priority for n in self.ground.kinds_of[q]), default=None
            )
            row = self.ground.program.add_rows(0.0)
            self.ground.put_starts(row, mine, r, -1.0)
            for p in (
                sorted({int(x) for x in self.ground.priority[mine]}) if least is not None else ()
            ):
                if least is None or p <= least:
                    continue
                (column,) = self.ground.program.add_columns(
                    self.ground.held_by(self.ground.kinds_of[q], r)
                )
                own.setdefault(q, {})[p] = int(column)
                self.ground.program.put(row, column, 1.0)
                one = self.ground.program.add_rows(0.0)
                self.ground.program.put(one, column, 1.0)
                self.ground.put_starts(one, mine[self.ground.priority[mine] == p], r, -1.0)
            for measure in MEASURES:
                for above in self.ground.claims.across.get((q, measure), ()):
                    types = self.ground.parts.starts.type[mine]
                    distinct, which = np.unique(types, return_inverse=True)
                    could = [self.ground.reach.could(t, measure, above) for t in distinct.tolist()]
                    some = mine[np.array(could, dtype=np.bool_)[which]]
                    if not len(some):
                        continue
                    total = float(self.ground.held_by_all[:, r].sum())
                    (column,) = self.ground.program.add_columns(total)
                    cross[q, measure, above, r] = int(column)
                    self.ground.program.put(row, column, 1.0)
                    if len(some) < len(mine):
                        one = self.ground.program.add_rows(0.0)
                        self.ground.program.put(one, column, 1.0)
                        self.ground.put_starts(one, some, r, -1.0)
        return own, cross

    # Who gives

    def _givers(self, r: int, own: Mapping[QueueName, Mapping[int, int]]) -> dict[Spot, list[int]]:
        """Add columns: what goes from each leaf to other branches; tell that it is freed once."""
        given: dict[Spot, list[int]] = {}
        of_leaf: dict[QueueName, list[int]] = defaultdict(list)
        for q, kinds in list(self.ground.kinds_of.items()):
            every: list[tuple[Spot, int]] = []
            for spot in spots_of(self.ground.parts.scene, self.ground.claims, q):
                (column,) = self.ground.program.add_columns(self.ground.held_by(kinds, r))
                every.append((spot, int(column)))
            for spot, column in every:
                given.setdefault(spot, []).append(column)
                if spot not in self.ground.claims.grown:
                    always = [n for n in kinds if spot in self.ground.kinds[n].beyond]
                    self._freed(r, [column], always)
                else:
                    some = [n for n in kinds if spot in self.ground.kinds[n].could]
                    self._freed(r, [column], some)
            of_leaf[q] = [c for _, c in every]
            some = [n for n in kinds if self.ground.kinds[n].could]
            self._freed(r, of_leaf[q], some)
            mine = own.get(q, {})
            for p in mine:
                lower = [n for n in kinds if self.ground.kinds[n].priority < p]
                self._freed(r, [c for x, c in mine.items() if x <= p], lower)
            self._freed(r, [*mine.values(), *of_leaf[q]], kinds)
        for spot, columns in given.items():
            if spot in self.ground.claims.grown:
                self._growth.tell(r, spot, columns)
        return given

    def _freed(self, r: int, columns: list[int], kinds: list[int]) -> None:
        """What is taken is at most what these kinds free."""
        if columns:
            row = self.ground.program.add_rows(0.0)
            self.ground.program.put(row, columns, 1.0)
            self.ground.program.put(
                row, self.ground.parts.evicted[kinds], -self.ground.held[kinds, r]
            )

    def _pool(self, r: int, cross: Cross, given: Mapping[Spot, list[int]]) -> None:
        """What is taken from other branches is given by them."""
        tree = self.ground.parts.scene.tree
        for above in dict.fromkeys(a for _, _, a, _ in cross):
            for m in MEASURES:
                takers = {q: c for (q, x, a, _), c in cross.items() if (x, a) == (m, above)}
                if not takers:
                    continue
                branches = tree.children[above]
                every = [c for b in branches for c in given.get((b, m), ())]
                row = self.ground.program.add_rows(0.0)
                self.ground.program.put(row, list(takers.values()), 1.0)
                self.ground.program.put(row, every, -1.0)
                for b in branches:
                    mine = [c for q, c in takers.items() if b in tree.path(q)]
                    if mine:
                        row = self.ground.program.add_rows(0.0)
                        self.ground.program.put(row, mine, 1.0)
                        others = [c for x in branches if x != b for c in given.get((x, m), ())]
                        self.ground.program.put(row, others, -1.0)
