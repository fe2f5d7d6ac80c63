"""Running work that might make room, merged: who could have a right to it, and on what grounds.

Within a group any pods may go that are as many as may; so pods are told apart by shape alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...models import GroupKey, Pod, QueueName
from ...policies.cost import spare_members
from ...policies.evictable import evictable_flags, given_up, victim_priority
from ...policies.ledger import Matrix
from ...policies.members import Members
from ...policies.scene import Scene
from ...policies.standing import MEASURES
from .beyond import Beyond, Spot
from .claims import Claims
from .nodes import Idle
from .work import whole_devices

NOWHERE: frozenset[Spot] = frozenset()


@dataclass(frozen=True)
class Kind:
    """Equal victims: queue, priority, what they hold, and where they are always beyond."""

    queue: QueueName
    priority: int
    shape: int
    beyond: frozenset[Spot]


@dataclass(frozen=True)
class Candidate:
    """A group that may lose pods."""

    members: Members
    able: Sequence[Pod]
    most: int
    """How many of them at most."""
    samples: Sequence[Pod]
    """One pod of each spec among them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A group that somebody could have a right to: its pods by shape and node, and their kinds."""

    of: Candidate
    shapes: Sequence[int]
    """Of each pod that may go."""
    nodes: Sequence[int]
    """Of each pod that may go; −1: none that is known."""
    kinds: Mapping[int, Sequence[Kind]]
    """By shape."""


@dataclass
class Victims:
    """Victims by kind, their shapes, and how many of a shape stand in each class of nodes."""

    rows: list[Matrix] = field(default_factory=list)
    """What a shape holds."""
    idles: list[float] = field(default_factory=list)
    """How many whole devices are idle once a pod of the shape has left, at most."""
    kinds: Counter[Kind] = field(default_factory=Counter)
    places: list[tuple[int, int]] = field(default_factory=list)
    """Shape and node of every pod."""
    taken: list[Taken] = field(default_factory=list)
    """The groups that somebody could have a right to."""

    def add(
        self, queue: QueueName, priority: int, shape: int, n: int, beyond: Mapping[Spot, int]
    ) -> list[Kind]:
        """Count pods of one group: the first so many are beyond here, fewer of them there."""
        if not beyond:
            kind = Kind(queue, priority, shape, NOWHERE)
            self.kinds[kind] += n
            return [kind]
        out: list[Kind] = []
        edges = sorted({0, n, *(min(n, k) for k in beyond.values())})
        for low, high in pairwise(edges):
            spots = frozenset(s for s, k in beyond.items() if k >= high)
            out.append(Kind(queue, priority, shape, spots))
            self.kinds[out[-1]] += high - low
        return out


def candidates(scene: Scene) -> list[Candidate]:
    """Return groups with the pods that may be evicted."""
    pods, by_group = scene.snapshot.pods, dict[GroupKey, list[Pod]]()
    for k in np.flatnonzero(evictable_flags(scene)).tolist():
        p = pods[k]
        if p.group is not None:
            by_group.setdefault(p.group, []).append(p)
    out = []
    for key, able in by_group.items():
        m = scene.roster[key]
        whole = len(able) == len(m.running)
        most = len(able) if whole else min(spare_members(m), len(able))
        if most > 0 and not given_up(scene, m):
            samples = {id(p.spec): p for p in able}
            out.append(Candidate(m, able, most, tuple(samples.values())))
    return out


def victims_of(
    scene: Scene,
    groups: Sequence[Candidate],
    beyond: Mapping[Spot, Beyond],
    claims: Claims,
    idle: Idle,
) -> Victims:
    """Merge the groups that somebody could have a right to."""
    out = Victims()
    shapes: dict[object, int] = {}
    of_spec: dict[tuple[int, float], int] = {}

    def shape_of(p: Pod) -> int:
        part = float(whole_devices(p)) if p.spec.share is None else idle.of_share.get(p.key, 0.0)
        spec = (id(p.spec), part)
        if spec not in of_spec:
            row = scene.row(p)
            key = (tuple(row.tolist()), part)
            if key not in shapes:
                shapes[key] = len(out.rows)
                out.rows.append(row)
                out.idles.append(part)
            of_spec[spec] = shapes[key]
        return of_spec[spec]

    spots_at: dict[QueueName, list[Spot]] = {}
    index = scene.index
    for c in groups:
        m, most = c.members, c.most
        queue = m.group.queue
        priority = victim_priority(m)
        if queue not in spots_at:
            spots_at[queue] = spots_of(scene, claims, queue)
        spots = spots_at[queue]
        beyond_at = {s: n for s in spots if (n := _beyond(m, beyond.get(s), most))}
        own = claims.own.get(queue)
        is_own = own is not None and own > priority
        grown = any(claims.grown.get(s, m.group.priority) > m.group.priority for s in spots)
        if not (is_own or beyond_at or grown):
            continue
        if len(c.samples) == 1 and c.samples[0].spec.share is None:
            mine = [shape_of(c.samples[0])] * len(c.able)
        else:
            mine = [shape_of(p) for p in c.able]
        on = [index.get(p.node, -1) if p.node is not None else -1 for p in c.able]
        out.places += [(s, i) for s, i in zip(mine, on, strict=True) if i >= 0]
        kinds = {
            shape: out.add(queue, priority, shape, min(n, most), beyond_at)
            for shape, n in Counter(mine).items()
        }
        out.taken.append(Taken(c, mine, on, kinds))
    return out


def spots_of(scene: Scene, claims: Claims, leaf: QueueName) -> list[Spot]:
    """Return where work of a leaf may be taken from its branch, were it beyond there."""
    out: list[Spot] = []
    for q in scene.tree.path(leaf):
        if not scene.tree.queues[q].reclaimable:
            break
        here: list[Spot] = [(q, m) for m in MEASURES]
        out += [s for s in here if s in claims.spots]
    return out


def _beyond(m: Members, of: Beyond | None, most: int) -> int:
    """Return how many of the group's pods may go there in any case, at most."""
    if of is None:
        return 0
    if m.key in of.whole:
        return most
    return min(of.single.get(m.key, 0), most)
