"""The aggregate: equal nodes as one, each with the sum of its room; an LP, and whole numbers of it.

Variables: x[class, kind], pods of a kind on nodes of a class, and y[class, level, pattern], devices
of a class with so many parts left that are cut by a pattern. Every packing gives a solution, so the
optimum of the LP bounds what any packing can reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..linear import Goal, Linear, goal_of
from ..process import SolverProcess
from .cutting import Pattern, patterns
from .yard import Ints, Yard

LP_S = 30.0
BAND = 6
NEAR = 1e-6
"""Columns whose reduced cost is no more than this are kept for whole numbers."""


@dataclass(frozen=True)
class Class:
    """Equal nodes."""

    nodes: tuple[int, ...]
    free: Ints
    levels: tuple[tuple[int, int], ...]
    """Parts left, and how many devices of one node have just these."""


def classes_of(yard: Yard) -> list[Class]:
    """Put together nodes that no kind tells apart."""
    found: dict[bytes, list[int]] = {}
    left = np.sort(yard.left, axis=1)
    for v in range(len(yard.free)):
        key = yard.free[v].tobytes() + left[v].tobytes() + yard.kinds.may[:, v].tobytes()
        found.setdefault(key, []).append(v)
    out = []
    for nodes in found.values():
        levels, counts = np.unique(left[nodes[0]][left[nodes[0]] > 0], return_counts=True)
        pairs = zip(levels.tolist(), counts.tolist(), strict=True)
        out.append(Class(tuple(nodes), yard.free[nodes[0]], tuple(pairs)))
    return out


@dataclass
class Aggregate:
    """The model, and what its variables stand for."""

    yard: Yard
    classes: list[Class]
    sizes: tuple[int, ...]
    x: list[tuple[int, int]] = field(default_factory=list)
    """(class, kind)."""
    y: list[tuple[int, int, Pattern]] = field(default_factory=list)
    """(class, level, pattern)."""
    model: Linear = field(default_factory=lambda: Linear([], []))
    goal: Goal = field(default_factory=lambda: goal_of(()))

    def var(self, upper: int) -> int:
        self.model.lower.append(0)
        self.model.upper.append(upper)
        return len(self.model.upper) - 1

    def row(self, terms: list[tuple[int, int]], bound: int) -> None:
        """Require Σ coefficient · variable ≤ bound; nothing where it could not be broken."""
        if sum(c * self.model.upper[v] for c, v in terms if c > 0) <= bound:
            return
        m = self.model
        m.vars.extend(v for _, v in terms)
        m.coefs.extend(c for c, _ in terms)
        m.starts.append(len(m.vars))
        m.bounds.append(bound)
        m.equal.append(False)


def aggregate_of(
    yard: Yard,
    percent: int = 100,
    columns: "list[tuple[int, int, Pattern]] | None" = None,
) -> Aggregate:
    """Write the model, with so many percent of the nodes' room, with these columns or all."""
    k = yard.kinds
    out = Aggregate(yard, classes_of(yard), tuple(yard.sizes))
    shared = yard.shared
    by_kind: list[list[int]] = [[] for _ in range(len(k))]
    by_class: list[list[tuple[int, int]]] = [[] for _ in out.classes]
    for j, c in enumerate(out.classes):
        levels = dict(c.levels)
        for kind in range(len(k)):
            most = _most(yard, c, levels, kind)
            if most:
                x = out.var(min(most * len(c.nodes), int(k.wanted[kind])))
                out.x.append((j, kind))
                by_kind[kind].append(x)
                by_class[j].append((x, kind))
    demand = {s: int(k.wanted[shared & (k.parts == s)].sum()) for s in out.sizes}
    if columns is None:
        columns = []
        for j, c in enumerate(out.classes):
            here = {int(k.parts[kind]) for _, kind in by_class[j] if shared[kind]}
            limits = tuple(demand[s] if s in here else 0 for s in out.sizes)
            for level, _ in c.levels:
                capped = tuple(min(n, level // s) for n, s in zip(limits, out.sizes, strict=True))
                columns += [(j, level, p) for p in patterns(level, out.sizes, capped)]
    cuts: dict[tuple[int, int], list[tuple[int, Pattern]]] = {}
    for j, level, p in columns:
        c = out.classes[j]
        y = out.var(dict(c.levels)[level] * len(c.nodes))
        out.y.append((j, level, p))
        cuts.setdefault((j, level), []).append((y, p))
    for kind, mine in enumerate(by_kind):
        out.row([(1, x) for x in mine], int(k.wanted[kind]))
        if k.least[kind]:
            m = out.model
            m.vars.extend(mine)
            m.coefs.extend(-1 for _ in mine)
            m.starts.append(len(m.vars))
            m.bounds.append(-int(k.least[kind]))
            m.equal.append(False)
    for j, c in enumerate(out.classes):
        _class_rows(out, j, c, by_class[j], cuts, percent)
    out.goal = goal_of((int(k.worth[kind]), x) for x, (_, kind) in enumerate(out.x))
    return out


def _most(yard: Yard, c: Class, levels: dict[int, int], kind: int) -> int:
    """Return how many pods of the kind one node of the class takes at most."""
    k = yard.kinds
    if not k.may[kind, c.nodes[0]] or not k.wanted[kind]:
        return 0
    row = k.rows[kind]
    asked = row > 0
    most = int((c.free[asked] // row[asked]).min()) if asked.any() else int(k.wanted[kind])
    n, parts = int(k.devices[kind]), int(k.parts[kind])
    if n == 1 and parts < yard.unit:
        most = min(most, sum(level // parts * m for level, m in levels.items()))
    elif n:
        most = min(most, levels.get(yard.unit, 0) // n)
    return max(0, most)


def _class_rows(
    out: Aggregate,
    j: int,
    c: Class,
    mine: list[tuple[int, int]],
    cuts: dict[tuple[int, int], list[tuple[int, Pattern]]],
    percent: int,
) -> None:
    k, shared, nodes = out.yard.kinds, out.yard.shared, len(c.nodes)
    for r in range(k.rows.shape[1]):
        terms = [(int(k.rows[kind, r]), x) for x, kind in mine if k.rows[kind, r]]
        out.row(terms, int(c.free[r]) * nodes * percent // 100)
    whole = [(int(k.devices[kind]), x) for x, kind in mine if k.devices[kind] and not shared[kind]]
    for level, count in c.levels:
        terms = [(1, y) for y, _ in cuts.get((j, level), [])]
        out.row(terms + (whole if level == out.yard.unit else []), count * nodes)
    for i, s in enumerate(out.sizes):
        users = [(1, x) for x, kind in mine if shared[kind] and k.parts[kind] == s]
        if users:
            cut = [(-p[i], y) for level, _ in c.levels for y, p in cuts.get((j, level), []) if p[i]]
            out.row(users + cut, 0)


@dataclass(frozen=True)
class Whole:
    """Whole numbers of pods and cuts for each class."""

    classes: list[Class]
    sizes: tuple[int, ...]
    pods: dict[tuple[int, int], int]
    cuts: dict[tuple[int, int, Pattern], int]


def bound_of(yard: Yard, process: SolverProcess) -> float | None:
    """Return what no packing can surpass."""
    model = aggregate_of(yard)
    found = process.relax(model.model, model.goal, LP_S)
    return None if found is None else found.value


def whole_numbers(
    yard: Yard,
    process: SolverProcess,
    percent: int,
    limit_s: float | None,
    parameters: Mapping[str, Any],
) -> Whole | None:
    """Solve the LP, keep the columns that it could use, and find whole numbers on these."""
    wide = aggregate_of(yard, percent)
    found = process.relax(wide.model, wide.goal, LP_S)
    if found is None:
        return None
    n = len(wide.x)
    kept = [col for i, col in enumerate(wide.y) if found.reduced[n + i] >= -NEAR]
    tight = aggregate_of(yard, percent, kept)
    relaxed = process.relax(tight.model, tight.goal, LP_S)
    if relaxed is None:
        return None
    hint = [int(v + 1e-7) for v in relaxed.values]
    # Whole numbers near the LP's: far from them there is little to find, and much to look through.
    tight.model.lower = [max(0, h - BAND) for h in hint]
    tight.model.upper = [
        min(most, h + 1 + BAND) for h, most in zip(hint, tight.model.upper, strict=True)
    ]
    reply = process.solve(tight.model, tight.goal, (), hint, parameters, limit_s)
    if reply.values is None:
        return None
    return Whole(
        tight.classes,
        tight.sizes,
        {at: v for at, v in zip(tight.x, reply.values, strict=False) if v},
        {at: v for at, v in zip(tight.y, reply.values[n:], strict=True) if v},
    )
