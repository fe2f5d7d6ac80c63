"""Reach: whether a model of the whole cluster can be built and solved in the time that is left.

Telling the rules to the solver takes time by the number of cells (a kind of pods on a kind of
nodes). Where that alone would use up most of the budget, nothing would be left for the search.
"""

import numpy as np

from ..policies.evictable import evictable_flags
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .search import Clock

S_PER_CELL = 45e-6
"""Seconds that a cell takes until it is in the solver, measured on a core of 2024."""
CELLS_OF_A_VICTIM = 6
"""What a pod that may be evicted takes (its rights, its gang, its price), in cells."""
SHARE = 0.6
"""Part of the time left that building may take."""


def is_within_reach(scene: Scene, clock: Clock) -> bool:
    """Say whether building the model leaves time to search it."""
    left = clock.left()
    if left is None:
        left = scene.config.budget_ms / 1000.0
    return cells_of(scene) * S_PER_CELL <= SHARE * left


def cells_of(scene: Scene) -> int:
    """Return about how many cells the model of the whole cluster has."""
    could_run = standing_of(scene).could_run
    seekers = [m for m in scene.roster.waiting if could_run[m.key]]
    kinds = {
        (id(p.spec), m.group.queue, m.group.priority, m.group.may_preempt)
        for m in seekers
        for p in m.pending
    }
    if not kinds:
        return 0
    on = scene.columns.node[evictable_flags(scene) & scene.columns.holding].tolist()
    alone = set(on)
    hunted = scene.config.evictions != "none" and any(m.group.may_preempt for m in seekers)
    open_ = np.array([i not in alone for i in range(len(scene.nodes))], dtype=np.bool_)
    # Sums of huge amounts are no machine integers: then rows are objects, which numpy cannot sort.
    alike = len(set(map(tuple, scene.room_later[open_].tolist())))
    cells = len(kinds) * (len(alone) + alike)
    return cells + CELLS_OF_A_VICTIM * len(on) if hunted else cells
