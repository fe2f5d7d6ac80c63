"""Bounds of what evictions cost: the least in plans that reach as much and cost no more before."""

import time
from collections.abc import Iterator, Mapping
from math import ceil, inf

import numpy as np

from ...policies.evictable import evictable_flags
from ...policies.levels import TIERS, Levels, Tier
from ...policies.scene import Scene
from .branching import NODES, Branching
from .leaving import Leaving
from .model import model_of
from .program import Program, Real
from .returning import Returning
from .solving import Solver

RETURNING = "returning victims"
FIRST_S, LIMIT_S = 0.6, 0.4
"""Processor time after which no other bound is begun, of returning victims and of the others; none
by the clock where answers are deterministic."""
MOST_CELLS = 5000
"""Of more kinds of pods times nodes with victims than these nothing is found out in time."""
FEW = 300
"""Of more columns than these none is branched on."""


def price_bounds(
    scene: Scene, levels: Levels, work: Mapping[Tier, int], costs: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield for each cost what it is at least in any plan that is as good in what comes before.

    That is a plan that reaches as much of each tier of work and whose earlier costs are no higher;
    ``work`` and ``costs`` say what the plan at hand reaches.
    """
    if scene.ledger.dtype is object or _cells(scene, levels) > MOST_CELLS:
        return
    ground = model_of(scene, levels, apart=True)
    program = ground.parts.program
    for tier in TIERS:
        if work[tier]:
            _reach(program, *ground.parts.starts.goal[tier], work[tier])
    leaving = Leaving(ground, program)
    prices = leaving.tell()
    totals = _totals(program, prices)
    solver = Solver(program, np.zeros(program.columns))
    integers = np.flatnonzero(np.any(list(prices.values()), axis=0))
    nodes = NODES if program.columns <= FEW else 0
    if costs[RETURNING]:
        returning = Returning(ground, leaving, program, solver, _until(scene, FIRST_S))
        yield RETURNING, returning.least()
        returning.tell(costs[RETURNING])
        solver = Solver(program, np.zeros(program.columns))
    until = _until(scene, LIMIT_S)
    upper = program.upper.copy()
    for name, (column, unit) in totals.items():
        if costs[name] and time.process_time() < until:
            goal = np.zeros(program.columns)
            goal[: len(prices[name])] = -prices[name]
            tree = Branching(program, goal, integers, solver)
            yield name, max(0, ceil(-tree.run(-float(costs[name]), until, nodes, upper)))
        upper = upper.copy()
        upper[column] = costs[name] / unit


def _until(scene: Scene, limit_s: float) -> float:
    return inf if scene.config.deterministic else time.process_time() + limit_s


def _cells(scene: Scene, levels: Levels) -> int:
    able = {*levels.minimum, *levels.elastic}
    specs = {id(p.spec) for m in scene.roster.values() if m.key in able for p in m.pending}
    return len(specs) * len(np.unique(scene.columns.node[evictable_flags(scene)]))


def _totals(program: Program, prices: Mapping[str, Real]) -> dict[str, tuple[int, float]]:
    """Add a column for each cost that is no less than what it adds up to, and its unit.

    Units are powers of two, so that nothing is rounded.
    """
    out: dict[str, tuple[int, float]] = {}
    for name, price in prices.items():
        some = np.flatnonzero(price)
        if len(some):
            unit = float(2.0 ** np.floor(np.log2(price[some].max())))
            (column,) = program.add_columns(price[some].sum() / unit * (1 + 1e-9))
            row = program.add_rows(0.0)
            program.put(row, some, price[some] / unit)
            program.put(row, column, -1.0)
            out[name] = int(column), unit
    return out


def _reach(
    program: Program,
    columns: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    worth: Real,
    least: int,
) -> None:
    """Let as much start as the plan at hand does."""
    unit = float(2.0 ** np.floor(np.log2(np.abs(worth).max(initial=1.0))))
    row = program.add_rows(-least / unit)
    program.put(row, columns, -worth / unit)
