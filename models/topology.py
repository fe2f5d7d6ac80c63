"""Topologies: levels of domains over the nodes (racks in blocks), and who asks for them."""

from collections.abc import Mapping

from .value import Value


class Level(Value, frozen=True):
    """One level: domains and their nodes. A node that is in none is outside at this level."""

    name: str
    domains: Mapping[str, tuple[str, ...]] = {}


class Topology(Value, frozen=True):
    """Levels from the widest to the narrowest; each domain lies within one of the level before."""

    name: str
    levels: tuple[Level, ...] = ()


class TopologyRequest(Value, frozen=True):
    """How near to each other pods must be, and would like to be, by levels of a topology."""

    topology: str
    required: str = ""
    """All of them lie in one domain of this level; "" where none is required."""
    preferred: str = ""
    """They spread over as few domains as can be, down to this level; "" where none is wished."""


class Subgroup(Value, frozen=True):
    """A part of a group with a request of its own; pods name the subgroups that they are in."""

    name: str
    topology: TopologyRequest
