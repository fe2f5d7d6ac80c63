"""Obstacles: how many pods of a shape a node takes while one of its pods stays there.

Where a node takes one pod of one shape, and only once all that may leave has left, it is cleared or
it is not: what stands there goes with that pod, and needs no columns of its own.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ground import Ground
from .program import Index, Real

MOST_ROWS = 40_000
"""More obstacles than these are not told."""


@dataclass(frozen=True)
class Obstacles:
    """Of single nodes: who is in the way of what, and which nodes are cleared as a whole."""

    place: Index
    """The class of each pod that may leave, in the order of the victims; −1: none."""
    pod: Index
    placed: Index
    """The column of what is put there, in whose way the pod is."""
    least: Real
    """How many of it the node takes with the pod."""
    top: Real
    """How many without."""
    cleared: "dict[int, int]"
    """By class the column of what is put there."""


def obstacles_of(ground: Ground) -> Obstacles:
    """Compare every pod that may leave with what could be put on its node."""
    parts, put, classes = ground.parts, ground.placing, ground.parts.classes
    taken = parts.victims.taken
    shape = np.array([s for t in taken for s in t.shapes], dtype=np.int64)
    node = np.array([i for t in taken for i in t.nodes], dtype=np.int64)
    place = np.where(node >= 0, classes.of_node[node], -1)
    there = np.flatnonzero(place >= 0)
    sizes = np.bincount(classes.of_node[classes.of_node >= 0], minlength=classes.size)
    wide = classes.room / parts.unit
    np.add.at(wide, place[there], parts.held[shape[there]])
    gained = np.array(parts.victims.idles, dtype=np.float64)
    idle = classes.whole.copy()
    np.add.at(idle, place[there], gained[shape[there]])
    on: dict[int, list[int]] = defaultdict(list)
    for n in there[sizes[place[there]] == 1].tolist():
        on[int(place[n])].append(n)
    shapes_on = np.bincount(put.place, minlength=classes.size)
    found: list[tuple[NDArray[np.int64], int, Real, float]] = []
    cleared: dict[int, int] = {}
    rows = 0
    for s, c, x in zip(put.shape.tolist(), put.place.tolist(), put.placed.tolist(), strict=True):
        mine = np.array(on.get(c, ()), dtype=np.int64)
        if not len(mine):
            continue
        asked = parts.rows[s] > 0
        row, held = parts.rows[s, asked], parts.held[shape[mine]][:, asked]
        top = float(np.floor((wide[c, asked] / row).min()))
        least = np.floor(((wide[c, asked] - held) / row).min(axis=1))
        whole = parts.starts.shapes[s].whole
        if whole:
            top = min(top, float(np.floor(idle[c] / whole)))
            least = np.minimum(least, np.floor((idle[c] - gained[shape[mine]]) / whole))
        least = np.maximum(least, 0.0)
        if top == 1.0 and shapes_on[c] == 1 and not least.any():
            cleared[c] = x
            continue
        some = least < top
        rows += int(some.sum())
        if rows <= MOST_ROWS:
            found.append((mine[some], x, least[some], top))
    pods = [n for of, _, _, _ in found for n in of.tolist()]
    placed = [x for of, x, _, _ in found for _ in of]
    tops = [top for of, _, _, top in found for _ in of]
    fewest = [float(v) for _, _, least, _ in found for v in least]
    return Obstacles(
        place, np.array(pods, dtype=np.int64), np.array(placed, dtype=np.int64),
        np.array(fewest, dtype=np.float64), np.array(tops, dtype=np.float64), cleared,
    )  # fmt: skip
