"""What a node's room is where shares of devices are charged by memory, and which nodes share.

A share of so many MiB is charged as its part of the smallest device in the cluster, so that no
queue gets more than it may; on nodes with larger devices more of them fit than their charges say.
There the room is widened to what could be charged at most, and the rule of devices is exact.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..models import Snapshot

if TYPE_CHECKING:
    from .ledger import Ledger, Matrix
    from .scene import Scene


def leeway(snapshot: Snapshot, ledger: "Ledger") -> "Matrix":
    """Return what is added to the allocatable amounts, one row a node."""
    out: Matrix = np.zeros((len(snapshot.nodes), len(ledger.resources)), dtype=ledger.dtype)
    least: dict[str, int] = {}
    asked = _by_memory(snapshot)
    for n in snapshot.nodes if asked else ():
        for d in n.devices:
            if d.memory_mib:
                least[n.device_resource] = min(
                    d.memory_mib, least.get(n.device_resource, d.memory_mib)
                )
    for i, n in enumerate(snapshot.nodes if least else ()):
        column = ledger.column.get(n.device_resource)
        if column is not None and n.device_resource in asked:
            out[i][column] = sum(
                -(-1000 * d.memory_mib // least[n.device_resource]) - 1000
                for d in n.devices
                if d.memory_mib
            )
    return out


def _by_memory(snapshot: Snapshot) -> set[str]:
    """Return the resources of which shares are asked for by memory."""
    shares = {id(p.spec): p.spec.share for p in snapshot.pods}.values()
    return {s.resource for s in shares if s is not None and s.memory_mib > 0}


def sharing_nodes(scene: "Scene") -> set[int]:
    """Return the nodes where a share stands or could come: none is like another there."""
    waiting = {p.spec: p for p in scene.snapshot.pods if p.spec.share is not None and not p.holds}
    out = {i for p, i in (*scene.holders, *scene.reserved) if p.spec.share is not None}
    for p in waiting.values():
        out |= {int(i) for i in np.flatnonzero(scene.mask(p))}
    return out | promising_nodes(scene)


def promising_nodes(scene: "Scene") -> set[int]:
    """Return the nodes where more whole devices can be charged than are there and healthy."""
    column = scene.ledger.column
    return {
        i
        for i, n in enumerate(scene.nodes)
        if n.devices
        and n.device_resource in column
        and scene.offered[i][column[n.device_resource]] > 1000 * sum(d.healthy for d in n.devices)
    }
