"""What placement rules see of a pod besides labels and namespace; equal specs are one object."""

from collections.abc import Mapping
from typing import Literal

from .amounts import ZERO, Amounts
from .devices import DeviceShare
from .numa import AlignedAsk, NumaPolicy
from .resource_claim import PodClaim
from .selector import LabelSelector, NodeSelectorTerm
from .value import Value
from .volume import Volume

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Toleration(Value, frozen=True, order=True):
    """Which taints a pod bears; an empty key with Exists bears all, an empty effect any effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class HostPort(Value, frozen=True, order=True):
    """A port on the host; address 0.0.0.0 clashes with every address."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"

    def clashes(self, other: "HostPort") -> bool:
        wild = "0.0.0.0" in (self.address, other.address)
        return (self.port, self.protocol) == (other.port, other.protocol) and (
            wild or self.address == other.address
        )


class PodTerm(Value, frozen=True):
    """One term of pod affinity or anti-affinity, its namespaces already resolved.

    ``namespaces`` None means every namespace. matchLabelKeys and mismatchLabelKeys are already
    merged into the selector; a term whose selector is absent matches nothing (``selector`` None).
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: frozenset[str] | None

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.selector is None:
            return False
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(
            labels
        )


class SpreadConstraint(Value, frozen=True):
    """A topology spread constraint; matchLabelKeys are already merged into the selector."""

    max_skew: int
    topology_key: str
    hard: bool
    selector: LabelSelector | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.selector is not None and self.selector.matches(labels)


class PodSpec(Value, frozen=True):
    """Requests (as the kubelet sums them, without ``pods``) and every wish about the place."""

    requests: Amounts = ZERO
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    """Required terms, any of which suffices; None: no requirement; empty: no node matches."""
    preferred_nodes: tuple[tuple[int, NodeSelectorTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_affinity: tuple[tuple[int, PodTerm], ...] = ()
    preferred_anti_affinity: tuple[tuple[int, PodTerm], ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    share: DeviceShare | None = None
    """A part of one device or several; its charge is among the requests."""
    aligned: tuple[AlignedAsk, ...] = ()
    """What its containers ask of NUMA cells; read where some node says something about cells."""
    numa_policy: NumaPolicy = "none"
    """The policy that its node's kubelet must have; none: any."""
    refused_by: tuple[str, ...] = ()
    """Nodes whose kubelets have refused too many pods of its owner lately."""
    claims: tuple[PodClaim, ...] = ()
    """Device claims; what they count for in queues is part of the requests."""
    plugged: Amounts = ZERO
    """Of resources that claims are charged as: the part that a device plug-in has to serve."""

    @property
    def best_effort(self) -> bool:
        """Say whether the pod asks for nothing: it takes a pod slot only."""
        return not self.requests

    @property
    def shared_volumes(self) -> tuple[Volume, ...]:
        """The volumes that other pods of the snapshot have as well."""
        return tuple(v for v in self.volumes if v.claim)

    @property
    def sees_pods(self) -> bool:
        """Say whether where other pods are matters to this one."""
        return bool(
            self.affinity
            or self.anti_affinity
            or self.spread
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )
