"""The queue tree: paths, children, the branches on which two queues part."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import networkx as nx

from ..models import Queue, QueueName
from ..models.queue import ROOT

Path = tuple[QueueName, ...]
"""Queues from one upwards, the root left out."""


class Tree:
    """Queues by name below the root; those held at the door hang there, childless or not."""

    def __init__(self, queues: Iterable[Queue]) -> None:
        self.queues: Mapping[QueueName, Queue] = {q.name: q for q in queues}
        graph: nx.DiGraph[QueueName] = nx.DiGraph()
        graph.add_node(ROOT)
        for q in self.queues.values():
            known = q.parent if q.parent in self.queues else None
            graph.add_edge(known or ROOT, q.name)
        self._graph = graph
        self._path: dict[QueueName, Path] = {}

    @cached_property
    def children(self) -> Mapping[QueueName, tuple[QueueName, ...]]:
        """Children by queue name, the root's under ``root``; sorted."""
        return {n: tuple(sorted(self._graph.successors(n))) for n in self._graph}

    @cached_property
    def downwards(self) -> tuple[QueueName, ...]:
        """Every queue, parents before children."""
        return tuple(n for n in nx.lexicographical_topological_sort(self._graph) if n != ROOT)

    def __contains__(self, name: object) -> bool:
        return name in self.queues

    def is_leaf(self, name: QueueName) -> bool:
        return not self.children.get(name)

    def path(self, name: QueueName) -> Path:
        """Return the queue and its ancestors, itself first, without the root; () if unknown."""
        if name not in self._path:
            steps: list[QueueName] = []
            at = self.queues.get(name)
            while at is not None:
                steps.append(at.name)
                at = self.queues.get(at.parent) if at.parent is not None else None
            self._path[name] = tuple(steps)
        return self._path[name]

    def apart(self, a: QueueName, b: QueueName) -> tuple[Path, Path]:
        """Return both paths up to the branches below the lowest common ancestor; () where equal."""
        pa, pb = self.path(a), self.path(b)
        while pa and pb and pa[-1] == pb[-1]:
            pa, pb = pa[:-1], pb[:-1]
        return pa, pb
