"""Exchanges: what a held group could take the place of, and the plans that this leads to.

Readings of the contract that are fixed here:

* What completes a broken group never gives way.
* That no proper subset of S suffices is said of its pods: a group does not give way as a whole
  where some of its elastic members suffice.
* A held group asks with its minimum only, in any choice of members that is just enough; a group
  that runs or starts asks with one elastic member. A group that the plan evicts whole asks nothing.
* A started elastic member that gives way may be any started pod of the group that is
  interchangeable with an elastic one; it is judged as the last ranked of these.
* Evictions are taken back as far as possible; where there are several ways, each is a plan that
  the objection may lead to. So is each way to place g. One that stands suffices.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from oracle.choice import Choice, victim_units
from oracle.cluster import BROKEN, NEW
from oracle.items import MINIMUM, Name, items_of
from oracle.legality import is_well_placed
from oracle.placing import spots
from oracle.search import Oversize
from oracle.standing import Standing

Pods = frozenset[int]
SUBSETS = 20_000


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan in indices."""

    places: tuple[tuple[int, int], ...]
    evicted: Pods

    @property
    def started(self) -> Pods:
        return frozenset(i for i, _ in self.places)


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the items that may give way."""

    group: int
    pods: Pods
    starts: bool
    whole: bool
    name: Name
    """The item by which it is judged in or out."""


@dataclass(frozen=True, slots=True)
class Step:
    """A plan that an exchange leads to, and what g starts in it."""

    draft: Draft
    fresh: Pods
    name: Name
    """The item that g starts."""


class Exchanges:
    """All exchanges of one snapshot, remembered."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self.cluster = standing.cluster
        self._choices: dict[tuple[Pods, Pods], Choice] = {}
        self._ways: dict[tuple[Draft, int, frozenset[Piece]], tuple[Step, ...]] = {}

    def choice(self, started: Pods, evicted: Pods) -> Choice:
        key = (started, evicted)
        if key not in self._choices:
            self._choices[key] = Choice(self.standing, started, evicted)
        return self._choices[key]

    def is_legal(self, draft: Draft) -> bool:
        choice = self.choice(draft.started, draft.evicted)
        return choice.ok and is_well_placed(choice, dict(draft.places))

    # what asks

    def asks_for_minimum(self, draft: Draft, g: int) -> bool:
        c = self.cluster
        started = draft.started & set(c.pending[g])
        return not c.satisfies(g, (*c.running[g], *started))

    def askers(self, draft: Draft) -> list[int]:
        """Return the groups that could ask for more than the plan gives them."""
        c = self.cluster
        given_up = self.standing.given_up(draft.started)
        out = []
        for g in range(len(c.groups)):
            if c.held[g] or set(c.pending[g]) <= draft.started:
                continue
            by_right = draft.evicted - given_up
            core = set(c.minimum_of(g, c.running[g]))
            if core and core <= by_right:
                continue
            out.append(g)
        return out

    def picks(self, draft: Draft, g: int, kept: Pods) -> Iterator[Pods]:
        """Give the sets of pods by which g would start more: up to exchange, just enough."""
        c = self.cluster
        by_kind: dict[int, list[int]] = {}
        for i in c.pending[g]:
            if i not in kept and c.allowed[i]:
                by_kind.setdefault(c.kind[i], []).append(i)
        if not self.asks_for_minimum(draft, g):
            yield from (frozenset(pods[:1]) for pods in by_kind.values())
            return
        found: list[tuple[int, ...]] = []
        ranges = [range(len(pods) + 1) for pods in by_kind.values()]
        for counts in sorted(product(*ranges), key=lambda t: (sum(t), t)):
            if any(all(a >= b for a, b in zip(counts, f, strict=True)) for f in found):
                continue
            pods = [i for p, n in zip(by_kind.values(), counts, strict=True) for i in p[:n]]
            if c.satisfies(g, (*c.running[g], *pods)):
                found.append(counts)
                yield frozenset(pods)

    # what may give way

    def starting(self, draft: Draft, g: int) -> list[Piece]:
        """Return the new items of other groups: a group with all it starts, elastic pods."""
        c, out = self.cluster, []
        started = draft.started
        for h in sorted({c.group_of[i] for i in started} - {g}):
            mine = started & set(c.pending[h])
            items = items_of(c, h, mine)
            starts = any(x.name[1] == MINIMUM and mine & set(x.pods) for x in items)
            if starts and c.state[h] != BROKEN:
                out.append(Piece(h, mine, True, True, (h, MINIMUM)))
            judged = {c.kind[x.name[1]]: x.name for x in items if x.name[1] in mine}
            out += [
                Piece(h, frozenset({i}), True, False, judged[c.kind[i]])
                for i in sorted(mine)
                if c.kind[i] in judged
            ]
        return out

    def running(self, draft: Draft, g: int) -> list[Piece]:
        """Return what runs on in the plan, of other groups, and may ever be evicted."""
        c, s = self.cluster, self.standing
        return [
            Piece(h, u.pods, False, u.whole, u.name)
            for h in range(len(c.groups))
            if h != g
            for u in victim_units(s, h)
            if not u.pods <= draft.evicted
        ]

    # where it leads

    def ways(self, draft: Draft, g: int, given: frozenset[Piece]) -> tuple[Step, ...]:
        """Return the legal plans in which g takes more and exactly ``given`` gives way to it."""
        key = (draft, g, given)
        if key not in self._ways:
            self._ways[key] = tuple(self._find_ways(draft, g, given))
        return self._ways[key]

    def _find_ways(self, draft: Draft, g: int, given: frozenset[Piece]) -> Iterator[Step]:
        c, s = self.cluster, self.standing
        dropped = frozenset(i for x in given if x.starts for i in x.pods)
        leaves = frozenset(i for x in given if not x.starts for i in x.pods)
        kept = {i: n for i, n in draft.places if i not in dropped}
        optional = draft.evicted - s.given_up(draft.started) - leaves
        for fresh in self.picks(draft, g, frozenset(kept)):
            started = fresh.union(kept)
            given_up = s.given_up(started)
            where = list(spots(c, sorted(fresh), given_up | leaves | optional, kept))
            taken: dict[int, list[Pods]] = {n: [] for n in range(len(where))}
            if not where:
                continue
            for victims in self.parts_of(optional):
                choice = self.choice(started, given_up | leaves | victims)
                if not choice.ok or not self._has_rights(choice, g, given):
                    continue
                for n, spot in enumerate(where):
                    if any(v <= victims for v in taken[n]):
                        continue
                    places = {**kept, **spot}
                    if is_well_placed(choice, places):
                        taken[n].append(victims)
                        new = Draft(tuple(sorted(places.items())), choice.evicted)
                        yield Step(new, fresh, self._fresh_item(draft, g, new, fresh))

    def _fresh_item(self, draft: Draft, g: int, new: Draft, fresh: Pods) -> Name:
        """Return the item that g starts; an elastic pod that outranks others counts as the last."""
        if self.asks_for_minimum(draft, g):
            return (g, MINIMUM)
        started = new.started & set(self.cluster.pending[g])
        elastic = [x.name for x in items_of(self.cluster, g, started) if x.name[1] in started]
        return next((name for name in elastic if name[1] in fresh), elastic[-1])

    def _has_rights(self, choice: Choice, g: int, given: frozenset[Piece]) -> bool:
        mine = [x for x in given if not x.starts]
        units = {u.pods: u for u in choice.units}
        return all(x.pods in units and choice.right(g, units[x.pods]) for x in mine)

    def minimal_sets(
        self, draft: Draft, g: int, pieces: Collection[Piece]
    ) -> Iterator[frozenset[Piece]]:
        """Give the sets of these pieces that suffice for g, and no part of them does."""
        if 2 ** len(pieces) > SUBSETS:
            raise Oversize(f"{len(pieces)} items might give way to one group")
        ordered = sorted(pieces, key=lambda x: (x.group, not x.starts, sorted(x.pods)))
        sets = [some for n in range(1, len(ordered) + 1) for some in combinations(ordered, n)]
        found: list[Pods] = []
        for some in sorted(sets, key=lambda some: sum(len(x.pods) for x in some)):
            pods = frozenset(i for x in some for i in x.pods)
            overlap = len(pods) < sum(len(x.pods) for x in some)
            if overlap or any(f < pods for f in found):
                continue
            if self.ways(draft, g, frozenset(some)):
                found.append(pods)
                yield frozenset(some)

    def parts_of(self, victims: Pods) -> list[Pods]:
        """Return the sets of pods to which these victims may be cut down, smallest first."""
        c = self.cluster
        per_group = []
        for h in sorted({c.group_of[i] for i in victims}):
            mine = victims & set(c.running[h])
            core = set(c.minimum_of(h, c.running[h])) if c.state[h] != NEW else set()
            loose = sorted(mine - core)
            options = {mine} | {
                frozenset(x) for n in range(len(loose) + 1) for x in combinations(loose, n)
            }
            per_group.append(options)
        found = [frozenset[int]().union(*some) for some in product(*per_group)]
        return sorted(found, key=lambda x: (len(x), sorted(x)))
