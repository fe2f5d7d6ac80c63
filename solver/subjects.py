"""Subjects: a rule and what it is about, nodes of which it says the same told as one."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from ..policies.columns import Flags
from ..policies.parts import NodeClass, Shape
from ..policies.podset import PodSet
from ..policies.scene import Scene

Subject = tuple[str, str]
"""A rule, and what it is about."""
About = tuple[NodeClass, int | None]
"""Nodes, and the column of a resource."""
Refused = tuple[str, Flags]
"""A rule, and the nodes that it refuses."""


class Merging:
    """Finds out which nodes a rule need not tell apart.

    To a filter those are alike that it refuses with the same words; to other rules those that have
    room for as many pods of each shape, to capacity in the one resource that it speaks of.
    """

    def __init__(
        self,
        scene: Scene,
        classes: Sequence[NodeClass],
        shapes: Sequence[Shape],
        demand: Mapping[int, int],
    ) -> None:
        self._scene, self._shapes = scene, shapes
        self._class_of = {c.label: c for c in classes}
        self._filters = {f.name: f for f in scene.filters}
        self._demand = demand

    def merged(self, subjects: Sequence[Subject]) -> dict[Subject, tuple[Subject, NodeClass]]:
        """Return, for the subjects that are about nodes, the wider subject and its nodes."""
        together: dict[tuple[str, str, Hashable], list[tuple[Subject, NodeClass]]] = {}
        for subject in subjects:
            found = self._nodes_of(subject[1])
            if found is not None:
                cls, rest = found
                key = (subject[0], rest, self._kind(subject[0], cls, rest))
                together.setdefault(key, []).append((subject, cls))
        out: dict[Subject, tuple[Subject, NodeClass]] = {}
        for (rule, rest, _), same in together.items():
            wide = _union([c for _, c in same])
            about = f"{wide.label} {rest}" if rest else wide.label
            out |= {subject: ((rule, about), wide) for subject, _ in same}
        return out

    def _nodes_of(self, about: str) -> tuple[NodeClass, str] | None:
        words = about.split(" ")
        for n in (2, 4):
            cls = self._class_of.get(" ".join(words[:n]))
            if cls is not None:
                return cls, " ".join(words[n:])
        return None

    def _kind(self, rule: str, cls: NodeClass, rest: str) -> Hashable:
        filter_ = self._filters.get(rule)
        if filter_ is not None:
            node = self._scene.nodes[cls.nodes[0]]
            reasons = [filter_.refuse(PodSet((s.sample,)), node) for s in self._shapes]
            return tuple(r.message if r is not None else "" for r in reasons)
        column = self._scene.ledger.column.get(rest)
        return tuple(self._count(s, cls, column) for s in self._shapes)

    def _count(self, shape: Shape, cls: NodeClass, column: int | None) -> int:
        """Return how many pods of the shape one of the nodes has room for, no more than come.

        In one resource or in all.
        """
        asked = {r: v for r, v in enumerate(shape.row) if v and column in (None, r)}
        each = [max(0, cls.room[r]) // v for r, v in asked.items()]
        return min([self._demand[shape.index], *each])


def _union(classes: Sequence[NodeClass]) -> NodeClass:
    """Return the nodes of classes as one, with the most room that any of them has."""
    if len(classes) == 1:
        return classes[0]
    nodes = tuple(sorted(i for c in classes for i in c.nodes))
    room = tuple(int(v) for v in np.max([c.room for c in classes], axis=0))
    first = min(classes, key=lambda c: c.nodes[0])
    return NodeClass(-1, nodes, room, first.name)
