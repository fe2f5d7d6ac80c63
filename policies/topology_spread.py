"""Hard topology spread: pods of a kind stay level over domains.

Semantics of kube-scheduler's PodTopologySpread filter (KEP-895, KEP-3022, KEP-3094): per constraint
and domain d that takes a new pod, count(d) ≤ maxSkew + min over eligible domains of count; the
minimum is 0 while there are fewer domains than minDomains.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..models import Node, Pod, SpreadConstraint, Violation
from .node_rules import HARD, UNSCHEDULABLE, matches_node, tolerated
from .outcome import Outcome
from .podset import PodSet
from .scene import Scene
from .sieve import History, Sieve
from .tracker import Counter, Mask, World

if TYPE_CHECKING:
    from .board import Board, Bounded, Shape


def hard_constraints(pod: Pod) -> tuple[SpreadConstraint, ...]:
    return tuple(c for c in pod.spec.spread if c.hard)


def counts_towards(constraint: SpreadConstraint, owner: Pod, other: Pod) -> bool:
    """Say whether the other pod is of the kind that the owner's constraint levels."""
    return other.namespace == owner.namespace and constraint.matches(other.labels)


def eligible(constraint: SpreadConstraint, pod: Pod, node: Node, keys: frozenset[str]) -> bool:
    """Say whether the node's domain takes part: it has all the keys, and the policies let it."""
    if not keys <= node.labels.keys():
        return False
    pods = PodSet((pod,))
    if constraint.honor_affinity and not matches_node(pods, node):
        return False
    if constraint.honor_taints:
        if not node.ready:
            return False
        taints = (*node.taints, UNSCHEDULABLE) if node.unschedulable else node.taints
        return all(t.effect not in HARD or tolerated(pods, t) for t in taints)
    return True


def eligible_nodes(constraint: SpreadConstraint, pod: Pod, nodes: Iterable[Node]) -> Mask:
    """Say which nodes take part: those with the keys of all constraints that are as hard."""
    keys = frozenset(c.topology_key for c in pod.spec.spread if c.hard == constraint.hard)
    if not constraint.honor_taints and not (
        constraint.honor_affinity and (pod.spec.node_selector or pod.spec.node_affinity is not None)
    ):
        return np.array([keys <= n.labels.keys() for n in nodes], dtype=np.bool_)
    return np.array([eligible(constraint, pod, n, keys) for n in nodes], dtype=np.bool_)


def spread_features(constraint: SpreadConstraint, pod: Pod) -> object:
    """Name what decides which nodes take part."""
    spec = pod.spec
    keys = frozenset(c.topology_key for c in spec.spread if c.hard == constraint.hard)
    return (
        keys,
        (spec.node_selector, spec.node_affinity) if constraint.honor_affinity else None,
        spec.tolerations if constraint.honor_taints else None,
    )


def taking_part(constraint: SpreadConstraint, pod: Pod, where: Scene | World) -> Mask:
    """Return :func:`eligible_nodes`, asked once for pods that nodes cannot tell apart in this."""
    memo = ("eligible", spread_features(constraint, pod))
    if memo not in where.memo:
        where.memo[memo] = eligible_nodes(constraint, pod, where.nodes)
    found: Mask = where.memo[memo]
    return found


@dataclass
class _Kind:
    """Counts of one constraint of one pod kind, by domain; −1 where a domain takes no part."""

    nodes: Mask
    domains: NDArray[np.int64]
    counts: NDArray[np.int64]
    takes_part: Mask

    def floor(self, minimum: int) -> int:
        parts = self.counts[self.takes_part]
        return 0 if len(parts) < max(1, minimum) else int(parts.min())


