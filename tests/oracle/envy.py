"""Section 5: the objections that count against a legal plan.

Readings of the contract that are fixed here:

* "New" is what starts in the plan; what completes a broken group never gives way.
* S is empty only in item 7, also where g completes a broken group.
* An item of S in another queue is judged out at the branch towards it from g's queue.
* Twins have the same need, per role and in total, and their minima the same pod specs; the younger
  group is the one created later. Only a minimum envies its twin.
* An objection to a gang's elastic member is one by the member: it is in or out singly.
* The share of a branch includes what starts, without what is evicted.
* Which returns of victims count in item 8: see :mod:`oracle.comeback`. Groups that are given up are
  no victims.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from apportion.models import Config, GroupKey, NodeName, PodKey, Snapshot
from oracle import comeback
from oracle.choice import Unit as Victims
from oracle.choice import may_ever_evict
from oracle.cluster import BROKEN
from oracle.cost import cost_of
from oracle.exchange import Draft, Exchanges, Piece, Pods, Step
from oracle.items import MINIMUM, Name, dominant
from oracle.legality import plan_of
from oracle.search import named
from oracle.standing import Standing, standing_of

IDLE = 7
HARM = 8


@dataclass(frozen=True, slots=True)
class Objection:
    """Group ``group`` rightly objects by an item of section 5."""

    item: int
    group: GroupKey
    gives_way: tuple[str, ...]
    """Keys of groups, or of elastic pods."""
    why: str
    places: Mapping[PodKey, NodeName] = field(default_factory=dict, compare=False)
    """The plan that it leads to; empty if none in particular."""
    evicted: frozenset[PodKey] = field(default=frozenset(), compare=False)


def objections(
    snapshot: Snapshot,
    config: Config,
    places: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
) -> list[Objection]:
    """Return every objection that counts against the legal plan, by item.

    Raises
    ------
    Oversize
        If a group has too many sets of items that might give way.
    """
    return list(each_objection(snapshot, config, places, evicted))


def each_objection(
    snapshot: Snapshot,
    config: Config,
    places: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
) -> Iterator[Objection]:
    """Give the objections of :func:`objections` one by one, lowest items first."""
    court = Court(standing_of(snapshot, config))
    started, gone = plan_of(court.standing, places, evicted)
    draft = Draft(tuple(sorted(started.items())), gone)
    clean = True
    for k in range(1, HARM):
        for o in court.counting(draft, k, frozenset()):
            clean = False
            yield o
    if clean:
        yield from court.harm(draft)


def eviction_cost(
    snapshot: Snapshot,
    config: Config,
    places: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
) -> tuple[int, ...]:
    """Return the cost of the plan's evictions, to be compared lexicographically (section 6)."""
    court = Court(standing_of(snapshot, config))
    started, gone = plan_of(court.standing, places, evicted)
    return cost_of(court.exchanges.choice(frozenset(started), gone))


