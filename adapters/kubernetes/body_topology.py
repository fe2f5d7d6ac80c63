"""The shapes of topology objects: Volcano's HyperNodes, KAI's and Kueue's Topologies."""

from typing import Any, Literal

from pydantic import Field

from .body_rare import Natural
from .shape import Outside


class ExactMatch(Outside):
    """One member by its name."""

    name: str = Field(min_length=1)


class RegexMatch(Outside):
    """Members whose names match."""

    pattern: str = Field(min_length=1, max_length=512)


class MemberSelector(Outside):
    """Which members; exactly one of the three."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: Any = None


class HyperNodeMember(Outside):
    """Nodes, or HyperNodes of lower tiers."""

    type: Literal["Node", "HyperNode"]
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(Outside):
    """``spec`` of a HyperNode."""

    tier: Natural = 0
    tier_name: str | None = None
    members: list[HyperNodeMember] | None = None


class HyperNode(Outside):
    """A HyperNode without its head."""

    spec: HyperNodeSpec | None = None


class TopologyLevel(Outside):
    """One level: the node label that names its domains."""

    node_label: str = Field(min_length=1)
    alias: str | None = None


class TopologySpec(Outside):
    """``spec`` of a Topology."""

    levels: list[TopologyLevel] | None = None


class TopologyBody(Outside):
    """A Topology without its head; levels from the widest to the narrowest."""

    spec: TopologySpec | None = None
