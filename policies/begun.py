"""Who has begun a device in parts whose counters are overdrawn.

A further part of a device that is begun draws no counters (KEP-5075 and KEP-4815 together). Where
more is drawn than there is, such a device cannot be begun anew: that others can have a part of it
then rests on those who have one. Everywhere else, whoever leaves only makes room.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import combinations

from msgspec.structs import replace

from ..models import Node, Pod, PodKey
from .evictable import evictable
from .scene import Scene

SOME = 4
"""Of so many who have begun, any may be kept; of more, all of them or none."""


def with_begun_kept(scene: Scene) -> Iterator[Scene]:
    """Yield the scenes in which some of those who have begun are evicted for nobody."""
    kept = _beginners(scene)
    least = 1 if len(kept) <= SOME else len(kept)
    for n in range(least, len(kept) + 1):
        for some in combinations(kept, n):
            pods = tuple(
                replace(p, preemptable=False) if p.key in some else p for p in scene.snapshot.pods
            )
            yield Scene(replace(scene.snapshot, pods=pods), scene.config, scene.rules)


def _beginners(scene: Scene) -> list[PodKey]:
    """Return the evictable pods that have a part of such a device."""
    begun = frozenset(_overdrawn(scene)) if scene.asks("claims") else frozenset[str]()
    claims = {c.key: c.devices for c in scene.snapshot.claims if c.allocated}

    def has_begun(p: Pod) -> bool:
        named = (d for c in p.spec.claims for d in claims.get(c.claim, ()))
        return not begun.isdisjoint((*p.claimed, *named)) and evictable(scene, p)

    return [p.key for p, _ in scene.holders if begun and has_begun(p)]


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


def _short(node: Node, busy: AbstractSet[str]) -> set[str]:
    """Return the counters of the node of which more is drawn than there is."""
    drawn: Counter[str] = Counter()
    for d in node.pool_devices:
        if d.taken or d.id in busy:
            drawn.update(d.counters)
    return {c for c, n in drawn.items() if n > node.counters.get(c, 0)}
