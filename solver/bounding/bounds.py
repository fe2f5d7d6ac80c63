"""Bounds of the tiers of work: from one program, a tier after the other."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from ...policies.levels import TIERS, Levels, Tier
from ...policies.scene import Scene
from .branching import Branching
from .costs import tell_costs
from .model import model_of
from .program import Real

LIMIT_S = 0.5
"""Processor time for all tiers together, unless another is said."""


@dataclass(frozen=True)
class Reached:
    """What the plan at hand reaches: its work by tier, and what it evicts in all."""

    work: Mapping[Tier, int]
    victims: int
    """Evicted pods by priority, as the goal counts them."""


def work_bounds(
    scene: Scene,
    levels: Levels,
    reached: Reached,
    wanting: Mapping[Tier, bool],
    limit_s: float = LIMIT_S,
) -> Iterator[tuple[Tier, int]]:
    """Yield for each wanting tier what no plan surpasses that is as good in the tiers before.

    That is one that reaches as much work there, and evicts for it no more pods, counted by
    priority, than the plan at hand does in all. ``limit_s`` is for all tiers together, the first
    solve of each left out; there is no limit where answers are deterministic.
    """
    if scene.ledger.dtype is object or not any(wanting.values()):
        return
    until = inf if scene.config.deterministic else time.process_time() + limit_s
    ground = model_of(scene, levels)
    parts = ground.parts
    program = parts.program
    goals: dict[Tier, Real] = {}
    for tier in TIERS:
        columns, worth = parts.starts.goal[tier]
        goals[tier] = np.zeros(program.columns)
        np.add.at(goals[tier], columns, worth)
    for n, tier in enumerate(TIERS):
        goal = goals[tier]
        if wanting.get(tier):
            whole = program.copy()
            if any(reached.work.get(t) for t in TIERS[:n]):
                tell_costs(ground, whole, n, reached.victims)
            found = Branching(whole, goal, np.unique(parts.starts.column))
            yield tier, int(np.floor(found.run(float(reached.work[tier]), until)))
        some = np.flatnonzero(goal)
        if len(some) and reached.work.get(tier):
            row = program.add_rows(-float(reached.work[tier]))
            program.put(row, some, -goal[some])
