"""Sections 1 to 3: capacity, limits, demand, dues, entitlements, and who is in or out.

Readings of the contract that are fixed here:

* A queue is *limited* in r where its or an ancestor's capability names r, or any queue has a
  guarantee of r; a capability may name ``pods``.
* Elastic members are tried for demand in rank order, and skipped if they fail.
* A group is *lost* only if every plan does give it up: budgets and critical pods may forbid it.
* A due of an inner queue that does not name r is the sum over its children, unlimited if one is.
* With ``literal_deserved`` a leaf names 0 wherever another queue names r.
* "Inside every limit and due" is meant for demand beside the work that cannot be evicted; the due
  is the ban on non-preemptible use beyond ``deserved``.
* Of a resource that nobody names, weight 0 takes what is left after all siblings of any priority.
* Work that runs in an inner queue itself has no child to be out at: it is walked there as in, with
  fill 0, before what children have.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

from apportion.models import UNLIMITED, Config, Snapshot
from oracle.allocating import beginners
from oracle.amount import Vec, minus, plus
from oracle.cluster import ROOT, Cluster
from oracle.filling import water_filling
from oracle.inner import InnerOrder
from oracle.items import Item, Name, items_of, leaf_order
from oracle.placing import can_be_placed, could_be_met

Fill = Fraction | float
Measure = Sequence[int]
NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item stands in a queue."""

    item: Item
    prefix: Vec
    is_in: bool
    fill: Fill

    def is_beyond(self, most: Measure, asks: Collection[int]) -> bool:
        """Say whether the prefix exceeds a measure on a resource that item and claimant ask for."""
        return any(self.prefix[r] > most[r] for r in self.item.asks if r in asks)


Row = dict[Name, Place]
"""The items of a queue in their order."""


