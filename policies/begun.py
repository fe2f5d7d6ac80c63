"""Who has begun a device in parts whose counters are overdrawn.

A further part of a device that is begun draws no counters (KEP-5075 and KEP-4815 together). Where
more is drawn than there is, such a device cannot be begun anew: that others can have a part of it
then rests on those who have one. Everywhere else, whoever leaves only makes room.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ..models import Node, Pod
from .evictable import evictable
from .scene import Scene


def with_begun_kept(scene: Scene) -> Scene | None:
    """Return the scene in which nobody evicts those who have begun; None where there are none."""
    begun = frozenset(_overdrawn(scene)) if scene.asks("claims") else frozenset[str]()
    claims = {c.key: c.devices for c in scene.snapshot.claims if c.allocated}

    def stays(p: Pod) -> bool:
        if not begun or not (p.claimed or p.spec.claims) or not evictable(scene, p):
            return False
        named = (d for c in p.spec.claims for d in claims.get(c.claim, ()))
        return not begun.isdisjoint((*p.claimed, *named))

    kept = {p.key for p, _ in scene.holders if stays(p)}
    if not kept:
        return None
    pods = tuple(replace(p, preemptable=False) if p.key in kept else p for p in scene.snapshot.pods)
    return Scene(replace(scene.snapshot, pods=pods), scene.config, scene.rules)


def _overdrawn(scene: Scene) -> Iterator[str]:
    """Yield the devices in parts of which somebody has one, and whose counters are overdrawn."""
    nodes = [n for n in scene.nodes if any(d.multiple and d.counters for d in n.pool_devices)]
    if not nodes:
        return
    busy = {d for p, _ in scene.holders for d in p.claimed}
    busy.update(d for c in scene.snapshot.claims if c.allocated for d in c.devices)
    for node in nodes:
        short = _short(node, busy)
        for d in node.pool_devices:
            if d.multiple and d.id in busy and not short.isdisjoint(d.counters):
                yield d.id


def _short(node: Node, busy: Iterable[str]) -> set[str]:
    """Return the counters of the node of which more is drawn than there is."""
    drawn: Counter[str] = Counter()
    for d in node.pool_devices:
        if d.taken or d.id in busy:
            drawn.update(d.counters)
    return {c for c, n in drawn.items() if n > node.counters.get(c, 0)}
