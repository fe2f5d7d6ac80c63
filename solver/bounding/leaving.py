"""What leaves, pod by pod: columns that the merged victims rest on, and that have a price."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ...models import Pod
from ...policies.budgets import covering_of
from ...policies.cost import age_s, losses_of, spare_members
from ...policies.eviction_cost import weight_of
from ...policies.ledger import Matrix
from .ground import Ground
from .obstacles import obstacles_of
from .program import Program, Real
from .victims import Kind, Taken

COSTS = ("victims", "gangs broken", "lost work", "age of victims")
"""The costs that are sums over what leaves, by the names of their goals."""
Prices = tuple[int, ...]
"""What one unit of a column costs, by each of them."""


class Leaving:
    """Adds a column for each pod, or group that goes as one; but what goes with a cleared node
    goes by the column of what is put there, and what of it might go besides is one column by kind.
    """

    def __init__(self, ground: Ground, program: Program) -> None:
        self._ground, self._program = ground, program
        self._scene = ground.parts.scene
        self._first = program.columns
        self._upper: list[float] = []
        self._prices: dict[int, list[int]] = {}
        """By column."""
        self._left: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        """By shape and class, how many of it leave with one unit of a column."""
        self._of_kind: dict[Kind, dict[int, int]] = defaultdict(dict)
        self._of_all: dict[tuple[object, ...], dict[int, int]] = defaultdict(dict)
        self._under: dict[int, dict[int, int]] = defaultdict(dict)
        self._besides: dict[tuple[object, ...], tuple[int, Prices]] = {}
        """By queue, priority and shape: number and least price of what goes with cleared nodes."""
        self._other: dict[tuple[object, ...], int] = {}
        """The columns of what goes besides."""
        self._rows: list[tuple[float, list[tuple[int, float]]]] = []
        self._column_of: list[int] = []
        """Of each pod, in the order of the victims."""
        self._shape_of: list[int] = []
        self._with_node: list[tuple[object, ...] | None] = []
        """What a pod is that goes with its node; None: it has a column."""
        self._obstacles = obstacles_of(ground)
        for t in ground.parts.victims.taken:
            self._group(t)
        self._go_besides()
        program.add_columns(self._upper)

    def tell(self) -> dict[str, Real]:
        """Tell how they are part of the merged victims; return what they cost, by column."""
        for most, terms in self._rows:
            self._row(most, terms)
        evicted = dict(zip(self._ground.kinds, self._ground.parts.evicted.tolist(), strict=True))
        together: dict[tuple[object, ...], list[tuple[int, float]]] = defaultdict(list)
        for kind, column in evicted.items():
            together[_whole(kind)].append((column, 1.0))
            self._row(0.0, [(column, 1.0), *_less(self._of_kind[kind])])
        for key, columns in together.items():
            self._row(0.0, [*columns, *_less(self._of_all[key])])
        if any(getattr(rule, "name", "") == "budget" for rule in self._scene.rules):
            for b, of in self._under.items():
                most = max(0, self._scene.snapshot.budgets[b].allowed)
                self._row(float(most), [(c, float(n)) for c, n in of.items()])
        self._places()
        out = {name: np.zeros(self._program.columns) for name in COSTS}
        for column, prices in self._prices.items():
            for name, price in zip(COSTS, prices, strict=True):
                out[name][column] = price
        return out

    def column_of(self, pod: int) -> int:
        """Return the column by which a pod leaves, by its number among the victims' pods."""
        return self._column_of[pod]

    def besides_of(self, pod: int) -> int:
        """Return the column by which it may leave as well; −1: none."""
        key = self._with_node[pod]
        return -1 if key is None else self._other[key]

    def row_of(self, pod: int) -> Matrix:
        """Return what the pod holds."""
        return self._ground.parts.victims.rows[self._shape_of[pod]]

    # Columns

    def _group(self, t: Taken) -> None:
        m, able = t.of.members, t.of.able
        whole = len(able) == len(m.running)
        spare = min(spare_members(m), len(able))
        gang = int(m.breaks)
        if len(able) == 1 and self._goes_with_node(t, gang if whole else 0):
            return
        if (whole and not spare) or len(able) == 1:
            self._column(t, range(len(able)), gang if whole else 0)
            return
        singles = [self._column(t, [n], 0) for n in range(len(able))]
        if not whole:
            self._rows.append((float(spare), [(c, 1.0) for c in singles]))
            return
        # So many single pods, or all of them: then the whole column is 1.
        all_ = self._new((0, gang, 0, 0))
        more = -float(len(able) - spare)
        self._rows.append((float(spare), [*((c, 1.0) for c in singles), (all_, more)]))
        self._rows += [(0.0, [(all_, 1.0), (c, -1.0)]) for c in singles]

    def _goes_with_node(self, t: Taken, gang: int) -> bool:
        """Let the only pod of a group go with its node, if that is cleared."""
        place = int(self._obstacles.place[len(self._column_of)])
        column = self._obstacles.cleared.get(place)
        if column is None:
            return False
        self._column_of.append(column)
        prices = self._prices_of(t, t.of.able, gang)
        before = self._prices.setdefault(column, [0] * len(COSTS))
        self._prices[column] = [a + b for a, b in zip(before, prices, strict=True)]
        key = self._add(t, 0, column)
        self._with_node.append(key)
        n, least = self._besides.get(key, (0, prices))
        self._besides[key] = (n + 1, tuple(map(min, least, prices)))
        return True

    def _go_besides(self) -> None:
        """Let what goes with cleared nodes also go without, for the least price of its kind."""
        for key, (n, prices) in self._besides.items():
            column = self._new(prices, float(n))
            self._other[key] = column
            self._of_all[key][column] = 1
            for kind, of in self._of_kind.items():
                if _whole(kind) == key:
                    of[column] = 1

    def _column(self, t: Taken, which: Sequence[int], gangs: int) -> int:
        pods = [t.of.able[n] for n in which]
        column = self._new(self._prices_of(t, pods, gangs))
        for n in which:
            self._column_of.append(column)
            self._with_node.append(None)
            self._add(t, n, column)
        return column

    def _prices_of(self, t: Taken, pods: Sequence[Pod], gangs: int) -> Prices:
        return (
            weight_of(self._scene, t.of.members) * len(pods), gangs,
            sum(losses_of(self._scene, pods)),
            sum(age_s(self._scene, p) for p in pods),
        )  # fmt: skip

    def _add(self, t: Taken, n: int, column: int) -> tuple[object, ...]:
        """Count a pod for its place, kinds and budgets."""
        m, shape = t.of.members, t.shapes[n]
        self._shape_of.append(shape)
        place = int(self._obstacles.place[len(self._column_of) - 1])
        if place >= 0:
            _count(self._left[shape, place], column)
        key = (m.group.queue, t.of.priority, shape)
        _count(self._of_all[key], column)
        for kind in t.kinds[shape]:
            _count(self._of_kind[kind], column)
        for b in covering_of(self._scene).of(t.of.able[n]):
            _count(self._under[b], column)
        return key

    def _new(self, prices: Prices, upper: float = 1.0) -> int:
        column = self._first + len(self._upper)
        self._upper.append(upper)
        self._prices[column] = list(prices)
        return column

    # Rows

    def _row(self, most: float, terms: Sequence[tuple[int, float]]) -> None:
        columns, coefs = zip(*terms, strict=True)
        self._program.put(self._program.add_rows(most), columns, coefs)

    def _places(self) -> None:
        """What leaves a class are pods of it; and who is in the way has to leave."""
        put, program, of = self._ground.placing, self._program, self._obstacles
        for v, k, x in zip(put.victim.tolist(), put.at.tolist(), put.left.tolist(), strict=True):
            self._row(0.0, [(x, 1.0), *_less(self._left[v, k])])
        cleared = list(of.cleared.values())
        program.put(program.add_rows(np.ones(len(cleared))), cleared, 1.0)
        rows = program.add_rows(of.least)
        program.put(rows, of.placed, 1.0)
        program.put(rows, np.array(self._column_of, dtype=np.int64)[of.pod], of.least - of.top)


def _count(counts: dict[int, int], column: int) -> None:
    counts[column] = counts.get(column, 0) + 1


def _less(of: Mapping[int, int]) -> list[tuple[int, float]]:
    return [(c, -float(n)) for c, n in of.items()]


def _whole(kind: Kind) -> tuple[object, ...]:
    return (kind.queue, kind.priority, kind.shape)
