"""Section 4 as far as places play no part: gangs, limits, rights, budgets, guarantees, claims.

A *choice* is what a plan decides apart from places: who starts and who is evicted.

Readings of the contract that are fixed here:

* A victim is all that a group loses: whoever frees it has a right to all of these pods together.
* What an item asks for, not its group, is meant where v and g both ask for a resource.
* The zero-due rule needs a resource that g asks for and that its branch names; with
  ``literal_deserved`` a leaf names what others name.
* ``may_preempt`` is the group's.
* The floor of guarantees is asked for where a victim has no beneficiary by right (a).
* A broken group that stays, within its grace or not, may be a victim by right, as a whole.
* A queue above its limit starts nothing that asks for the resource, unless it ends within it.
* Non-preemptible work that starts is asked only about resources that it uses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from oracle.amount import Vec, minus, plus
from oracle.cluster import Cluster
from oracle.items import MINIMUM
from oracle.standing import Measure, Standing


@dataclass(frozen=True, slots=True)
class Unit:
    """What a group loses: all that runs, or single pods without which it stays whole."""

    group: int
    pods: frozenset[int]
    whole: bool


class Choice:
    """Who starts and who is evicted."""

    def __init__(
        self, standing: Standing, started: frozenset[int], evicted: frozenset[int]
    ) -> None:
        self.standing, self.started, self.evicted = standing, started, evicted
        c = self.cluster = standing.cluster
        self.given_up = standing.given_up(started)
        self.starters: dict[int, frozenset[int]] = {}
        for i in sorted(started):
            g = c.group_of[i]
            self.starters[g] = self.starters.get(g, frozenset()) | {i}
        self.losers: dict[int, frozenset[int]] = {}
        for i in sorted(evicted - self.given_up):
            g = c.group_of[i]
            self.losers[g] = self.losers.get(g, frozenset()) | {i}
        self._shape: list[str] = []
        self.units = [self._unit_of(g) for g in self.losers]
        self._rights: dict[tuple[int, Unit], str] = {}

    def _unit_of(self, h: int) -> Unit:
        c, lost = self.cluster, self.losers[h]
        stay = [i for i in c.running[h] if i not in lost]
        if c.satisfies(h, stay):
            return Unit(h, lost, False)
        if stay:
            self._shape.append(f"gang: {c.groups[h].key} loses a part of its minimum")
        return Unit(h, lost, True)

    @cached_property
    def use_after(self) -> list[Vec]:
        s, c = self.standing, self.cluster
        out = list(s.use)
        for i in self.started:
            for q in s.path_of(i):
                out[q] = plus(out[q], c.size[i])
        for i in self.evicted:
            for q in s.path_of(i):
                out[q] = minus(out[q], c.size[i])
        return out

    # rights

    def right(self, g: int, unit: Unit) -> str:
        """Return "a" or "b", the right of g to evict the unit, or "" if it has none."""
        key = (g, unit)
        if key not in self._rights:
            self._rights[key] = self._find_right(g, unit)
        return self._rights[key]

    def _find_right(self, g: int, unit: Unit) -> str:
        s, c = self.standing, self.cluster
        if not may_ever_evict(s, g, unit):
            return ""
        mine, theirs = c.queue_of[g], c.queue_of[unit.group]
        if mine == theirs:
            return "a"
        branches = c.branches(mine, theirs)
        assert branches is not None
        branch, other = branches
        asks, path = c.group_asks[g], c.path[mine]
        due, entitlement = s.measures
        is_above = c.queues[other].priority < c.queues[branch].priority
        by = [due, entitlement] if is_above or not self._nothing_is_due(branch, asks) else [due]
        for measure in by:
            if all(
                max(s.use[q][r], self.use_after[q][r]) <= measure[q][r]
                for q in path[: path.index(branch) + 1]
                for r in asks
            ) and self._is_beyond(unit, other, measure[other], asks):
                return "b"
        return ""

    def _nothing_is_due(self, branch: int, asks: tuple[int, ...]) -> bool:
        s = self.standing
        named = [r for r in asks if s.names(branch, r)]
        return bool(named) and all(
            max(s.due[branch][r], s.guarantee[branch][r]) == 0 for r in named
        )

    def _is_beyond(self, unit: Unit, q: int, most: Measure, asks: tuple[int, ...]) -> bool:
        """Say whether as much of the group as goes is beyond the measure at the queue."""
        h = unit.group
        row = self.standing.row(q, self.started)
        if unit.whole:
            minimum = row.get((h, MINIMUM))
            return minimum is not None and minimum.is_beyond(most, asks)
        elastic = [row.get((h, i)) for i in self.cluster.elastic_running[h]]
        return sum(p is not None and p.is_beyond(most, asks) for p in elastic) >= len(unit.pods)

    def beneficiaries(self, unit: Unit) -> dict[int, str]:
        """Return the starting groups that have a right to the unit, and which."""
        found = {g: self.right(g, unit) for g in self.starters if g != unit.group}
        return {g: r for g, r in found.items() if r}

    # problems

    @cached_property
    def ok(self) -> bool:
        return next(self.problems(), None) is None

    def problems(self) -> Iterator[str]:
        """Say what is broken, whatever the places."""
        yield from self._shape
        yield from self._gangs()
        yield from self._limits()
        yield from self._victims()
        yield from self._budgets()
        yield from self._floors()
        yield from self._queue_claims()

    def _gangs(self) -> Iterator[str]:
        c = self.cluster
        for g, pods in self.starters.items():
            if c.held[g]:
                yield f"held: {c.groups[g].key}: {c.held[g]}"
            if g in self.losers:
                yield f"gang: {c.groups[g].key} starts and loses pods"
            elif not c.satisfies(g, [*c.running[g], *pods]):
                yield f"gang: {c.groups[g].key} starts below its minimum"
        kept_in_vain = self.given_up - self.evicted
        for g in sorted({c.group_of[i] for i in kept_in_vain}):
            yield f"gang: broken {c.groups[g].key} is neither completed nor given up"

    def _limits(self) -> Iterator[str]:
        s, c = self.standing, self.cluster
        touched = {q for i in self.started for q in s.path_of(i)}
        kept = c.ours - self.evicted
        for q in sorted(touched):
            asked = [i for i in self.started if q in s.path_of(i)]
            for r in s.limited[q]:
                if not any(c.size[i][r] for i in asked):
                    continue
                after, most = self.use_after[q][r], s.limit[q][r]
                if after > most:
                    yield f"limit: queue {c.queues[q].name}, {self._resource(r)}: {after} > {most}"
            for name in s.beyond_deserved(q, kept, self.started):
                yield f"non-preemptible: queue {c.queues[q].name}: more {name} than deserved"

    def _resource(self, r: int) -> str:
        return (*self.cluster.resources, "pods")[r]

    def _victims(self) -> Iterator[str]:
        c = self.cluster
        for u in self.units:
            who = ", ".join(c.pods[i].key for i in sorted(u.pods))
            if not u.pods <= c.evictable:
                yield f"rights: {who} may not be evicted"
            elif not self.beneficiaries(u):
                yield f"rights: nobody that starts has a right to {who}"

    def _budgets(self) -> Iterator[str]:
        c = self.cluster
        for b, budget in enumerate(c.snapshot.budgets):
            mine = sum(b in c.budgets_of[i] for i in self.evicted)
            if mine > max(0, budget.allowed):
                yield f"budget: {budget.key} bears {budget.allowed}, loses {mine}"

    def _floors(self) -> Iterator[str]:
        s, c = self.standing, self.cluster
        reclaimed = [u for u in self.units if "a" not in self.beneficiaries(u).values()]
        for q in sorted({q for u in reclaimed for q in c.path[c.queue_of[u.group]]}):
            for r in range(c.slot):
                floor = min(s.guarantee[q][r], s.use[q][r])
                if self.use_after[q][r] < floor:
                    yield f"guarantee: queue {c.queues[q].name} keeps less {self._resource(r)}"

    def _queue_claims(self) -> Iterator[str]:
        s, c = self.standing, self.cluster
        if not self.evicted:
            return
        for q in range(len(c.queues)):
            if not s.limited[q]:
                continue
            inside = {g: p for g, p in self.starters.items() if q in c.path[c.queue_of[g]]}
            asked = {g: c.sum_of(c.size[i] for i in p) for g, p in inside.items()}
            freed = [
                (u, c.sum_of(c.size[i] for i in u.pods))
                for u in self.units
                if q in c.path[c.queue_of[u.group]]
            ]
            left = c.sum_of(c.size[i] for i in self.given_up if q in s.path_of(i))
            for r in s.limited[q]:
                room = max(0, s.limit[q][r] - s.use[q][r]) + left[r]
                if not self.claims_hold(room, {g: v[r] for g, v in asked.items()}, freed, r):
                    yield f"claims: limit of queue {c.queues[q].name}, {self._resource(r)}"

    def claims_hold(
        self, room: int, asked: dict[int, int], freed: list[tuple[Unit, Vec]], r: int
    ) -> bool:
        """Say whether any set of starting groups uses at most the room and what it may free."""
        groups = [g for g, v in asked.items() if v]
        if sum(asked.values()) <= room:
            return True
        for n in range(1, len(groups) + 1):
            for some in combinations(groups, n):
                got = sum(v[r] for u, v in freed if any(self.right(g, u) for g in some))
                if sum(asked[g] for g in some) > room + got:
                    return False
        return True


def may_ever_evict(s: Standing, g: int, unit: Unit) -> bool:
    """Say whether g could have a right to the unit in some plan: what no plan changes about it."""
    c = s.cluster
    h = unit.group
    if h == g or not c.groups[g].may_preempt or not unit.pods <= c.evictable:
        return False
    mine, theirs = c.queue_of[g], c.queue_of[h]
    if set(c.running[h]) <= unit.pods and c.is_fresh(mine, h):
        return False
    if mine == theirs:
        return c.queues[mine].preempts and c.priority_of(h, unit.pods) < c.groups[g].priority
    branches = c.branches(mine, theirs)
    if branches is None:
        return False
    if c.config.priority_everywhere and c.priority_of(h, unit.pods) > c.groups[g].priority:
        return False
    reclaims = c.queues[mine].reclaims
    if reclaims == "never":
        return False
    if reclaims == "lower" and c.priority_of(h, unit.pods) >= c.groups[g].priority:
        return False
    path = c.path[theirs]
    return all(c.queues[q].reclaimable for q in path[: path.index(branches[1]) + 1])


def losses(s: Standing, h: int) -> list[Unit]:
    """Return what a group may lose by right, up to exchange of interchangeable pods."""
    c = s.cluster
    if h not in s.losses_of:
        running = c.running[h]
        out = []
        if running and not c.needs_nobody(h) and c.evictable.issuperset(running):
            out.append(Unit(h, frozenset(running), True))
        out += [
            Unit(h, pods, False)
            for pods in parts(c, [i for i in running if i in c.evictable])
            if pods and c.satisfies(h, [i for i in running if i not in pods])
        ]
        s.losses_of[h] = [(u.pods, u.whole) for u in out]
    return [Unit(h, pods, whole) for pods, whole in s.losses_of[h]]


def parts(c: Cluster, pods: Iterable[int]) -> list[frozenset[int]]:
    """Return the sets of these pods up to exchange of interchangeable ones: the last ranked go."""
    by_kind: dict[int, list[int]] = {}
    for i in sorted(pods, key=c.rank, reverse=True):
        by_kind.setdefault(c.kind[i], []).append(i)
    counts = product(*(range(len(x) + 1) for x in by_kind.values()))
    return [
        frozenset(i for x, n in zip(by_kind.values(), some, strict=True) for i in x[:n])
        for some in counts
    ]
