"""Filters that look at one pod and one node: state, selector and affinity, taints.

Semantics as kube-scheduler's NodeUnschedulable, NodeAffinity, NodeName and TaintToleration filters.
"""

from dataclasses import dataclass

from ..models import Node, Reason, Taint, Toleration
from ..models.selector import GT, LT, integer
from .api import NodeFeatures
from .podset import PodSet

NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
HARD = ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether the toleration bears the taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in (GT, LT):
        # The taint's number is compared with the toleration's (Kubernetes 1.35).
        here, bound = integer(taint.value), integer(toleration.value)
        if here is None or bound is None:
            return False
        return here > bound if toleration.operator == GT else here < bound
    return bool(toleration.key) and toleration.value == taint.value


def tolerated(pods: PodSet, taint: Taint) -> bool:
    return any(tolerates(t, taint) for t in pods.spec.tolerations)


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node takes pods when it is ready and not cordoned, or the pod bears the taint of that.

    What bears the taint of a node that is not ready may be what makes it so, as a network's own pod
    does; a node that nobody has heard of takes nothing.
    """

    name: str = "node-state"

    def sees(self, pods: PodSet) -> NodeFeatures:
        return NodeFeatures(state=True, taints=True)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        if node.elsewhere:
            return Reason(self.name, f"node {node.name}", "is of another shard")
        if not node.ready and not (_starts_up(node) and tolerated(pods, NOT_READY)):
            return Reason(self.name, f"node {node.name}", "is not ready")
        if node.unschedulable and not tolerated(pods, UNSCHEDULABLE):
            return Reason(self.name, f"node {node.name}", "is cordoned")
        return None


def _starts_up(node: Node) -> bool:
    """Say whether the node itself says that it is not ready, and is marked so."""
    keys = {t.key for t in node.taints}
    return NOT_READY.key in keys and UNREACHABLE not in keys


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """Node selector and required node affinity must match the node."""

    name: str = "node-affinity"

    def sees(self, pods: PodSet) -> NodeFeatures:
        spec = pods.spec
        keys = {k for k, _ in spec.node_selector}
        named = False
        for term in spec.node_affinity or ():
            keys.update(r.key for r in term.labels)
            named |= bool(term.fields)
        return NodeFeatures(labels=frozenset(keys), name=named)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        for key, value in pods.spec.node_selector:
            if node.labels.get(key) != value:
                return Reason(self.name, f"node {node.name}", f"has no label {key}={value}")
        terms = pods.spec.node_affinity
        if terms is not None and not any(t.matches(node.labels, node.name) for t in terms):
            wanted = " or ".join(f"({t})" for t in terms) or "nothing"
            return Reason(self.name, f"node {node.name}", f"does not match {wanted}")
        return None


def matches_node(pods: PodSet, node: Node) -> bool:
    """Say whether selector and required affinity match (topology spread asks this)."""
    return NodeAffinity().refuse(pods, node) is None


@dataclass(frozen=True, slots=True)
class Taints:
    """Every NoSchedule and NoExecute taint of the node must be tolerated."""

    name: str = "taints"

    def sees(self, pods: PodSet) -> NodeFeatures:
        return NodeFeatures(taints=True)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        for taint in node.taints:
            if taint.effect in HARD and not tolerated(pods, taint):
                return Reason(self.name, f"node {node.name}", f"has the taint {taint}")
        return None