class Standing:
    """What the queues of a snapshot are due, before any plan."""

    def __init__(self, cluster: Cluster) -> None:
        c = self.cluster = cluster
        every = range(len(c.queues))
        self.root = self._root()
        self.guarantee: list[Vec] = list(c.own_guarantee)
        self.real_cap: list[Vec] = [c.zero for _ in every]
        guaranteed = c.sum_of(c.own_guarantee[q] for q in every)
        self._share_real_cap(
            ROOT, tuple(v if g else UNLIMITED for v, g in zip(self.root, guaranteed, strict=True))
        )
        self.limit: list[Vec] = [
            tuple(min(c.capability[q].get(r, v), v) for r, v in enumerate(self.real_cap[q]))
            for q in every
        ]
        self.limited: list[tuple[int, ...]] = [
            tuple(r for r in range(c.slot + 1) if self.limit[q][r] < UNLIMITED) for q in every
        ]
        self.use = [self._running_in(q) for q in every]
        """Running requests (and pods) of each queue's subtree, now."""
        self.named_somewhere = {r for d in c.deserved for r in d}
        self.due: list[Vec] = [c.zero for _ in every]
        self._sum_dues(ROOT)
        self._kept: dict[frozenset[int], frozenset[int]] = {}
        self.could_run: dict[int, tuple[int, ...]] = {}
        """Pending pods, per group, that make demand."""
        given_up, begun = self.given_up(NOTHING), sorted(c.evictable & beginners(c))
        kept = (some for n in range(len(begun) + 1) for some in combinations(begun, n))
        cases = [c.evictable.difference(some) | given_up for some in kept]
        for g in range(len(c.groups)):
            claims = any(c.pods[i].spec.claims for i in c.pending[g])
            tried = (self._could_start(g, gone) for gone in cases[: None if claims else 1])
            found = [pods for pods in tried if pods is not None]
            if found:
                self.could_run[g] = max(found, key=len)
        self.demand: list[Vec] = [c.zero for _ in every]
        self._sum_demand(ROOT)
        self.e: list[list[Fraction]] = [[Fraction(0)] * c.slot for _ in every]
        for r in range(c.slot):
            self._divide(ROOT, r, Fraction(self.root[r]))
        self.e_floor = [tuple(int(x) for x in row) for row in self.e]
        self.measures: tuple[list[Measure], list[Measure]] = (
            [self._due_measure(q) for q in every],
            list(self.e_floor),
        )
        """By what a right is measured, per queue: the due, and the entitlement."""
        self._rows: dict[tuple[int, frozenset[int], frozenset[int]], Row] = {}
        self._members_of = [self._members_in(q) for q in every]
        self.losses_of: dict[int, list[tuple[frozenset[int], bool]]] = {}
        """What each group may lose, and whether that is all of it: remembered by the choice."""
        self.inner = InnerOrder(self)

    # section 2

    def _root(self) -> Vec:
        c = self.cluster
        out = c.capacity
        for i in c.sitting:
            if c.group_of[i] < 0 and c.nodes[c.node_of[i]].takes_pods:
                out = minus(out, c.size[i])
        for i in c.ours:
            if c.node_of[i] < 0 or not c.nodes[c.node_of[i]].takes_pods:
                out = plus(out, c.size[i])
        return (*(max(0, v) for v in out[: c.slot]), UNLIMITED)

    def _share_real_cap(self, parent: int, amount: Vec) -> None:
        """Fill realCap below the parent, whose limit is ``amount``; scale guarantees to fit."""
        c, children = self.cluster, self.cluster.children[parent]
        wished = c.sum_of(c.own_guarantee[q] for q in children)
        there = tuple(map(min, amount, self.root))
        for q in children:
            self.guarantee[q] = tuple(
                g * a // w if w > a else g
                for g, a, w in zip(c.own_guarantee[q], there, wished, strict=True)
            )
        kept = c.sum_of(self.guarantee[q] for q in children)
        for q in children:
            self.real_cap[q] = tuple(
                UNLIMITED if a >= UNLIMITED else max(a - k, 0) + g
                for a, k, g in zip(amount, kept, self.guarantee[q], strict=True)
            )
            cap = c.capability[q]
            limit = tuple(min(cap.get(r, v), v) for r, v in enumerate(self.real_cap[q]))
            self._share_real_cap(q, limit)

    def _running_in(self, q: int) -> Vec:
        c = self.cluster
        return c.sum_of(c.size[i] for i in c.ours if q in self.path_of(i))

    def names(self, q: int, r: int) -> bool:
        """Say whether the due of q in r is named, by q or below it."""
        c = self.cluster
        if r in c.deserved[q]:
            return True
        if c.children[q]:
            return any(self.names(k, r) for k in c.children[q])
        return c.config.literal_deserved and r in self.named_somewhere

    def _sum_dues(self, q: int) -> Vec:
        c = self.cluster
        below = [self._sum_dues(k) for k in c.children[q]]
        if q == ROOT:
            return c.zero
        out = []
        for r in range(c.slot):
            if r in c.deserved[q]:
                due = c.deserved[q][r]
            elif r not in self.named_somewhere:
                due = 0
            elif c.children[q]:
                due = min(sum(v[r] for v in below), UNLIMITED)
            else:
                due = 0 if c.config.literal_deserved else UNLIMITED
            out.append(due)
        self.due[q] = (*out, 0)
        return self.due[q]

    def _could_start(self, g: int, evictable: frozenset[int]) -> tuple[int, ...] | None:
        """Return the pending pods that could start alone beside what cannot be evicted."""
        c = self.cluster
        gone = evictable - set(c.running[g])
        if c.held[g]:
            return None
        pending = sorted(c.pending[g], key=c.rank)
        best = c.minimum_of(g, (*c.running[g], *pending))
        size = sum(i in c.allowed for i in best)
        tries: Iterable[tuple[int, ...]] = combinations(pending, size)
        if c.groups[g].choices:
            first = tuple(i for i in best if i in c.allowed)
            tries = chain([first], _tight(c, g, pending))
        for minimum in tries:
            if not c.satisfies(g, (*c.running[g], *minimum)):
                continue
            if not minimum or self._could_all_start(g, list(minimum), gone):
                break
        else:
            return None
        chosen = list(minimum)
        for i in sorted(set(pending) - set(minimum), key=c.rank):
            if self._could_all_start(g, [*chosen, i], gone):
                chosen = [*chosen, i]
        return tuple(chosen)

    def _could_all_start(self, g: int, pods: list[int], gone: frozenset[int]) -> bool:
        c = self.cluster
        kept = c.ours - gone
        added = c.sum_of(c.size[i] for i in pods)
        for q in c.path[c.queue_of[g]]:
            use = c.sum_of(c.size[i] for i in kept if q in self.path_of(i))
            if any(added[r] and use[r] + added[r] > self.limit[q][r] for r in self.limited[q]):
                return False
            if self.beyond_deserved(q, kept, pods):
                return False
        return can_be_placed(c, pods, gone, met=could_be_met(c, g))

    def beyond_deserved(self, q: int, kept: frozenset[int], started: Collection[int]) -> list[str]:
        """Say in which resources non-preemptible work that starts in q goes beyond ``deserved``."""
        c = self.cluster
        if not c.deserved[q]:
            return []
        new = [i for i in started if i in c.fixed_for_good and q in self.path_of(i)]
        if not new:
            return []
        old = [i for i in kept if i in c.fixed_for_good and q in self.path_of(i)]
        added = c.sum_of(c.size[i] for i in new)
        use = plus(added, c.sum_of(c.size[i] for i in old))
        named = [(r, due) for r, due in c.deserved[q].items() if r < c.slot]
        return [c.resources[r] for r, due in named if added[r] and use[r] > due]

    def path_of(self, pod: int) -> tuple[int, ...]:
        return self.cluster.path[self.cluster.queue_of[self.cluster.group_of[pod]]]

    def _sum_demand(self, q: int) -> Vec:
        c = self.cluster
        out = c.sum_of(self._sum_demand(k) for k in c.children[q])
        if q == ROOT:
            return out
        for g, leaf in enumerate(c.queue_of):
            if leaf == q:
                if not self.is_lost(g):
                    out = plus(out, c.sum_of(c.size[i] for i in c.running[g]))
                out = plus(out, c.sum_of(c.size[i] for i in self.could_run.get(g, ())))
        self.demand[q] = tuple(map(min, out, self.limit[q], self.root))
        return self.demand[q]

    def is_lost(self, g: int) -> bool:
        """Say whether every plan gives the group up."""
        c = self.cluster
        return g not in self.could_run and not self.given_up(NOTHING).isdisjoint(c.running[g])

    def _divide(self, parent: int, r: int, amount: Fraction) -> None:
        c, children = self.cluster, self.cluster.children[parent]
        first = {
            q: min(max(self.due[q][r], self.guarantee[q][r]), self.demand[q][r]) for q in children
        }
        rest = amount - sum(first.values())
        got = {q: Fraction(first[q]) for q in children}
        for priority in sorted({c.queues[q].priority for q in children}, reverse=True):
            wish = {
                q: (Fraction(self.demand[q][r] - first[q]), c.queues[q].weight)
                for q in children
                if c.queues[q].priority == priority and c.queues[q].weight > 0
            }
            for q, v in water_filling(wish, max(rest, Fraction(0))).items():
                got[q] += v
                rest -= v
        if r not in self.named_somewhere:
            wish = {
                q: (Fraction(self.demand[q][r] - first[q]), 1)
                for q in children
                if c.queues[q].weight == 0
            }
            for q, v in water_filling(wish, max(rest, Fraction(0))).items():
                got[q] += v
        for q in children:
            self.e[q][r] = got[q]
            self._divide(q, r, got[q])

    def _due_measure(self, q: int) -> Measure:
        """Return the due, but e of a resource that nobody names."""
        named, due, e = self.named_somewhere, self.due[q], self.e_floor[q]
        return [due[r] if r in named else e[r] for r in range(self.cluster.slot)]

    # section 3

    def given_up(self, started: frozenset[int]) -> frozenset[int]:
        """Return the pods that go for nobody in a plan that starts these."""
        if started not in self._kept:
            self._kept[started] = self.cluster.given_up(started)
        return self._kept[started]

    def _members_in(self, q: int) -> frozenset[int]:
        c = self.cluster
        return frozenset(
            i
            for g, leaf in enumerate(c.queue_of)
            if q in c.path[leaf]
            for i in (*c.pending[g], *c.running[g])
        )

    def row(self, q: int, started: frozenset[int], gone: frozenset[int] = NOTHING) -> Row:
        """Return the items of queue q under a plan that starts these pods.

        What is ``gone`` is left out; a plan's items are also those that it evicts.
        """
        key = (q, started & self._members_of[q], gone & self._members_of[q])
        if key not in self._rows:
            self._rows[key] = self._make_row(*key)
        return self._rows[key]

    def _make_row(self, q: int, started: frozenset[int], gone: frozenset[int]) -> Row:
        c = self.cluster
        order = leaf_order(
            c,
            q,
            [
                x
                for g, leaf in enumerate(c.queue_of)
                if leaf == q and not self.is_lost(g)
                for x in items_of(c, g, started & set(c.pending[g]), gone)
            ],
        )
        if c.children[q]:
            below = [p.item for k in c.children[q] for p in self.row(k, started, gone).values()]
            order = self.inner.ordered(q, [*order, *below])
        return self.places_in(q, order)

    def places_in(self, q: int, order: Sequence[Item]) -> Row:
        """Walk items in this order."""
        c = self.cluster
        prefix = c.zero
        out: Row = {}
        needs_fill = c.parent[q] != ROOT
        for x in order:
            prefix = plus(prefix, x.size)
            is_in = all(prefix[r] <= self.e_floor[q][r] for r in x.asks)
            fill: Fill = Fraction(0)
            if needs_fill:
                fill = max((ratio(prefix[r], self.e[q][r]) for r in x.asks), default=Fraction(0))
            out[x.name] = Place(x, prefix, is_in, fill)
        return out

    def is_in_at(
        self, q: int, name: Name, started: frozenset[int], gone: frozenset[int] = NOTHING
    ) -> bool:
        found = self.row(q, started, gone).get(name)
        return found is not None and found.is_in

    def is_in(self, name: Name, started: frozenset[int], gone: frozenset[int] = NOTHING) -> bool:
        """Say whether the item is in at every level below the root."""
        c = self.cluster
        return all(self.is_in_at(q, name, started, gone) for q in c.path[c.queue_of[name[0]]])


def _tight(c: Cluster, g: int, pending: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the sets of pending pods that are enough and have none to spare, small ones first."""
    for n in range(len(pending) + 1):
        for some in combinations(pending, n):
            there = (*c.running[g], *some)
            if c.satisfies(g, there) and not any(
                c.satisfies(g, [j for j in there if j != i]) for i in some
            ):
                yield some


def ratio(a: int, b: Fraction) -> Fill:
    if b > 0:
        return Fraction(a) / b
    return Fraction(0) if a == 0 else float("inf")


_latest: list[Standing] = []


def standing_of(snapshot: Snapshot, config: Config) -> Standing:
    """Return the standing of the snapshot, remembered for the last few."""
    for s in _latest:
        if s.cluster.snapshot is snapshot and s.cluster.config is config:
            return s
    made = Standing(Cluster(snapshot, config))
    _latest.insert(0, made)
    del _latest[4:]
    return made
