"""Sections 1 to 3: capacity, limits, demand, dues, entitlements, and who is in or out.

Readings of the contract that are fixed here:

* R counts no terminating foreign pods, and is never negative.
* A queue is *limited* in r where its capability names r or guarantees leave its realCap below R;
  a capability may name ``pods``.
* A member that fits no node of the emptied cluster alone is passed over when the minimum of a group
  is picked for demand. A running group stays where it is while its missing or elastic members are
  tried; elastic members are tried one after the other, in rank order, and skipped if they fail.
* A broken group whose grace is over and that could not run is *lost*: every plan gives it up. It
  makes no demand and has no items, else it would push others out of what is theirs afterwards.
* A due of an inner queue that does not name r is the sum over its children, unlimited if one is.
* With ``literal_deserved`` a leaf names 0 wherever another queue names r.
* Limits of queues, and the ban on non-preemptible use beyond ``deserved``, hold for demand as well.
"""

from collections.abc import Collection
from fractions import Fraction

from apportion.models import UNLIMITED, Config, Snapshot
from oracle.amount import Vec, minus, plus
from oracle.cluster import BROKEN, ROOT, Cluster
from oracle.items import Item, Name, items_of, leaf_order
from oracle.placing import can_be_placed

Fill = Fraction | float
Row = dict[Name, tuple[Item, bool, Fill]]
"""The items of a queue in their order, each with: is it in, and its fill."""


class Standing:
    """What the queues of a snapshot are due, before any plan."""

    def __init__(self, cluster: Cluster) -> None:
        c = self.cluster = cluster
        every = range(len(c.queues))
        self.root = self._root()
        self.guarantee: list[Vec] = list(c.own_guarantee)
        self.real_cap: list[Vec] = [c.zero for _ in every]
        self._share_real_cap(ROOT, self.root)
        self.limit: list[Vec] = [
            tuple(min(c.capability[q].get(r, v), v) for r, v in enumerate(self.real_cap[q]))
            for q in every
        ]
        self.limited: list[tuple[int, ...]] = [
            tuple(
                r
                for r in range(c.slot + 1)
                if r in c.capability[q] or self.real_cap[q][r] < self.root[r]
            )
            for q in every
        ]
        self.use = [self._running_in(q) for q in every]
        """Running requests (and pods) of each queue's subtree, now."""
        self.named_somewhere = {r for d in c.deserved for r in d}
        self.due: list[Vec] = [c.zero for _ in every]
        self._sum_dues(ROOT)
        self.could_run: dict[int, tuple[int, ...]] = {}
        """Pending pods, per group, that make demand."""
        gone = c.evictable
        for g in range(len(c.groups)):
            pods = self._could_start(g, gone)
            if pods is not None:
                self.could_run[g] = pods
        self.demand: list[Vec] = [c.zero for _ in every]
        self._sum_demand(ROOT)
        self.e: list[list[Fraction]] = [[Fraction(0)] * c.slot for _ in every]
        for r in range(c.slot):
            self._divide(ROOT, r, Fraction(self.root[r]))
        self.e_floor = [tuple(int(x) for x in row) for row in self.e]
        self._rows: dict[tuple[int, frozenset[int]], Row] = {}
        self._may_start = [self._startable_in(q) for q in every]
        self._kept: dict[frozenset[int], frozenset[int]] = {}

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
        c, children = self.cluster, self.cluster.children[parent]
        wished = c.sum_of(c.own_guarantee[q] for q in children)
        for q in children:
            self.guarantee[q] = tuple(
                g * a // w if w > a else g
                for g, a, w in zip(c.own_guarantee[q], amount, wished, strict=True)
            )
        kept = c.sum_of(self.guarantee[q] for q in children)
        for q in children:
            self.real_cap[q] = tuple(
                max(a - k, 0) + g for a, k, g in zip(amount, kept, self.guarantee[q], strict=True)
            )
            self._share_real_cap(q, self.real_cap[q])

    def _running_in(self, q: int) -> Vec:
        c = self.cluster
        return c.sum_of(c.size[i] for i in c.ours if q in self.path_of(i))

    def names(self, q: int, r: int) -> bool:
        """Say whether the due of q in r is named, by q or below it."""
        c = self.cluster
        if r in c.deserved[q] or q in c.stray:
            return True
        if c.children[q]:
            return any(self.names(k, r) for k in c.children[q] if k not in c.stray)
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
            elif r not in self.named_somewhere or q in c.stray:
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
        pending = sorted(c.pending[g], key=lambda i: (not can_be_placed(c, (i,), gone), c.rank(i)))
        minimum = [i for i in c.minimum_of(g, (*c.running[g], *pending)) if i in c.allowed]
        if not c.satisfies(g, (*c.running[g], *minimum)):
            return None
        if minimum and not self._could_all_start(g, minimum, gone):
            return None
        chosen = minimum
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
        return can_be_placed(c, pods, gone)

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
        return [c.resources[r] for r, due in c.deserved[q].items() if added[r] and use[r] > due]

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
        self.demand[q] = tuple(map(min, out, self.limit[q]))
        return self.demand[q]

    def is_lost(self, g: int) -> bool:
        """Say whether every plan gives the group up."""
        c = self.cluster
        return c.state[g] == BROKEN and c.grace_over[g] and g not in self.could_run

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
        for q in children:
            self.e[q][r] = got[q]
            self._divide(q, r, got[q])

    # section 3

    def given_up(self, started: frozenset[int]) -> frozenset[int]:
        """Return the pods of broken groups whose grace is over and that the plan does not save."""
        if started not in self._kept:
            c = self.cluster
            self._kept[started] = frozenset(
                i
                for g, state in enumerate(c.state)
                if state == BROKEN and c.grace_over[g] and not started & set(c.pending[g])
                for i in c.running[g]
            )
        return self._kept[started]

    def _startable_in(self, q: int) -> frozenset[int]:
        c = self.cluster
        return frozenset(
            i for g, leaf in enumerate(c.queue_of) if q in c.path[leaf] for i in c.pending[g]
        )

    def row(self, q: int, started: frozenset[int]) -> Row:
        """Return the items of queue q under a plan that starts these pods."""
        key = (q, started & self._may_start[q])
        if key not in self._rows:
            self._rows[key] = self._make_row(q, key[1])
        return self._rows[key]

    def _make_row(self, q: int, started: frozenset[int]) -> Row:
        c = self.cluster
        order: list[Item]
        if c.children[q]:
            below = [x for k in c.children[q] for x in self.row(k, started).values()]
            order = [x for x, _, _ in sorted(below, key=lambda t: (not t[1], t[2], t[0].key))]
        else:
            order = leaf_order(
                c,
                q,
                [
                    x
                    for g, leaf in enumerate(c.queue_of)
                    if leaf == q and not self.is_lost(g)
                    for x in items_of(c, g, started & set(c.pending[g]))
                ],
            )
        prefix = c.zero
        out: Row = {}
        needs_fill = c.parent[q] != ROOT
        for x in order:
            prefix = plus(prefix, x.size)
            is_in = all(prefix[r] <= self.e_floor[q][r] for r in x.asks)
            fill: Fill = Fraction(0)
            if needs_fill:
                fill = max((ratio(prefix[r], self.e[q][r]) for r in x.asks), default=Fraction(0))
            out[x.name] = (x, is_in, fill)
        return out

    def is_in_at(self, q: int, name: Name, started: frozenset[int]) -> bool:
        found = self.row(q, started).get(name)
        return found is not None and found[1]

    def is_in(self, name: Name, started: frozenset[int]) -> bool:
        """Say whether the item is in at every level below the root."""
        c = self.cluster
        return all(self.is_in_at(q, name, started) for q in c.path[c.queue_of[name[0]]])


