"""Section 4 as far as places play no part: gangs, limits, rights, budgets, guarantees, claims.

A *choice* is what a plan decides apart from places: who starts and who is evicted.

Readings of the contract that are fixed here:

* Victims are told apart by *unit*: a group that goes whole, or one elastic pod of a group that
  stays. A whole group is out where its minimum is out; its elastic pods share its fate.
* The elastic pods that a group may give up are those outside of its minimum. A group that loses its
  minimum starts nothing in the same plan; one that loses elastic pods may start others.
* g asks for what its started pods ask for.
* A branch has "a named due of 0" where max(due, guarantee) is 0 in all resources that g asks for
  and that the branch names (itself, or by its descendants where it is an inner queue that does not
  name them), and there is such a resource.
* ``may_preempt`` is the group's.
* Budgets: groups that are given up use a budget up but are not stopped by it.
* The floor of guarantees is asked for where a victim has no beneficiary by right (a).
* A broken group that is within its grace may be a victim by right, as a whole.
* Non-preemptible work that starts keeps the non-preemptible use within ``deserved`` at every
  ancestor that names the resource.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from oracle.amount import Vec, minus, plus
from oracle.cluster import BROKEN
from oracle.items import MINIMUM, Name
from oracle.standing import Standing


@dataclass(frozen=True, slots=True)
class Unit:
    """What goes together: a whole group, or one elastic pod."""

    group: int
    pods: frozenset[int]
    whole: bool

    @property
    def name(self) -> Name:
        return (self.group, MINIMUM if self.whole else next(iter(self.pods)))


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
        self.units = [u for g in self.losers for u in self._units_of(g)]
        self._rights: dict[tuple[int, Unit], str] = {}

    def _units_of(self, h: int) -> list[Unit]:
        c, lost = self.cluster, self.losers[h]
        running = frozenset(c.running[h])
        members = (*c.running[h], *sorted(self.starters.get(h, ()), key=c.rank))
        core = frozenset(c.minimum_of(h, members)) & running
        if not core & lost and c.satisfies(h, members):
            return [Unit(h, frozenset({i}), False) for i in sorted(lost)]
        if lost != running:
            self._shape.append(f"gang: {c.groups[h].key} loses a part of its minimum")
        return [Unit(h, lost, True)]

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
        branch, victims_branch = c.branches(mine, theirs)
        if s.is_in_at(victims_branch, unit.name, self.started):
            return ""
        asks = self._asks(g)
        path = c.path[mine]
        for q in path[: path.index(branch) + 1]:
            if any(self.use_after[q][r] > s.e_floor[q][r] for r in asks):
                return ""
        named = [r for r in asks if s.names(branch, r)]
        nothing_due = named and all(
            max(s.due[branch][r], s.guarantee[branch][r]) == 0 for r in named
        )
        if nothing_due and c.queues[victims_branch].priority >= c.queues[branch].priority:
            return ""
        return "b"

    def _asks(self, g: int) -> tuple[int, ...]:
        c = self.cluster
        return c.asked(c.sum_of(c.size[i] for i in self.starters.get(g, ())))

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
            lost = self.losers.get(g, frozenset())
            if any(u.whole for u in self.units if u.group == g):
                yield f"gang: {c.groups[g].key} is evicted and starts"
            elif not c.satisfies(g, [*(set(c.running[g]) - lost), *pods]):
                yield f"gang: {c.groups[g].key} starts below its minimum"
        kept_in_vain = self.given_up - self.evicted
        for g in sorted({c.group_of[i] for i in kept_in_vain}):
            yield f"gang: broken {c.groups[g].key} is neither completed nor given up"

    def _limits(self) -> Iterator[str]:
        s, c = self.standing, self.cluster
        touched = {q for i in self.started for q in s.path_of(i)}
        kept = c.ours - self.evicted
        for q in sorted(touched):
            for r in s.limited[q]:
                after, most = self.use_after[q][r], max(s.limit[q][r], s.use[q][r])
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
            mine = [i for i in self.evicted if b in c.budgets_of[i]]
            if any(i not in self.given_up for i in mine) and len(mine) > budget.allowed:
                yield f"budget: {budget.key} bears {budget.allowed}, loses {len(mine)}"

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
    if mine == theirs:
        return max(c.weight_of_victim[i] for i in unit.pods) < c.groups[g].priority
    _, branch = c.branches(mine, theirs)
    path = c.path[theirs]
    return all(c.queues[q].reclaimable for q in path[: path.index(branch) + 1])


def victim_units(s: Standing, h: int) -> list[Unit]:
    """Return what of a running group may be evicted by right: all of it, or elastic pods."""
    c = s.cluster
    running = frozenset(c.running[h])
    core = frozenset(c.minimum_of(h, c.running[h]))
    out = []
    if running and not c.needs_nobody(h) and running <= c.evictable:
        out.append(Unit(h, running, True))
    if c.state[h] != BROKEN or core != running:
        out += [Unit(h, frozenset({i}), False) for i in sorted((running - core) & c.evictable)]
    return out