class _Spread:
    def __init__(self, world: World) -> None:
        self._world = world
        self.is_idle = world.nobody(lambda spec: any(c.hard for c in spec.spread))
        self._counter = Counter(world)
        self._kinds: dict[tuple[str, int, SpreadConstraint], tuple[Pod, _Kind]] = {}
        self._sieve: Sieve[tuple[_Kind, Pod, SpreadConstraint]] = Sieve()

    def _kind(self, pod: Pod, c: SpreadConstraint) -> _Kind:
        key = (pod.namespace, id(pod.spec), c)
        if key not in self._kinds:
            nodes = self._world.kept(
                ("eligible", spread_features(c, pod)),
                lambda: eligible_nodes(c, pod, self._world.nodes),
            )
            domains, names = self._world.domains(c.topology_key)
            takes_part = np.zeros(len(names), dtype=np.bool_)
            takes_part[domains[nodes]] = True
            kind = _Kind(nodes, domains, np.zeros(len(names), dtype=np.int64), takes_part)
            self._kinds[key] = (pod, kind)
            self._sieve.add(c.selector, (kind, pod, c))
            for p, i, n in self._counter.history(c.selector):
                self._count(kind, pod, c, p, i, n)
        return self._kinds[key][1]

    @staticmethod
    def _count(kind: _Kind, owner: Pod, c: SpreadConstraint, p: Pod, i: int, n: int) -> None:
        if kind.nodes[i] and counts_towards(c, owner, p):
            kind.counts[kind.domains[i]] += n

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        self._counter.note(pod, node, times)
        for kind, owner, c in self._sieve.find(pod.labels):
            self._count(kind, owner, c, pod, node, times)

    def opens(self, pod: Pod) -> Mask | None:
        constraints = hard_constraints(pod)
        if not constraints:
            return None
        mask = np.ones(len(self._world.nodes), dtype=np.bool_)
        for c in constraints:
            mask &= self._world.domains(c.topology_key)[0] >= 0
        return mask

    def allows(self, pod: Pod) -> Mask | None:
        constraints = hard_constraints(pod)
        if not constraints:
            return None
        mask = np.ones(len(self._world.nodes), dtype=np.bool_)
        for c in constraints:
            kind = self._kind(pod, c)
            own = int(c.matches(pod.labels))
            room = kind.floor(c.min_domains) + c.max_skew - own
            # A last place for nodes without the key, which −1 finds.
            level = np.append(kind.counts <= room, False)
            mask &= level[kind.domains]
        return mask

    def level(self, pod: Pod, counts: NDArray[Any]) -> int | None:
        """Return how many equal pods come in all; whatever the order, they end up level.

        The floor ends where the domain that takes part with the least room is full.
        """
        constraints = hard_constraints(pod)
        if not constraints:
            return int(counts.sum())
        (c, *others) = constraints
        kind = self._kind(pod, c)
        beside = counts[~kind.nodes].any()
        if others or beside or not c.matches(pod.labels):
            return None
        room = np.zeros(len(kind.counts), dtype=np.int64)
        np.add.at(room, kind.domains[kind.nodes], counts[kind.nodes].astype(np.int64))
        full = _Kind(kind.nodes, kind.domains, kind.counts + room, kind.takes_part)
        most = full.floor(c.min_domains) + c.max_skew
        return int(np.clip(most - kind.counts, 0, room).sum())


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """count(d) − min count ≤ maxSkew in every domain d that takes a new pod."""

    name: str = "topology-spread"

    def track(self, world: World) -> _Spread:
        return _Spread(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        done: set[tuple[str, str, int, SpreadConstraint, str]] = set()
        nodes = outcome.scene.nodes
        known: dict[tuple[str, int, SpreadConstraint], dict[str, int]] = {}
        for p, i in outcome.new_pods:
            for c in hard_constraints(p):
                here = nodes[i].labels.get(c.topology_key)
                if here is None:
                    yield Violation(
                        self.name, f"pod {p.key}", f"{nodes[i].name} has no {c.topology_key}"
                    )
                    continue
                case = (p.namespace, str(p.group), id(p.spec), c, here)
                if case in done:
                    continue
                done.add(case)
                kind = (p.namespace, id(p.spec), c)
                if kind not in known:
                    known[kind] = counts_of(outcome, p, c)
                counts = known[kind]
                floor = 0 if len(counts) < max(1, c.min_domains) else min(counts.values())
                if counts.get(here, 0) - floor > c.max_skew:
                    yield Violation(
                        self.name,
                        f"pod {p.key}",
                        f"{c.topology_key} {here} holds {counts.get(here, 0)} of its kind where "
                        f"the least holds {floor}; maxSkew is {c.max_skew}",
                    )

    def constrain(self, board: "Board") -> None:
        for s in board.shapes:
            for c in hard_constraints(s.sample):
                self._level(board, s, c)

    def _level(self, board: "Board", s: "Shape", c: SpreadConstraint) -> None:
        world = board.world
        domains, names = world.domains(c.topology_key)
        takes_part = taking_part(c, s.sample, world)
        base = standing_counts(world, s.sample, c)
        parts = sorted({int(d) for d in domains[takes_part]})
        adds = additions(board, s, c, domains, takes_part)
        floor = None
        if len(parts) >= max(1, c.min_domains):
            top = max(base) + sum(v.upper for d in adds.values() for k, v in d if k > 0)
            floor = board.integer(0, top, f"least {s.label} {c.topology_key}")
            for d in parts:
                board.at_most(
                    [(1, floor.var), *((-k, v.var) for k, v in adds.get(d, ()))],
                    base[d], self.name, f"{s.label} least {names[d]}",
                )  # fmt: skip
        for d, cells in board.cells_by_domain(s, domains).items():
            if d < 0:
                board.at_most([(1, v) for v in cells], 0, self.name, s.label)
                continue
            here = board.present(s, c.topology_key, d, cells)
            terms = [(k, v.var) for k, v in adds.get(d, ())]
            if floor is not None:
                terms.append((-1, floor.var))
            board.at_most(
                terms, c.max_skew - base[d], self.name, f"{s.label} {names[d]}", given=[here]
            )


def counts_of(outcome: Outcome, pod: Pod, c: SpreadConstraint) -> dict[str, int]:
    """Return how many pods of the kind stand in each domain that takes part, after the plan."""
    nodes = outcome.scene.nodes
    takes_part = taking_part(c, pod, outcome.scene)
    known = outcome.scene.once(f"eligible domains by {c.topology_key}", _no_domains)
    if id(takes_part) not in known:
        parts = np.flatnonzero(takes_part).tolist()
        known[id(takes_part)] = dict.fromkeys((nodes[i].labels[c.topology_key] for i in parts), 0)
    counts = dict(known[id(takes_part)])
    for q, j in _who_may_match(outcome, c):
        if takes_part[j] and counts_towards(c, pod, q):
            counts[nodes[j].labels[c.topology_key]] += 1
    return counts


def _no_domains(_: Scene) -> dict[int, dict[str, int]]:
    """Domains that take part, by the mask of nodes that do; the masks live as long as the scene."""
    return {}


def _who_may_match(outcome: Outcome, c: SpreadConstraint) -> Iterable[tuple[Pod, int]]:
    """Return the pods that stand after the plan; only those with a label that they must have."""
    if c.selector is None:
        return ()
    stay = outcome.scene.once("who stays", _history)
    if outcome.kept_history is None:
        outcome.kept_history = History((p, i, 1) for p, i in outcome.new_pods)
    assert isinstance(outcome.kept_history, History)
    come = outcome.kept_history.of(c.selector)
    gone = outcome.evicted
    return (*((p, i) for p, i, _ in stay.of(c.selector) if p.key not in gone),
            *((p, i) for p, i, _ in come))  # fmt: skip


def _history(scene: Scene) -> History:
    return History((p, i, 1) for p, i in scene.staying)


def standing_counts(world: World, pod: Pod, c: SpreadConstraint) -> list[int]:
    """Return how many pods of the kind stand in each domain before the plan."""
    domains, names = world.domains(c.topology_key)
    takes_part = taking_part(c, pod, world)
    base = [0] * len(names)
    for p, i in world.present:
        if takes_part[i] and counts_towards(c, pod, p):
            base[domains[i]] += 1
    return base


def additions(
    board: "Board",
    s: "Shape",
    c: SpreadConstraint,
    domains: NDArray[np.int64],
    takes_part: Mask,
) -> "dict[int, list[tuple[int, Bounded]]]":
    """What the plan adds to each domain's count (and takes from it), with upper bounds."""
    adds: dict[int, list[tuple[int, Bounded]]] = {}
    for t in board.shapes:
        if counts_towards(c, s.sample, t.sample):
            for cls, var in board.cells(t):
                if takes_part[cls.nodes[0]]:
                    d = int(domains[cls.nodes[0]])
                    adds.setdefault(d, []).append((1, board.bounded(var)))
    for unit in board.units:
        stands = unit.node >= 0 and takes_part[unit.node]
        if stands and counts_towards(c, s.sample, unit.sample):
            lost = board.bounded(board.lost(unit))
            adds.setdefault(int(domains[unit.node]), []).append((-1, lost))
    return adds
