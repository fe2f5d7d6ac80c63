"""The scene: everything that the plain-Python halves derive from a snapshot, computed once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..models import Config, Node, Pod, PodKey, PodSpec, PodState, QueueName, Snapshot
from .api import Constraint, Filter, Holding, NodeFeatures, Telling, Tracked
from .bonds import Bonds
from .columns import Columns, numbered, sums_by
from .device_room import leeway
from .ledger import Ledger, Matrix, ledger_of
from .members import Roster
from .memory import Memory
from .podset import PodSet
from .tracker import World
from .tree import Tree

Mask = NDArray[np.bool_]
T = TypeVar("T")


class Scene:
    """A snapshot, a configuration and a set of rules, with what follows from them.

    ``memory``: what the scene of the cycle before has left, and this one leaves to the next.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        config: Config,
        rules: Sequence[object],
        memory: Memory | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._memory = memory if memory is not None else Memory()
        self.config = config
        self.rules = tuple(rules)
        self._masks: dict[PodSpec, Mask] = {}
        self._mask_of_id: dict[int, tuple[PodSpec, Mask]] = {}
        self._rows: dict[int, tuple[PodSpec, Matrix]] = {}
        self._groupings: dict[NodeFeatures, tuple[NDArray[np.int64], list[int]]] = {}
        self._made: dict[str, Any] = {}
        self.cut_short = False
        """A search for places met its step limit: what it did not find may exist all the same."""

    def once(self, name: str, make: "Callable[[Scene], T]") -> T:
        """Return what follows from the scene, made once; it goes with the scene."""
        if name not in self._made:
            self._made[name] = make(self)
        made: T = self._made[name]
        return made

    def forget(self) -> None:
        """Let go what was found out: it knows the scene, which would know it for ever."""
        self._made.clear()
        self.memo.clear()

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return self.snapshot.nodes

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of a node by name."""
        return {n.name: i for i, n in enumerate(self.nodes)}

    @cached_property
    def columns(self) -> Columns:
        """The pods of the snapshot as arrays."""
        return Columns(self.snapshot, self.index)

    @cached_property
    def ledger(self) -> Ledger:
        return ledger_of(self.snapshot, self.columns)

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.snapshot.queues)

    @cached_property
    def roster(self) -> Roster:
        self._memory.roster = Roster(self.snapshot, self._memory.roster)
        return self._memory.roster

    @cached_property
    def allocatable(self) -> Matrix:
        """Allocatable amounts, one row a node."""
        return self.ledger.rows([n.allocatable for n in self.nodes])

    def asks(self, field: str) -> bool:
        """Say whether the spec of any pod says something in a field."""
        name = f"asks {field}"
        return self.once(name, lambda scene: any(getattr(s, field) for s in scene.columns.specs))

    @cached_property
    def spec_rows(self) -> Matrix:
        """What a pod of each spec takes, its slot included; one row a spec, by number."""
        rows = self.ledger.rows([s.requests for s in self.columns.specs])
        rows[:, self.ledger.pods] += 1
        return rows

    def row(self, pod: Pod) -> Matrix:
        """Return the pod's requests and its slot as a row."""
        known = self._rows.get(id(pod.spec))
        if known is not None:
            return known[1]
        row = self.ledger.row(pod.spec.requests)
        row[self.ledger.pods] += 1
        self._rows[id(pod.spec)] = (pod.spec, row)
        return row

    def rows(self, pods: Iterable[Pod]) -> Matrix:
        """Return the sum of the pods' rows."""
        counts: dict[int, int] = {}
        samples: dict[int, Pod] = {}
        for p in pods:
            spec = id(p.spec)
            counts[spec] = counts.get(spec, 0) + 1
            samples[spec] = p
        out = self.ledger.zero()
        for spec, p in samples.items():
            out = out + counts[spec] * self.row(p)
        return out

    def item_rows(self, items: Sequence[Sequence[Pod]]) -> Matrix:
        """Return what each of some sets of pods takes together, one row a set."""
        number = self.columns.number
        specs = np.array([number[id(p.spec)] for pods in items for p in pods], dtype=np.int64)
        sizes = np.array([len(pods) for pods in items], dtype=np.int64)
        sets = np.repeat(np.arange(len(items)), sizes)
        return sums_by(sets, self.spec_rows[specs], len(items))

    @cached_property
    def holders(self) -> tuple[tuple[Pod, int], ...]:
        """Every pod that holds room, terminating ones too, with its node's index.

        Pods on nodes that the snapshot does not know hold nothing that matters to a plan.
        """
        pods, of = self.snapshot.pods, self.columns
        found = np.flatnonzero(of.holding)
        return tuple(zip((pods[k] for k in found.tolist()), of.node[found].tolist(), strict=True))

    @cached_property
    def reserved(self) -> tuple[tuple[Pod, int], ...]:
        """Foreign pods that another scheduler has nominated: their place is taken."""
        return tuple(
            (p, self.index[p.nominated])
            for p in self.snapshot.pods
            if not p.ours and p.state is PodState.PENDING and p.nominated in self.index
        )

    @cached_property
    def staying(self) -> tuple[tuple[Pod, int], ...]:
        """What of it is still there once terminating pods are gone."""
        if not self.columns.terminating.any():
            return self.before
        return tuple([of for of in self.before if of[0].state is not PodState.TERMINATING])

    @cached_property
    def before(self) -> tuple[tuple[Pod, int], ...]:
        """Everything that stands or is reserved before the plan."""
        return (*self.holders, *self.reserved)

    @cached_property
    def memo(self) -> dict[object, Any]:
        """What rules keep of what follows from nodes and ``before``."""
        return {}

    @cached_property
    def offered(self) -> Matrix:
        """What may be charged on each node at most, one row a node."""
        return self.allocatable + leeway(self.snapshot, self.ledger)

    @cached_property
    def room_now(self) -> Matrix:
        """What is free at this moment, one row a node; may be negative."""
        room = self.offered - self.taken(self.columns.holding)
        for p, i in self.reserved:
            room[i] = room[i] - self.row(p)
        return room

    @cached_property
    def room_later(self) -> Matrix:
        """What is free once terminating pods are gone."""
        return self.room_now + self.taken(self.columns.holding & self.columns.terminating)

    def taken(self, which: NDArray[np.bool_]) -> Matrix:
        """Return what some of the pods on nodes hold, one row a node."""
        found, of = np.flatnonzero(which), self.columns
        return sums_by(of.node[found], self.spec_rows[of.spec[found]], len(self.nodes))

    @cached_property
    def group_numbers(self) -> NDArray[np.int64]:
        """The place of each pod's group in the snapshot; −1 for foreign pods."""
        number: dict[Any, int] = {g.key: k for k, g in enumerate(self.snapshot.groups)}
        return np.array([number.get(p.group, -1) for p in self.snapshot.pods], dtype=np.int64)

    def by_group(self, of: Iterable[bool]) -> Mask:
        """Return for each pod what is said of its group, in the order of the snapshot's groups.

        Of foreign pods it is not so.
        """
        flags: Mask = np.array([*of, False], dtype=np.bool_)
        return flags[self.group_numbers]

    @cached_property
    def queue_numbers(self) -> NDArray[np.int64]:
        """The number of each pod's queue in the tree; −1 for foreign pods and unknown queues."""
        number: dict[Any, int] = {q: k for k, q in enumerate(self.tree.queues)}
        of = np.array([*(number.get(g.queue, -1) for g in self.snapshot.groups), -1])
        return of[self.group_numbers]

    def own_sums(self, which: NDArray[np.bool_]) -> dict[QueueName, Matrix]:
        """Return what some of our pods take together, by the queue that they are in."""
        found = np.flatnonzero(which & (self.queue_numbers >= 0))
        size, specs = len(self.tree.queues), len(self.columns.specs)
        pairs = self.queue_numbers[found] * specs + self.columns.spec[found]
        counts = np.bincount(pairs, minlength=size * specs).reshape(size, specs)
        own = counts.astype(self.spec_rows.dtype) @ self.spec_rows
        return {q: own[k] for k, q in enumerate(self.tree.queues)}

    def sums_by_queue(self, which: NDArray[np.bool_]) -> dict[QueueName, Matrix]:
        """Return what some of our pods take together, by queue and everything below it."""
        out = {q: self.ledger.zero() for q in self.tree.queues}
        for queue, own in self.own_sums(which).items():
            for q in self.tree.path(queue) if own.any() else ():
                out[q] = out[q] + own
        return out

    @cached_property
    def pods(self) -> Mapping[PodKey, Pod]:
        return self.snapshot.pods_by_key

    @cached_property
    def ties(self) -> tuple[Tracked, ...]:
        """Rules that tie pods together."""
        return tuple(r for r in self.rules if isinstance(r, Tracked))

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """Rules that judge a plan."""
        return tuple(r for r in self.rules if isinstance(r, Constraint))

    @cached_property
    def holding(self) -> tuple[Holding, ...]:
        """Rules that keep whole groups from starting."""
        return tuple(r for r in self.rules if isinstance(r, Holding))

    @cached_property
    def bonds(self) -> Bonds:
        """Pods that ask to be near each other; none without the rule that keeps them so."""
        return Bonds(self.snapshot if any(isinstance(r, Telling) for r in self.rules) else None)

    @cached_property
    def asked_labels(self) -> frozenset[str]:
        """Labels of pods that some affinity term or spread constraint asks for."""
        keys: set[str] = set()
        for spec in self.columns.specs:
            preferred = (*spec.preferred_affinity, *spec.preferred_anti_affinity)
            terms = (*spec.affinity, *spec.anti_affinity, *(t for _, t in preferred))
            for selector in (*(t.selector for t in terms), *(c.selector for c in spec.spread)):
                keys |= selector.keys() if selector is not None else set()
        return frozenset(keys)

    @cached_property
    def filters(self) -> tuple[Filter, ...]:
        return tuple(r for r in self.rules if isinstance(r, Filter))

    def grouping(self, features: NodeFeatures) -> tuple[NDArray[np.int64], list[int]]:
        """Return a class number per node and one node of each class, by what a filter looks at."""
        if features not in self._groupings:
            numbers = np.zeros(len(self.nodes), dtype=np.int64)
            for values in self._looked_at(features):
                own = numbered(values)[0]
                numbers = numbers * (int(own.max(initial=0)) + 1) + own
                # Numbers stay small, whatever comes to be multiplied.
                numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
            found, samples = np.unique(numbers, return_index=True)
            order = np.argsort(samples)
            rank = np.empty(len(found), dtype=np.int64)
            rank[order] = np.arange(len(found))
            self._groupings[features] = (rank[numbers], samples[order].tolist())
        return self._groupings[features]

    def _looked_at(self, features: NodeFeatures) -> Iterator[list[Any]]:
        """Yield, for each feature that counts, what it is on each node."""
        nodes = self.nodes
        for k in sorted(features.labels):
            yield [n.labels.get(k) for n in nodes]
        for d in sorted(features.drivers):
            yield [d in n.drivers for n in nodes]
        if features.taints:
            yield [n.taints for n in nodes]
        if features.state:
            yield [(n.ready, n.unschedulable, n.elsewhere) for n in nodes]
        if features.name:
            yield [n.name for n in nodes]
        if features.devices:
            yield [(n.devices, n.hands_out, n.device_resource) for n in nodes]
        if features.cells:
            yield [n.numa for n in nodes]
        if features.pools:
            yield [(bool(n.pool_devices) and n.name, tuple(n.plugged.items())) for n in nodes]
        for r in sorted(features.plugged):
            yield [n.is_plugged(r) for n in nodes]
        if features.blocks:
            yield [n.blocks for n in nodes]

    def mask(self, pod: Pod) -> Mask:
        """Say on which nodes no filter refuses the pod."""
        held = self._mask_of_id.get(id(pod.spec))
        if held is not None:
            return held[1]
        if pod.spec not in self._masks:
            mask: Mask = np.ones(len(self.nodes), dtype=np.bool_)
            pods = PodSet((pod,))
            for rule in self.filters:
                numbers, samples = self.grouping(rule.sees(pods))
                fits = [rule.refuse(pods, self.nodes[i]) is None for i in samples]
                if not all(fits):
                    mask &= np.array(fits, dtype=np.bool_)[numbers]
            self._masks[pod.spec] = mask
        self._mask_of_id[id(pod.spec)] = (pod.spec, self._masks[pod.spec])
        return self._masks[pod.spec]

    def refusals(self, pod: Pod) -> dict[str, dict[str, int]]:
        """Count, by filter and reason, nodes that refuse the pod (the first that refuses counts).

        Nodes that a filter does not tell apart are asked once.
        """
        out: dict[str, dict[str, int]] = {}
        pods = PodSet((pod,))
        left: Mask = np.ones(len(self.nodes), dtype=np.bool_)
        for rule in self.filters:
            numbers, samples = self.grouping(rule.sees(pods))
            sizes = np.bincount(numbers[left], minlength=len(samples))
            refused = np.zeros(len(samples), dtype=np.bool_)
            for k, i in enumerate(samples):
                reason = rule.refuse(pods, self.nodes[i]) if sizes[k] else None
                if reason is not None:
                    refused[k] = True
                    same = out.setdefault(rule.name, {})
                    same[reason.message] = same.get(reason.message, 0) + int(sizes[k])
            left &= ~refused[numbers]
        return out

    def world(self, evicted: Iterable[PodKey] = (), leaving: Mask | None = None) -> World:
        """Return the pods as they will stand once terminating and evicted ones are gone.

        ``leaving``: who else will be gone, said of each pod of the snapshot.
        """
        gone = set(evicted)
        present = self.staying if leaving is None else self._all_but(leaving)
        if gone:
            present = [of for of in present if of[0].key not in gone]
        world = World(self.nodes, present, self.before, self.memo, self.bonds)
        world.specs = self.columns.specs
        world.claims = self.snapshot.claims_by_key
        world.used_claims = self.used_claims
        world.quotas = self.snapshot.quotas
        return world

    def _all_but(self, leaving: Mask) -> Sequence[tuple[Pod, int]]:
        """Return what stays but for some pods of the snapshot."""
        pods, of = self.snapshot.pods, self.columns
        found = np.flatnonzero(of.holding & ~of.terminating & ~leaving)
        stay = [pods[k] for k in found.tolist()]
        return [*zip(stay, of.node[found].tolist(), strict=True), *self.reserved]

    @cached_property
    def used_claims(self) -> frozenset[str]:
        """Claims of several pods that some pod on a node has."""
        return frozenset(c.claim for p, _ in self.holders for c in p.spec.claims if c.claim)
