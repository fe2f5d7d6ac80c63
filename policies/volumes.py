"""Volumes: a pod goes where all of its volumes are, or can be made.

Semantics of kube-scheduler's VolumeBinding and VolumeZone filters for a pod and a node: node
affinity and zone labels of a bound volume; allowed topologies and storage capacity of a class that
waits for its first consumer; and the CSI driver has to be on the node at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from ..models import GroupKey, Node, Pod, Reason, Volume
from ..models.selector import NodeSelectorTerm
from .api import NodeFeatures
from .outcome import Outcome
from .podset import PodSet


@dataclass(frozen=True, slots=True)
class Volumes:
    """Per volume of the pod: a term of each of its places matches, and the node has its driver."""

    name: str = "volumes"

    def sees(self, pods: PodSet) -> NodeFeatures:
        keys: set[str] = set()
        named = False
        for v in pods.spec.volumes:
            for terms in v.places:
                for term in terms:
                    keys.update(r.key for r in term.labels)
                    named |= bool(term.fields)
        drivers = frozenset(v.driver for v in pods.spec.volumes if v.driver)
        return NodeFeatures(labels=frozenset(keys), name=named, drivers=drivers)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        volumes = pods.spec.volumes
        against = chain(
            _problems(volumes), _elsewhere(volumes, node), _without_driver(volumes, node)
        )
        said = next(against, None)
        return Reason(self.name, f"node {node.name}", said) if said is not None else None

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        """Hold a group that cannot reach its minimum with the members whose claims are there."""
        if not outcome.scene.asks("volumes"):
            return
        m = outcome.scene.roster[GroupKey(group)]
        bad = [p for p in m.pending if _problem(p)]
        if not bad:
            return
        good = [p for p in m.pending if not _problem(p)]
        if (good or m.running) and m.is_whole([*m.running, *good]):
            return
        yield Reason(self.name, f"pod {bad[0].key}", _problem(bad[0]))


def _problem(pod: Pod) -> str:
    return next(_problems(pod.spec.volumes), "")


def _problems(volumes: Iterable[Volume]) -> Iterator[str]:
    return (v.problem for v in volumes if v.problem)


def _elsewhere(volumes: Iterable[Volume], node: Node) -> Iterator[str]:
    """Yield where volumes are or can be, of each list that does not name the node."""
    for v in volumes:
        for terms in v.places:
            if not any(_matches(t, node) for t in terms):
                wanted = " or ".join(f"({t})" for t in terms[:3]) or "no node"
                yield f"is not where the volume is or can be: {wanted}"


def _without_driver(volumes: Iterable[Volume], node: Node) -> Iterator[str]:
    for v in volumes:
        if v.driver and v.driver not in node.drivers:
            yield f"its CSINode does not list the driver {v.driver}"


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    return term.matches(node.labels, node.name)
