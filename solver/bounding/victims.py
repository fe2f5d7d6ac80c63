"""Running work that might make room, merged: who could have a right to it, and on what grounds.

Within a group any pods may go that are as many as may; so pods are told apart by shape alone.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...models import GroupKey, Pod, QueueName
from ...policies.cost import spare_members
from ...policies.evictable import evictable_flags, given_up, lowest_priority
from ...policies.ledger import Matrix
from ...policies.members import Members
from ...policies.scene import Scene
from ...policies.standing import MEASURES
from .beyond import Beyond, Spot
from .claims import Claims
from .nodes import Idle
from .program import Index
from .work import whole_devices

NOWHERE: frozenset[Spot] = frozenset()


class Kind(NamedTuple):
    """Equal victims: queue, priority, what they hold, and where others may take them."""

    queue: QueueName
    priority: int
    shape: int
    beyond: frozenset[Spot]
    """Where they are beyond in any case."""
    could: frozenset[Spot]
    """Where they are or could become so."""


@dataclass(frozen=True)
class Candidate:
    """A group that may lose pods."""

    members: Members
    able: Sequence[Pod]
    most: int
    """How many of them at most."""
    samples: Sequence[Pod]
    """One pod of each spec among them."""
    priority: int
    """The least that a right to some of them has to exceed."""
    nodes: Sequence[int]
    """Of each pod that may go; −1: none that is known."""


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
    taken: list[Taken] = field(default_factory=list)
    """The groups that somebody could have a right to."""

    @property
    def places(self) -> tuple[Index, Index]:
        """Return shape and node of every pod whose node is known."""
        shapes = np.array([s for t in self.taken for s in t.shapes], dtype=np.int64)
        nodes = np.array([i for t in self.taken for i in t.nodes], dtype=np.int64)
        return shapes[nodes >= 0], nodes[nodes >= 0]

    def add(
        self,
        queue: QueueName,
        priority: int,
        shape: int,
        n: int,
        beyond: Mapping[Spot, int],
        growing: frozenset[Spot],
    ) -> list[Kind]:
        """Count pods of one group: the first so many are beyond here, fewer of them there."""
        if not beyond:
            kind = Kind(queue, priority, shape, NOWHERE, growing)
            self.kinds[kind] += n
            return [kind]
        out: list[Kind] = []
        edges = sorted({0, n, *(min(n, k) for k in beyond.values())})
        for low, high in pairwise(edges):
            spots = frozenset(s for s, k in beyond.items() if k >= high)
            out.append(Kind(queue, priority, shape, spots, spots | growing))
            self.kinds[out[-1]] += high - low
        return out


def candidates(scene: Scene) -> list[Candidate]:
    """Return groups with the pods that may be evicted."""
    pods, by_group = scene.snapshot.pods, dict[GroupKey, tuple[list[Pod], list[int]]]()
    some = np.flatnonzero(evictable_flags(scene))
    for k, node in zip(some.tolist(), scene.columns.node[some].tolist(), strict=True):
        p = pods[k]
        if p.group is not None:
            of = by_group.setdefault(p.group, ([], []))
            of[0].append(p)
            of[1].append(node)
    out = []
    for key, (able, nodes) in by_group.items():
        m = scene.roster[key]
        whole = len(able) == len(m.running)
        most = len(able) if whole else min(spare_members(m), len(able))
        if most > 0 and not given_up(scene, m):
            samples = tuple({id(p.spec): p for p in able}.values())
            out.append(Candidate(m, able, most, samples, lowest_priority(m, able), nodes))
    return out


def victims_of(
    scene: Scene,
    groups: Sequence[Candidate],
    beyond: Mapping[Spot, Beyond],
    grown: Mapping[Spot, Collection[GroupKey]],
    claims: Claims,
    idle: Idle,
) -> Victims:
    """Merge the groups that somebody could have a right to.

    ``grown``: the groups that could become beyond, wherever that is.
    """
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

    spots_at: dict[QueueName, list[_At]] = {}
    sets: dict[tuple[Spot, ...], frozenset[Spot]] = {}
    for c in groups:
        m, most, priority = c.members, c.most, c.priority
        key, queue = m.key, m.group.queue
        if queue not in spots_at:
            spots_at[queue] = _at(spots_of(scene, claims, queue), beyond, grown, claims)
        beyond_at: dict[Spot, int] = {}
        could: list[Spot] = []
        for spot, of, those, below in spots_at[queue]:
            if key in of.whole:
                beyond_at[spot] = most
            elif key in of.single:
                beyond_at[spot] = min(of.single[key], most)
            if key in those and m.group.priority < below:
                could.append(spot)
        if not (beyond_at or could or claims.own.get(queue, priority) > priority):
            continue
        growing = sets.setdefault(tuple(could), frozenset(could))
        alike = len(c.samples) == 1 and c.samples[0].spec.share is None
        if alike:
            mine = [shape_of(c.samples[0])] * len(c.able)
        else:
            mine = [shape_of(p) for p in c.able]
        counts = {mine[0]: len(mine)} if alike else Counter(mine)
        kinds = {
            shape: out.add(queue, priority, shape, min(n, most), beyond_at, growing)
            for shape, n in counts.items()
        }
        out.taken.append(Taken(c, mine, c.nodes, kinds))
    return out


_At = tuple[Spot, Beyond, Collection[GroupKey], int]
"""A spot, what is beyond there, who could become so, and below which priority."""


def _at(
    spots: Sequence[Spot],
    beyond: Mapping[Spot, Beyond],
    grown: Mapping[Spot, Collection[GroupKey]],
    claims: Claims,
) -> list[_At]:
    nobody: Collection[GroupKey] = frozenset()
    return [
        (
            s,
            beyond[s],
            grown.get(s, nobody) if s in claims.grown else nobody,
            claims.grown.get(s, 0),
        )
        for s in spots
        if s in beyond
    ]


def spots_of(scene: Scene, claims: Claims, leaf: QueueName) -> list[Spot]:
    """Return where work of a leaf may be taken from its branch, were it beyond there."""
    out: list[Spot] = []
    for q in scene.tree.path(leaf):
        if not scene.tree.queues[q].reclaimable:
            break
        here: list[Spot] = [(q, m) for m in MEASURES]
        out += [s for s in here if s in claims.spots]
    return out
