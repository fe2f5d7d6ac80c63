"""What evictions cost: those for the work of earlier tiers no more than they may."""

from collections.abc import Mapping

import numpy as np

from ...models import QueueName
from ...models.queue import ROOT
from ...policies.eviction_cost import victim_weights
from ...policies.standing import MEASURES
from ...policies.tree import Tree
from .ground import Ground
from .program import Program
from .victims import Kind


def tell_costs(ground: Ground, program: Program, tier: int, most: int) -> None:
    """Bound what is evicted for the tiers before; what later work may claim costs them nothing."""
    later = claimable(ground, tier)
    mine = [n for n, claimed in enumerate(later) if not claimed]
    if not mine:
        return
    of_queue: dict[QueueName, list[tuple[int, int]]] = {}
    for (priority, queue), weight in victim_weights(ground.parts.scene).items():
        of_queue.setdefault(queue, []).append((priority, weight))
    kinds = [ground.kinds[n] for n in mine]
    # A kind knows the least priority of what it stands for.
    pods = [float(min(w for p, w in of_queue[k.queue] if p >= k.priority)) for k in kinds]
    # A power of two, so that dividing by it rounds nothing.
    unit = 2.0 ** np.floor(np.log2(max(1.0, *pods)))
    row = program.add_rows(most / unit)
    program.put(row, ground.parts.evicted[mine], np.array(pods) / unit)


def claimable(ground: Ground, tier: int) -> list[bool]:
    """Say of each kind whether work of this tier or a later one could have a right to it."""
    own: dict[QueueName, int] = {}
    across: set[tuple[QueueName, QueueName]] = set()
    for n in np.flatnonzero(ground.able).tolist():
        number = int(ground.parts.starts.type[n])
        t = ground.parts.starts.types[number]
        if t.last_tier < tier:
            continue
        g = t.sample.group
        own[g.queue] = max(own.get(g.queue, g.priority), g.priority)
        for measure in MEASURES:
            for above in ground.claims.across.get((g.queue, measure), ()):
                path = (*ground.parts.scene.tree.path(g.queue), ROOT)
                branch = path[path.index(above) - 1]
                if (branch, above) not in across and ground.reach.could(number, measure, above):
                    across.add((branch, above))
    return [_claimed(ground.parts.scene.tree, k, own, across) for k in ground.kinds]


def _claimed(
    tree: Tree, k: Kind, own: Mapping[QueueName, int], across: set[tuple[QueueName, QueueName]]
) -> bool:
    path = (*tree.path(k.queue), ROOT)
    return (k.queue in own and own[k.queue] > k.priority) or any(
        above in path and branch not in path for branch, above in across
    )
