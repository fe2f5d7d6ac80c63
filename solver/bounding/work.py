"""Work that could start, merged: shapes of pods, types of groups, and a column for what starts.

Groups of equal queue, priority, worth and pods are one type, and a part of a group may start. What
could not run on the emptied cluster is left out, as no plan starts it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...models import Pod
from ...models.devices import GPU
from ...policies.fairness import missing_of, weights_of
from ...policies.ledger import Matrix
from ...policies.levels import TIERS, Levels, Tier, Worth
from ...policies.members import Members, Standing
from ...policies.scene import Mask, Scene
from .program import Index, Program, Real


@dataclass(frozen=True)
class Shape:
    """Pods that ask for the same and are let onto the same nodes."""

    row: Matrix
    mask: Mask
    whole: int
    """How many whole devices it asks for."""
    lead: int
    """The column by which it is told whose room it takes."""
    is_rightless: bool = False
    """Whether no room of victims is ever theirs: they stand in what is free."""


@dataclass(frozen=True)
class Type:
    """Equal groups."""

    sample: Members
    count: int
    pods: tuple[tuple[int, int], ...]
    """Shape and number of each group's pods that some node would take."""
    last_tier: int
    """The last tier in which something of it counts."""


@dataclass(frozen=True)
class Starts:
    """The columns of what starts; three arrays say how many pods of which shape one unit is."""

    shapes: Sequence[Shape]
    types: Sequence[Type]
    column: Index
    shape: Index
    pods: Real
    type: Index
    """Of which type the column is."""
    goal: Mapping[Tier, tuple[Index, Real]]
    """By tier the columns that it counts, and what a unit is worth there."""


_Key = tuple[object, ...]


def types_of(scene: Scene, levels: Levels) -> tuple[list[Shape], list[Type]]:
    """Merge what could start."""
    shapes: list[Shape] = []
    known: dict[object, int] = {}
    of_spec: dict[int, int] = {}

    def shape_of(pod: Pod) -> int:
        spec = id(pod.spec)
        if spec not in of_spec:
            mask, row = scene.mask(pod), scene.row(pod)
            whole = whole_devices(pod)
            key = (tuple(row.tolist()), mask.tobytes(), whole)
            if not mask.any():
                of_spec[spec] = -1
            else:
                if key not in known:
                    known[key] = len(shapes)
                    shapes.append(Shape(row, mask, whole, _lead(scene, row)))
                of_spec[spec] = known[key]
        return of_spec[spec]

    count: Counter[_Key] = Counter()
    samples: dict[_Key, tuple[Members, tuple[tuple[int, int], ...]]] = {}
    for m in scene.roster.waiting:
        minimum, elastic = levels.minimum.get(m.key), levels.elastic.get(m.key)
        if minimum is None and elastic is None:
            continue
        if len(m.pending) == 1:
            shape = shape_of(m.pending[0])
            pods: tuple[tuple[int, int], ...] = ((shape, 1),) if shape >= 0 else ()
        else:
            some = Counter(map(shape_of, m.pending))
            some.pop(-1, None)
            pods = tuple(sorted(some.items()))
        g = m.group
        key = (
            g.queue, g.priority, g.may_preempt, g.preemptable, m.standing, missing_of(m),
            minimum, elastic, pods,
        )  # fmt: skip
        count[key] += 1
        samples.setdefault(key, (m, pods))
    types = [
        Type(samples[k][0], n, samples[k][1], _last_tier(levels, samples[k][0]))
        for k, n in count.items()
    ]
    return shapes, types


def _last_tier(levels: Levels, m: Members) -> int:
    worths = (levels.minimum.get(m.key), levels.elastic.get(m.key))
    return max(w.level.tier for w in worths if w is not None)


def whole_devices(pod: Pod) -> int:
    """Return how many whole devices of its node the pod takes, those of claims left out."""
    if pod.spec.share is not None or pod.spec.claims:
        return 0
    return pod.spec.requests[GPU] // 1000


