"""Exchanges: what a held group could take the place of, and the plans that this leads to.

Readings of the contract that are fixed here:

* That no proper subset of S suffices, pod by pod: a group does not give way as a whole where some
  of its pods suffice.
* Of interchangeable running pods the last ranked go. Where the plan evicts other pods of the group
  already, g has the right to all that go together.
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
from math import prod

from oracle.choice import Choice, losses, parts
from oracle.cluster import BROKEN
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
    """The item by which it is judged in or out, if it starts."""


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
            if c.running[g] and by_right.issuperset(c.running[g]):
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
        c, out = self.cluster, []
        for h in range(len(c.groups)):
            if h == g or draft.evicted.issuperset(c.running[h]):
                continue
            units = losses(self.standing, h)
            out += [Piece(h, u.pods, False, True, (h, MINIMUM)) for u in units if u.whole]
            if not all(u.whole for u in units):
                stay = sorted(c.evictable.intersection(c.running[h]) - draft.evicted)
                out += [Piece(h, frozenset({i}), False, False, (h, i)) for i in stay]
        return out

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
        units = {u.group: u for u in choice.units}
        return all(
            units[x.group].whole == x.whole and choice.right(g, units[x.group])
            for x in given
            if not x.starts
        )

    def minimal_sets(
        self, draft: Draft, g: int, pieces: Collection[Piece]
    ) -> Iterator[frozenset[Piece]]:
        """Give the sets of these pieces that suffice for g, and no part of them does."""
        per_group: dict[tuple[int, bool], list[Piece]] = {}
        for x in sorted(pieces, key=lambda x: (x.group, not x.starts, not x.whole, sorted(x.pods))):
            per_group.setdefault((x.group, x.starts), []).append(x)
        options = [self._combined(draft, some) for some in per_group.values()]
        if prod(map(len, options)) > SUBSETS:
            raise Oversize(f"{len(pieces)} items might give way to one group")
        sets = [[x for some in chosen for x in some] for chosen in product(*options)]
        found: list[Pods] = []
        for some in sorted(sets, key=lambda some: sum(len(x.pods) for x in some)):
            pods = frozenset(i for x in some for i in x.pods)
            if not some or any(f < pods for f in found):
                continue
            if self.ways(draft, g, frozenset(some)):
                found.append(pods)
                yield frozenset(some)

    def _combined(self, draft: Draft, pieces: list[Piece]) -> list[list[Piece]]:
        """Return how pieces of one group, all starting or all running, may give way together.

        Elastic pods that start give way only as long as the minimum is left.
        """
        singles = [x for x in pieces if not x.whole]
        if singles and not singles[0].starts:
            by_pod = {i: x for x in singles for i in x.pods}
            sets = [[by_pod[i] for i in pods] for pods in parts(self.cluster, by_pod)]
        else:
            c, h = self.cluster, pieces[0].group
            mine = draft.started & set(c.pending[h])
            sets = [
                list(x)
                for n in range(len(singles) + 1)
                for x in combinations(singles, n)
                if c.satisfies(h, (*c.running[h], *mine.difference(*(y.pods for y in x))))
            ]
        return [*sets, *([x] for x in pieces if x.whole)]

    def parts_of(self, victims: Pods) -> list[Pods]:
        """Return the sets of pods to which these victims may be cut down, smallest first."""
        c = self.cluster
        per_group = []
        for h in sorted({c.group_of[i] for i in victims}):
            mine = victims & set(c.running[h])
            options = {mine, frozenset[int]()}
            if c.state[h] != BROKEN:
                options |= {
                    x
                    for x in parts(c, mine)
                    if c.satisfies(h, [i for i in c.running[h] if i not in x])
                }
            per_group.append(options)
        found = [frozenset[int]().union(*some) for some in product(*per_group)]
        return sorted(found, key=lambda x: (len(x), sorted(x)))
