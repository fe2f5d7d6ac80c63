"""Growth: what starts in a branch may make more of its running work be beyond a measure."""

from collections.abc import Iterable, Sequence

import numpy as np

from ...models import GroupKey
from .beyond import Beyond, Spot
from .claims import ANY
from .ground import Ground
from .program import Index, Real


class Growth:
    """Tells what goes from branches at most, with what starts there."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._able: dict[Spot, tuple[Index, Real, Index]] = {}

    def tell(self, r: int, spot: Spot, columns: list[int]) -> None:
        """What goes from a branch is beyond in any case, or what starts there has made it so."""
        program, of = self.ground.program, self.ground.beyond.get(spot)
        always = self.ground.always[spot]
        row = program.add_rows(0.0)
        program.put(row, columns, 1.0)
        program.put(row, self.ground.parts.evicted[always], -self.ground.held[always, r])
        if of is None:
            return
        able, rows, before = self._growing(spot, of)
        amounts = rows[:, r] / self.ground.parts.unit[r]
        if not amounts.any() or not len(before):
            return
        for c, gaps in of.gaps.items():
            more = program.add_columns(amounts.sum())
            program.put(row, more, -1.0)
            for free, slope in _lines(gaps[able], amounts, self.ground.parts.unit[c]):
                line = program.add_rows(free)
                program.put(line, more, 1.0)
                self.ground.put_starts(line, before, c, -slope)

    def _growing(self, spot: Spot, of: Beyond) -> tuple[Index, Real, Index]:
        """Return which items could become beyond, what may go with each, and what starts before."""
        if spot not in self._able:
            grown = self.ground.grown.get(spot, ())
            able = [n for n, (group, _) in enumerate(of.items) if group in grown]
            rows = np.array([self._amount(*of.items[n]) for n in able])
            self._able[spot] = (
                np.array(able, dtype=np.int64),
                rows.reshape(-1, len(self.ground.parts.unit)),
                self._before(spot, [of.items[n][0] for n in able]),
            )
        return self._able[spot]

    def _amount(self, group: GroupKey, minimum: bool) -> Real:
        """Return what may go with an item: all of the group with its minimum, else any one pod."""
        if group not in self.ground.parts.lost:
            return np.zeros(len(self.ground.parts.unit))
        whole, single = self.ground.parts.lost[group]
        return whole if minimum else single

    def _before(self, spot: Spot, groups: Sequence[GroupKey]) -> Index:
        """Return what starts that could come before some item of these groups."""
        tree, roster = self.ground.parts.scene.tree, self.ground.parts.scene.roster
        mine = [
            n for q, some in self.ground.starts_of.items() if spot[0] in tree.path(q) for n in some
        ]
        out = np.array(sorted(mine), dtype=np.int64)
        if self.ground.claims.grown.get(spot) == ANY or not len(out):
            return out
        least = min((roster[g].group.priority for g in groups), default=ANY)
        return out[np.array([p > least for p in self.ground.priority[out]], dtype=np.bool_)]


def _lines(gaps: Index, amounts: Real, unit: float) -> "Iterable[tuple[float, float]]":
    """Yield lines above the amounts whose gap is filled by what starts: at 0, and its slope.

    An item is beyond where more than its gap starts before it.
    """
    order = np.argsort(gaps, kind="stable")
    order = order[(gaps[order] < np.iinfo(np.int64).max) & (amounts[order] > 0)]
    if not len(order):
        yield 0.0, 0.0
        return
    needed = (gaps[order] + 1) / unit
    sums = np.cumsum(amounts[order])
    size = float(amounts.max())
    for free in dict.fromkeys(
        (0.0, *(float(sums[sums <= k * size].max(initial=0)) for k in (2, 8)))
    ):
        rest = sums > free
        slope = float(((sums[rest] - free) / needed[rest]).max(initial=0.0))
        yield free * (1 + 1e-12), slope * (1 + 1e-9)