def _lead(scene: Scene, row: Matrix) -> int:
    """Return the device that is asked for, else the cores, else what else there is."""
    names = scene.ledger.resources
    some = [r for r, v in enumerate(row) if v]
    plain = ("pods", "ephemeral-storage", "memory", "cpu")
    return max(some, key=lambda r: (plain.index(names[r]) if names[r] in plain else 9, -r))


def starts_of(scene: Scene, levels: Levels, program: Program) -> Starts:
    """Add the columns of what starts, and the rows of minima."""
    shapes, types = types_of(scene, levels)
    maker = _Columns(program)
    weights = {t: weights_of(scene, levels, t) for t in TIERS}

    def price(worth: Worth | None) -> tuple[Tier, float]:
        if worth is None:
            return TIERS[0], 0.0
        tier = TIERS[worth.level.tier]
        return tier, float(weights[tier][worth.level] * worth.value)

    for number, t in enumerate(types):
        m = t.sample
        minimum = price(levels.minimum.get(m.key))
        elastic = price(levels.elastic.get(m.key))
        if m.standing is Standing.WHOLE:
            for shape, n in t.pods:
                maker.column(number, t.count * n, {shape: 1}, elastic)
        else:
            maker.group(number, t, missing_of(m), minimum, elastic)
    return maker.starts(shapes, types)


class _Columns:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._upper: list[float] = []
        self._pods: list[tuple[int, int, float, int]] = []
        self._worth: dict[Tier, list[tuple[int, float]]] = {t: [] for t in TIERS}
        self._rows: list[list[tuple[int, float]]] = []

    def column(
        self, type_: int, upper: float, pods: Mapping[int, float], *prices: tuple[Tier, float]
    ) -> int:
        n = len(self._upper)
        self._upper.append(upper)
        self._pods += [(n, shape, k, type_) for shape, k in pods.items()]
        for tier, price in prices:
            self._worth[tier].append((n, price))
        return n

    def group(
        self, number: int, t: Type, need: int, minimum: tuple[Tier, float],
        elastic: tuple[Tier, float],
    ) -> None:  # fmt: skip
        """Minima are a part of so many groups; members beyond come only with them."""
        able = sum(n for _, n in t.pods)
        if able < need or not able:
            return
        if len(t.pods) == 1:
            ((shape, _),) = t.pods
            start = self.column(number, t.count, {shape: need}, minimum)
            if able > need:
                more = self.column(number, t.count * (able - need), {shape: 1}, elastic)
                self._rows.append([(more, 1.0), (start, float(need - able))])
            return
        # Which members form the minimum is open: all are counted, and the minimum taken off.
        less = (elastic[0], -elastic[1] * need)
        start = self.column(number, t.count, {}, minimum, less)
        parts = [(self.column(number, t.count * n, {s: 1}, elastic), n) for s, n in t.pods]
        self._rows += [[(part, 1.0), (start, -float(n))] for part, n in parts]
        self._rows.append([(start, float(need)), *((part, -1.0) for part, _ in parts)])

    def starts(self, shapes: Sequence[Shape], types: Sequence[Type]) -> Starts:
        program = self._program
        first = program.columns
        program.add_columns(self._upper)
        rows = program.add_rows(np.zeros(len(self._rows)))
        entries = [
            (int(row), first + c, v)
            for row, of in zip(rows, self._rows, strict=True)
            for c, v in of
        ]
        if entries:
            at, columns, values = zip(*entries, strict=True)
            program.put(at, columns, values)
        pods = np.array(self._pods, dtype=np.float64).reshape(-1, 4)
        goal = {}
        for tier, of in self._worth.items():
            worth = np.array(of, dtype=np.float64).reshape(-1, 2)
            goal[tier] = (worth[:, 0].astype(np.int64) + first, worth[:, 1])
        return Starts(
            shapes, types, pods[:, 0].astype(np.int64) + first, pods[:, 1].astype(np.int64),
            pods[:, 2], pods[:, 3].astype(np.int64), goal,
        )  # fmt: skip
