"""DaemonSets that nobody has submitted yet: a pod for each node that takes one, tied to that node.

As the DaemonSet controller of Kubernetes 1.36 does it: nodes are chosen by selector, affinity and
taints, with the tolerations that it adds, and a pod's required affinity gives way to the name of
its node.
"""

from msgspec.structs import replace

from ...models import Node, PodSpec
from ...policies.node_rules import HARD, tolerates
from .body_pod import (
    AffinityBody,
    ExpressionBody,
    NodeAffinityBody,
    NodeSelectorBody,
    NodeTermBody,
    PodSpecBody,
    TolerationBody,
)

_BORNE = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_BORNE_ON_THE_HOST = (("network-unavailable", "NoSchedule"),)
"""By pods that use the network of the host, besides."""


def tolerant(spec: PodSpecBody) -> PodSpecBody:
    """Return the spec with the tolerations that every pod of a DaemonSet has."""
    borne = (*_BORNE, *(_BORNE_ON_THE_HOST if spec.host_network else ()))
    more = [
        TolerationBody(key=f"node.kubernetes.io/{key}", operator="Exists", effect=effect)
        for key, effect in borne
    ]
    return replace(spec, tolerations=[*(spec.tolerations or ()), *more])


def is_taken_by(spec: PodSpec, node: Node) -> bool:
    """Say whether the controller makes a pod of this kind for the node, full or not."""
    if any(node.labels.get(key) != value for key, value in spec.node_selector):
        return False
    terms = spec.node_affinity
    if terms is not None and not any(t.matches(node.labels, node.name) for t in terms):
        return False
    hard = (taint for taint in node.taints if taint.effect in HARD)
    return all(any(tolerates(t, taint) for t in spec.tolerations) for taint in hard)


def tied(spec: PodSpecBody, node: str) -> PodSpecBody:
    """Return the spec of the pod for the node."""
    named = ExpressionBody(key="metadata.name", operator="In", values=[node])
    only = NodeSelectorBody(node_selector_terms=[NodeTermBody(match_fields=[named])])
    affinity = spec.affinity or AffinityBody()
    nodes = affinity.node_affinity or NodeAffinityBody()
    return replace(spec, affinity=replace(affinity, node_affinity=replace(nodes, required=only)))
