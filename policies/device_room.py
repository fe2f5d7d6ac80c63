"""What a node's room is where shares of devices are charged by memory, and which nodes share.

A share of so many MiB is charged as its part of the smallest device in the cluster, so that no
queue gets more than it may; on nodes with larger devices more of them fit than their charges say.
There the room is widened to what could be charged at most, and the rule of devices is exact.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..models import Snapshot
from ..models.devices import GPU

if TYPE_CHECKING:
    from .ledger import Ledger, Matrix
    from .scene import Scene


def leeway(snapshot: Snapshot, ledger: "Ledger") -> "Matrix":
    """Return what is added to the allocatable amounts, one row a node."""
    out: Matrix = np.zeros((len(snapshot.nodes), len(ledger.resources)), dtype=ledger.dtype)
    known = [d.memory_mib for n in snapshot.nodes for d in n.devices if d.memory_mib]
    column = ledger.column.get(GPU)
    if not known or column is None or not any(_by_memory(snapshot)):
        return out
    least = min(known)
    for i, n in enumerate(snapshot.nodes):
        out[i][column] = sum(
            -(-1000 * d.memory_mib // least) - 1000 for d in n.devices if d.memory_mib
        )
    return out


def _by_memory(snapshot: Snapshot) -> "list[bool]":
    specs = {id(p.spec): p.spec for p in snapshot.pods}.values()
    return [s.share is not None and s.share.memory_mib > 0 for s in specs]


def sharing_nodes(scene: "Scene") -> set[int]:
    """Return the nodes where a share stands or could come: none is like another there."""
    waiting = {p.spec: p for p in scene.snapshot.pods if p.spec.share is not None and not p.holds}
    out = {i for p, i in (*scene.holders, *scene.reserved) if p.spec.share is not None}
    for p in waiting.values():
        out |= {int(i) for i in np.flatnonzero(scene.mask(p))}
    return out | promising_nodes(scene)


def promising_nodes(scene: "Scene") -> set[int]:
    """Return the nodes where more whole devices can be charged than are there and healthy."""
    column = scene.ledger.column.get(GPU)
    if column is None:
        return set()
    return {
        i
        for i, n in enumerate(scene.nodes)
        if n.devices and scene.offered[i][column] > 1000 * sum(d.healthy for d in n.devices)
    }
