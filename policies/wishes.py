"""Wishes about the place: preferred nodes, soft taints, preferred company, soft spread.

Value: Σ weight of what is granted − Σ weight of what is not wanted, over pods that start. Of other
pods, preferred affinity and anti-affinity look at those that stand before the plan only, victims
included; soft spread counts those that stand after it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..models import Node, Pod
from .node_rules import tolerated
from .numa_layout import further_cells
from .outcome import Outcome
from .podset import PodSet
from .soft_spread import spread_terms, spread_weight

if TYPE_CHECKING:
    from .board import Board, Term
    from .tracker import World

TAINT_WEIGHT = 1
CELL_WEIGHT = 10
"""For every NUMA cell beyond the first of a request."""
SOFT = "PreferNoSchedule"


def node_wish(pod: Pod, node: Node) -> int:
    """Return what the node itself is worth to the pod."""
    value = sum(w for w, t in pod.spec.preferred_nodes if t.matches(node.labels, node.name))
    pods = PodSet((pod,))
    if node.numa is not None and node.numa.policy != "none" and pod.spec.aligned:
        value -= CELL_WEIGHT * further_cells(pod.spec, node.numa)
    value -= TAINT_WEIGHT * sum(t.effect == SOFT and not tolerated(pods, t) for t in node.taints)
    return value


def standing_wish(pod: Pod, node: Node, present: Iterable[tuple[Pod, Node]]) -> int:
    """Return what the pods that stand already make of the node, both ways."""
    value = 0
    for other, at in present:
        for sign, mine, theirs in (
            (1, pod.spec.preferred_affinity, other.spec.preferred_affinity),
            (-1, pod.spec.preferred_anti_affinity, other.spec.preferred_anti_affinity),
        ):
            for terms, subject in ((mine, other), (theirs, pod)):
                for weight, term in terms:
                    here = node.labels.get(term.topology_key)
                    if here is None or at.labels.get(term.topology_key) != here:
                        continue
                    if term.matches(subject.namespace, subject.labels):
                        value += sign * weight
    return value


def _is_wished_by_itself(node: Node) -> bool:
    """Say whether the node is more or less wished for by pods that say nothing of it."""
    return any(t.effect == SOFT for t in node.taints) or (
        node.numa is not None and node.numa.policy != "none"
    )


def _wishing(pods: Iterable[tuple[Pod, int]]) -> list[tuple[Pod, int]]:
    return [(p, i) for p, i in pods if p.spec.preferred_affinity or p.spec.preferred_anti_affinity]


@dataclass(frozen=True, slots=True)
class Wishes:
    """Weight of granted wishes less weight of what is not wanted."""

    name: str = "wishes"
    unit: str = "weight"
    sense: Literal["max", "min"] = "max"

    def cost(self, board: "Board") -> "Iterable[Term]":
        """Return the terms; a class of several nodes promises what its best node is worth."""
        nodes = board.scene.nodes
        plain = not any(t.effect == SOFT for n in nodes for t in n.taints)
        out: list[Term] = []
        for s in board.shapes:
            relevant = self._relevant(board.world, s.sample)
            spec = s.sample.spec
            if plain and not relevant and not spec.preferred_nodes and not spec.aligned:
                continue
            worth = self._worth(s.sample, nodes, relevant)
            for cls, var in board.cells(s):
                value = max(worth(nodes[i]) for i in cls.nodes)
                if value:
                    out.append((value, var))
        return [*out, *spread_terms(board)]

    def _worth(
        self, pod: Pod, nodes: Sequence[Node], relevant: Sequence[tuple[Pod, int]]
    ) -> Callable[[Node], int]:
        """Return what a node is worth to the pod; company is looked at once for each domain."""
        keys = self._keys(relevant, pod) if relevant else ()
        memo: dict[object, int] = {}

        def worth(node: Node) -> int:
            domains = tuple(node.labels.get(k) for k in keys)
            if domains not in memo:
                memo[domains] = standing_wish(pod, node, ((p, nodes[i]) for p, i in relevant))
            return node_wish(pod, node) + memo[domains]

        return worth

    @staticmethod
    def _relevant(world: "World", pod: Pod) -> list[tuple[Pod, int]]:
        if pod.spec.preferred_affinity or pod.spec.preferred_anti_affinity:
            return world.present
        return _wishing(world.present)

    @staticmethod
    def _keys(present: Iterable[tuple[Pod, int]], pod: Pod) -> tuple[str, ...]:
        keys: set[str] = set()
        for p in (pod, *(q for q, _ in present)):
            for _, t in (*p.spec.preferred_affinity, *p.spec.preferred_anti_affinity):
                keys.add(t.topology_key)
        return tuple(sorted(keys))

    def measure(self, outcome: Outcome) -> int:
        scene = outcome.scene
        nodes = scene.nodes
        plain = not any(map(_is_wished_by_itself, nodes))
        near = scene.asks("preferred_affinity") or scene.asks("preferred_anti_affinity")
        wishing = _wishing(scene.staying) if near else []
        total = 0
        for p, i in outcome.new_pods:
            if not plain or p.spec.preferred_nodes:
                total += node_wish(p, nodes[i])
            asks = p.spec.preferred_affinity or p.spec.preferred_anti_affinity
            relevant = scene.staying if asks else wishing
            if relevant:
                total += standing_wish(p, nodes[i], ((q, nodes[j]) for q, j in relevant))
        return total - spread_weight(outcome)
