"""Domains: the nodes of a cluster as a tree, by levels of its topology or by well-known labels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...models import Node, Snapshot
from ...models.topology import Level

WELL_KNOWN = (
    "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
    "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack",
    "zone", "block", "rack",
)  # fmt: skip
"""Labels that are levels where no topology is declared, the widest first."""
_DIGITS = re.compile("([0-9]+)")


@dataclass(frozen=True)
class Domain:
    """Nodes that share a value, and domains inside; ``nodes`` are those in none of these."""

    level: str
    """Empty for the cluster as a whole."""
    name: str
    domains: tuple["Domain", ...]
    nodes: tuple[Node, ...]

    @property
    def all(self) -> tuple[Node, ...]:
        return tuple(n for d in self.domains for n in d.all) + self.nodes


def domains_of(snapshot: Snapshot) -> Domain:
    """Return the cluster as the tree of its domains, names in the order that people count in."""
    nodes = sorted(snapshot.nodes, key=lambda n: natural(n.name))
    return _split("", "", nodes, _levels(snapshot))


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key by which node-9 comes before node-10."""
    return [
        (0, int(part), "") if _DIGITS.fullmatch(part) and len(part) < 19
        else (1, 0, part)
        for part in _DIGITS.split(text)
    ]  # fmt: skip


_Level = tuple[str, dict[str, str]]
"""What a level is called, and the domain of each node by its name."""


def _levels(snapshot: Snapshot) -> list[_Level]:
    if snapshot.topologies:
        widest = max(snapshot.topologies, key=lambda t: len(_nodes(t.levels)))
        found = [
            (level.name, {str(n): d for d, names in level.domains.items() for n in names})
            for level in widest.levels
        ]
    else:
        found = [
            (label, {str(n.name): n.labels[label] for n in snapshot.nodes if n.labels.get(label)})
            for label in WELL_KNOWN
        ]
    # A level that tells no two nodes apart, or puts each in a domain of its own, says nothing.
    return [(level, of) for level, of in found if 1 < len(set(of.values())) < len(snapshot.nodes)]


def _nodes(levels: Sequence[Level]) -> set[str]:
    return {n for level in levels for names in level.domains.values() for n in names}


def _split(level: str, name: str, nodes: Sequence[Node], levels: Sequence[_Level]) -> Domain:
    if not levels:
        return Domain(level, name, (), tuple(nodes))
    (word, of), rest = levels[0], levels[1:]
    inside: dict[str, list[Node]] = {}
    for n in nodes:
        if n.name in of:
            inside.setdefault(of[n.name], []).append(n)
    outside = tuple(n for n in nodes if n.name not in of)
    domains = [_split(word, _short(d, name), inside[d], rest) for d in sorted(inside, key=natural)]
    if not domains:
        return _split(level, name, nodes, rest)
    return Domain(level, name, tuple(domains), outside)


def _short(domain: str, parent: str) -> str:
    """Return the name without the parent's, where topologies write that before it."""
    prefix = f"{parent}/"
    return domain.removeprefix(prefix) if parent and len(domain) > len(prefix) else domain