def ratio(a: int, b: Fraction) -> Fill:
    if b > 0:
        return Fraction(a) / b
    return Fraction(0) if a == 0 else float("inf")


def water_filling(wish: dict[int, tuple[Fraction, int]], rest: Fraction) -> dict[int, Fraction]:
    """Raise level × weight until the rest is used up, each capped by its wish."""
    out = dict.fromkeys(wish, Fraction(0))
    open_ = {q for q, (cap, _) in wish.items() if cap > 0}
    while open_ and rest > 0:
        weights = sum(wish[q][1] for q in open_)
        step = min(rest / weights, *((wish[q][0] - out[q]) / wish[q][1] for q in open_))
        for q in open_:
            out[q] += step * wish[q][1]
        rest -= step * weights
        open_ = {q for q in open_ if out[q] < wish[q][0]}
    return out


class Report:
    """The same by name, for tests and for people."""

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self.standing = standing_of(snapshot, config)
        c = self.cluster = self.standing.cluster
        self._index: dict[str, int] = {q.name: i for i, q in reversed(list(enumerate(c.queues)))}
        self.capacity = dict(zip(c.resources, c.capacity, strict=False))
        self.root = dict(zip(c.resources, self.standing.root, strict=False))
        self.could_run = {c.groups[g].key for g in self.standing.could_run}

    def _by_name(self, row: Vec) -> dict[str, int]:
        return dict(zip(self.cluster.resources, row, strict=False))

    def demand(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.demand[self._index[queue]])

    def limit(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.limit[self._index[queue]])

    def due(self, queue: str) -> dict[str, int]:
        return self._by_name(self.standing.due[self._index[queue]])

    def entitlement(self, queue: str) -> dict[str, Fraction]:
        row = self.standing.e[self._index[queue]]
        return dict(zip(self.cluster.resources, row, strict=True))

    def row(
        self, queue: str, started: frozenset[str] = frozenset()
    ) -> list[tuple[str, bool, Fill]]:
        """Return (name, is in, fill) in order; a minimum has its group's name, else the pod's.

        Fills are computed for queues with a parent only; a top queue's are 0.
        """
        c = self.cluster
        pods = frozenset(i for i, p in enumerate(c.pods) if p.key in started)
        row = self.standing.row(self._index[queue], pods)
        return [
            (c.groups[g].key if i < 0 else c.pods[i].key, is_in, fill)
            for (g, i), (_, is_in, fill) in row.items()
        ]


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
