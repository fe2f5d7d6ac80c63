"""Bonds: pods of a group that ask to be near each other, and the domains that they may share."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import Group, GroupKey, Pod, Snapshot, TopologyRequest

Numbers = NDArray[np.int64]
"""The domain number of each node; −1 outside."""


def domain_of(level: str) -> str:
    """Return what a domain of a level is called; "" is any level."""
    return f"HyperNode of {level}" if level.startswith("tier ") else level or "domain"


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One level of a topology over the nodes of a snapshot."""

    name: str
    numbers: Numbers
    domains: tuple[str, ...]
    """Names by number."""

    @property
    def told(self) -> str:
        """What one of its domains is called."""
        return domain_of(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Bond:
    """Pods of one group, all of them or a subgroup, under one request."""

    group: GroupKey
    subgroup: str
    """"" for all pods of the group."""
    required: Layer | None
    wished: tuple[Layer, ...]
    """Levels over which they spread as little as can be, the widest first."""

    def holds(self, pod: Pod) -> bool:
        """Say whether the pod, one of the group, is bound by it."""
        return not self.subgroup or self.subgroup in pod.subgroups

    @property
    def label(self) -> str:
        return f"group {self.group}" + (f" subgroup {self.subgroup}" if self.subgroup else "")


class Bonds:
    """The bonds of a snapshot, by group."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        snapshot = snapshot if snapshot is not None else Snapshot()
        index: dict[str, int] = {n.name: i for i, n in enumerate(snapshot.nodes)}
        self._layers: Mapping[str, tuple[Layer, ...]] = {
            t.name: tuple(_layer(x.name, x.domains, index) for x in t.levels)
            for t in snapshot.topologies
        }
        self._nowhere = Layer("", np.full(len(index), -1, dtype=np.int64), ())
        self._of: dict[GroupKey, tuple[Bond, ...]] = {}
        for g in snapshot.groups:
            if (g.topology is not None or g.subgroups) and (bonds := self._bonds(g)):
                self._of[g.key] = bonds

    def __bool__(self) -> bool:
        return bool(self._of)

    def of_group(self, key: GroupKey | None) -> tuple[Bond, ...]:
        """Return the group's bonds: of all its pods, then of subgroups."""
        return self._of.get(key, ()) if key is not None else ()

    def of(self, pod: Pod) -> tuple[Bond, ...]:
        """Return the bonds that hold the pod."""
        return tuple(b for b in self.of_group(pod.group) if b.holds(pod))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every level that some bond looks at."""
        found = {}
        for bonds in self._of.values():
            for b in bonds:
                for layer in (*((b.required,) if b.required else ()), *b.wished):
                    found[id(layer)] = layer
        return tuple(found.values())

    def _bonds(self, g: Group) -> tuple[Bond, ...]:
        asked = [("", g.topology), *((s.name, s.topology) for s in g.subgroups)]
        return tuple(
            bond
            for name, request in asked
            if request is not None and (bond := self._bond(g.key, name, request)) is not None
        )

    def _bond(self, key: GroupKey, name: str, request: TopologyRequest) -> Bond | None:
        layers = self._layers.get(request.topology, ())
        at = {layer.name: i for i, layer in enumerate(layers)}
        required = None
        first = 0
        if request.required:
            found = at.get(request.required)
            required = self._nowhere if found is None else layers[found]
            first = len(layers) if found is None else found + 1
        last = at.get(request.preferred, -1)
        wished = layers[first : last + 1]
        return Bond(key, name, required, wished) if required or wished else None


def _layer(name: str, domains: Mapping[str, tuple[str, ...]], index: Mapping[str, int]) -> Layer:
    names = tuple(sorted(domains))
    numbers = np.full(len(index), -1, dtype=np.int64)
    for k, domain in enumerate(names):
        for node in domains[domain]:
            if node in index:
                numbers[index[node]] = k
    return Layer(name, numbers, names)