class Court:
    """Hears objections against plans for one snapshot."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self.cluster = standing.cluster
        self.exchanges = Exchanges(standing)
        self._stands: dict[tuple[Draft, int, Pods], bool] = {}
        self._minimal: dict[tuple[Draft, int, frozenset[Piece]], list[frozenset[Piece]]] = {}

    def counting(self, draft: Draft, k: int, target: Pods) -> Iterator[Objection]:
        """Give the counting objections of item k whose S contains the started pods ``target``."""
        for g in self.exchanges.askers(draft):
            for given in self._sets(draft, g, k, target):
                for step in self.exchanges.ways(draft, g, given):
                    if self._holds(draft, g, k, given, step) and self._is_stable(step, k):
                        yield self._objection(draft, g, k, given, step)
                        break

    def _is_stable(self, step: Step, k: int) -> bool:
        """Say whether no lower item rightly takes away again what g starts in the plan."""
        key = (step.draft, k, step.fresh)
        if key not in self._stands:
            self._stands[key] = all(
                next(self.counting(step.draft, j, step.fresh), None) is None for j in range(1, k)
            )
        return self._stands[key]

    # which sets

    def _sets(self, draft: Draft, g: int, k: int, target: Pods) -> Iterator[frozenset[Piece]]:
        if k == IDLE:
            if not target and self.exchanges.ways(draft, g, frozenset()):
                yield frozenset()
            return
        for pieces in self._families(draft, g, k):
            if not target <= {i for x in pieces if x.starts for i in x.pods}:
                continue
            if self.exchanges.ways(draft, g, frozenset()):
                return
            for given in self._minimal_sets(draft, g, frozenset(pieces)):
                started = {i for x in given if x.starts for i in x.pods}
                if target <= started and (k != 2 or self._has_stranger(g, given)):
                    yield given

    def _has_stranger(self, g: int, given: frozenset[Piece]) -> bool:
        queue_of = self.cluster.queue_of
        return any(queue_of[x.group] != queue_of[g] for x in given)

    def _minimal_sets(
        self, draft: Draft, g: int, pieces: frozenset[Piece]
    ) -> list[frozenset[Piece]]:
        key = (draft, g, pieces)
        if key not in self._minimal:
            self._minimal[key] = list(self.exchanges.minimal_sets(draft, g, pieces))
        return self._minimal[key]

    def _families(self, draft: Draft, g: int, k: int) -> list[list[Piece]]:
        """Return the pieces from which S of item k is made, one list per other branch in item 4."""
        c, s = self.cluster, self.standing
        minimum = self.exchanges.asks_for_minimum(draft, g)
        starting = self.exchanges.starting(draft, g)
        if k == 1:
            if not (minimum and c.state[g] == BROKEN):
                return []
            return [starting + self._runners(draft, g)]
        if k == 2:
            return [
                [x for x in starting if self._gives_by_due(draft, g, x)] + self._runners(draft, g)
            ]
        if k == 3:
            everywhere = c.config.priority_everywhere
            own = [x for x in self._runners(draft, g) if self._is_own(g, x)]
            return [
                own
                + [
                    x
                    for x in starting
                    if self._is_lower(g, x) and (everywhere or self._is_own(g, x))
                ]
            ]
        if k == 4:
            by_branch: dict[int, list[Piece]] = {}
            for x in starting:
                kept = not c.nominated.isdisjoint(x.pods) and not self._is_promised(g)
                if not self._is_own(g, x) and not kept:
                    branch = self._branches(g, x)[1]
                    if not s.is_in_at(branch, x.name, draft.started):
                        by_branch.setdefault(branch, []).append(x)
            return list(by_branch.values())
        if k == 5:
            twins = [x for x in starting if minimum and x.whole and self._is_younger_twin(g, x)]
            return [[x] for x in twins]
        if not minimum:
            return []
        return [
            [
                x
                for x in starting
                if not x.whole and self._is_own(g, x) and self._priority(x) <= c.groups[g].priority
            ]
        ]

    def _branches(self, g: int, x: Piece) -> tuple[int, int]:
        found = self.cluster.branches(self.cluster.queue_of[g], self.cluster.queue_of[x.group])
        assert found is not None  # both start, so both are in leaves
        return found

    def _is_own(self, g: int, x: Piece) -> bool:
        return self.cluster.queue_of[g] == self.cluster.queue_of[x.group]

    def _priority(self, x: Piece) -> int:
        c = self.cluster
        return c.groups[x.group].priority if x.starts else c.priority_of(x.group, x.pods)

    def _is_lower(self, g: int, x: Piece) -> bool:
        return self._priority(x) < self.cluster.groups[g].priority

    def _runners(self, draft: Draft, g: int) -> list[Piece]:
        return [
            x
            for x in self.exchanges.running(draft, g)
            if may_ever_evict(self.standing, g, Victims(x.group, x.pods, x.whole))
        ]

    def _gives_by_due(self, draft: Draft, g: int, x: Piece) -> bool:
        if self._is_own(g, x):
            return self._is_lower(g, x)
        c = self.cluster
        if c.config.priority_everywhere and self._priority(x) > c.groups[g].priority:
            return False
        branch = self._branches(g, x)[1]
        return not self.standing.is_in_at(branch, x.name, draft.started)

    def _is_younger_twin(self, g: int, x: Piece) -> bool:
        c, h = self.cluster, x.group
        a, b = c.groups[g], c.groups[h]
        return (
            self._is_own(g, x)
            and a.priority == b.priority
            and b.created_s > a.created_s
            and self._is_same_party(g, h)
            and self._shape(g) == self._shape(h)
            and self._is_promised(g) == self._is_promised(h)
        )

    def _is_same_party(self, g: int, h: int) -> bool:
        c = self.cluster
        a, b = c.groups[g], c.groups[h]
        match c.within[c.queue_of[g]]:
            case "namespaces":
                return a.namespace == b.namespace
            case "users":
                return a.user == b.user
            case _:
                return True

    def _is_promised(self, g: int) -> bool:
        """Twins are both promised a place, or neither: what is promised counts as running."""
        return bool(self.cluster.nominated.intersection(self.cluster.pending[g]))

    def _shape(self, g: int) -> object:
        c = self.cluster
        minimum = c.minimum_of(g, (*c.running[g], *c.pending[g]))
        specs = sorted(str(c.pods[i].spec) for i in minimum)
        return c.need[g], sorted(c.role_need[g].values()), c.groups[g].choices, specs

    # which plans

    def _holds(self, draft: Draft, g: int, k: int, given: frozenset[Piece], step: Step) -> bool:
        """Say whether the plan that the exchange leads to fulfils what item k asks of it."""
        if k == 2:
            return self.standing.is_in(self._judged(step), step.draft.started)
        if k == 4:
            mine, other = self._branches(g, next(iter(given)))
            return self._share(other, step.draft) > self._share(mine, draft)
        return True

    def _judged(self, step: Step) -> Name:
        """Return the item that what g starts more is part of: of equal members the last one's."""
        c, (g, which) = self.cluster, step.name
        if which == MINIMUM:
            return step.name
        (fresh,) = step.fresh
        row = self.standing.row(c.queue_of[g], step.draft.started)
        mine = [p.item for n, p in row.items() if n[0] == g]
        alike = [
            x.name
            for x in mine
            if x.name[1] in step.draft.started and c.kind[x.name[1]] == c.kind[fresh]
        ]
        own = next(x.name for x in mine if fresh in x.pods)
        return alike[-1] if alike else own

    def _share(self, q: int, draft: Draft) -> Fraction | float:
        c = self.cluster
        use = self.exchanges.choice(draft.started, draft.evicted).use_after[q]
        share, weight = dominant(c, use), c.queues[q].weight
        if share == 0:
            return Fraction(0)
        return share / weight if weight > 0 else float("inf")

    def _objection(
        self, draft: Draft, g: int, k: int, given: frozenset[Piece], step: Step
    ) -> Objection:
        c = self.cluster
        names = tuple(
            sorted(
                c.groups[x.group].key if x.whole else c.pods[i].key for x in given for i in x.pods
            )
        )
        what = "its minimum" if self.exchanges.asks_for_minimum(draft, g) else "an elastic member"
        places, evicted = named(c, dict(step.draft.places), step.draft.evicted)
        text = f"{c.groups[g].key} could start {what} ({ITEMS[k]})"
        return Objection(k, c.groups[g].key, tuple(dict.fromkeys(names)), text, places, evicted)

    # item 8

    def harm(self, draft: Draft) -> Iterator[Objection]:
        c, x = self.cluster, self.exchanges
        given_up = self.standing.given_up(draft.started)
        victims = draft.evicted - given_up
        for fewer in x.parts_of(victims):
            if fewer < victims and x.is_legal(Draft(draft.places, fewer | given_up)):
                spared = sorted({c.group_of[i] for i in victims - fewer})
                places, evicted = named(c, dict(draft.places), fewer | given_up)
                text = f"the plan does without evicting all of it ({ITEMS[HARM]})"
                yield Objection(HARM, c.groups[spared[0]].key, (), text, places, evicted)
                break
        for g, instead in comeback.returning(x, draft):
            text = f"it is evicted and comes back by right ({ITEMS[HARM]})"
            better = (
                named(c, dict(instead.places), instead.evicted) if instead else ({}, frozenset())
            )
            yield Objection(HARM, c.groups[g].key, (), text, *better)


ITEMS = {
    1: "broken gang",
    2: "dues and entitlements",
    3: "priority",
    4: "fair surplus",
    5: "age",
    6: "minimum before surplus",
    7: "idle capacity",
    8: "needless harm",
}
