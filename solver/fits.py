"""Fits: how many pods of a shape a node takes, and what else merging asks of nodes and units."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..policies.board import NodeClass, Shape, Unit
from ..policies.ledger import Matrix, copies_by_room
from ..policies.scene import Scene
from ..policies.tracker import Tracker


def fits_of(scene: Scene, trackers: Sequence[Tracker], shape: Shape, room: Matrix) -> Matrix:
    """Return how many pods like the shape's, however many there are, fit on each node."""
    mask = scene.mask(shape.sample)
    for t in trackers:
        opens = t.opens(shape.sample)
        if opens is not None:
            mask = mask & opens
    return copies_by_room(room, np.array(shape.row, dtype=room.dtype), mask, len(scene.pods))


def on_known_nodes(units: Sequence[Unit], classes: Sequence[NodeClass]) -> tuple[Unit, ...]:
    """Let units on nodes of no class be as on unknown ones: they count for their queue alone."""
    known = {i for c in classes for i in c.nodes}
    return tuple(u if u.node in known else replace(u, node=-1) for u in units)


def domain_keys(shapes: Sequence[Shape]) -> tuple[str, ...]:
    """Return the topology keys that some shape's terms or constraints name."""
    keys: set[str] = set()
    for s in shapes:
        spec = s.sample.spec
        keys |= {t.topology_key for t in (*spec.affinity, *spec.anti_affinity)}
        keys |= {c.topology_key for c in spec.spread}
    return tuple(sorted(keys))
