"""Members of groups: who runs, who waits, who forms the minimum and who is elastic."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain, combinations, islice
from math import comb
from typing import Any

from ..models import Choice, Group, GroupKey, Pod, PodKey, PodSpec, PodState, Snapshot
from ..models.choice import are_met

_DIGITS = re.compile(r"(\d+)")


class Standing(StrEnum):
    """How a group stands before the plan."""

    NEW = "new"
    WHOLE = "whole"
    BROKEN = "broken"


def rank(pod: Pod) -> tuple[object, ...]:
    """Order inside a group: task priority from the top, then age, then name (digits as numbers)."""
    parts = tuple((0, int(s), "") if s.isdigit() else (1, 0, s) for s in _DIGITS.split(pod.name))
    return (-pod.task_priority, pod.created_s, parts, pod.key)


_NUMERALS = "0123456789"


def ranked(pods: Sequence[Pod], promised: Collection[PodKey] = ()) -> tuple[Pod, ...]:
    """Return a group's pods in rank order, those that have been promised a place first."""
    if len(pods) < 2:
        return tuple(pods)
    stems = {p.name.rstrip(_NUMERALS) for p in pods}
    (stem, *others) = stems
    start = len(stem)

    def by_number(p: Pod) -> tuple[object, ...]:
        return (-p.task_priority, p.created_s, int(p.name[start:] or -1), p.key)

    # Where names differ by the number at their end alone, it is the same order, found sooner.
    key: Callable[[Pod], tuple[object, ...]] = rank
    if not others and stem.isascii():
        key = by_number
    ordered = sorted(pods, key=key)
    if promised:
        ordered.sort(key=lambda p: p.key not in promised)
    return tuple(ordered)


@dataclass(frozen=True)
class Members:
    """One group's members, each list in rank order."""

    group: Group
    running: tuple[Pod, ...]
    pending: tuple[Pod, ...]
    gated: tuple[Pod, ...]
    terminating: tuple[Pod, ...]
    succeeded: tuple[Pod, ...]
    pods: tuple[Pod, ...] = ()
    """All of its pods, in the order of the snapshot."""

    @cached_property
    def key(self) -> GroupKey:
        return self.group.key

    @cached_property
    def memo(self) -> dict[str, Any]:
        """What follows from the members alone, by what it is; kept as long as they are."""
        return {}

    @cached_property
    def need(self) -> int:
        """How many members must run: the effective minimum less those that have succeeded."""
        return max(0, self.group.effective_minimum - len(self.succeeded))

    @cached_property
    def role_need(self) -> Mapping[str, int]:
        if not self.group.role_minimum:
            return {}
        done = Counter(p.role for p in self.succeeded)
        left = {r: n - done[r] for r, n in self.group.role_minimum.items()}
        return {r: n for r, n in left.items() if n > 0}

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What the group needs of some of its parts, less the members that have succeeded."""
        if not self.group.choices or not self.succeeded:
            return self.group.choices
        done = Counter(p.role for p in self.succeeded)
        return tuple(c.without(done) for c in self.group.choices)

    @cached_property
    def least(self) -> int:
        """How many running members there are at least wherever the group is whole."""
        roles = self.role_need
        of_choices = sum(c.fewest(roles) for c in self.choices)
        return max(self.need, sum(roles.values()) + of_choices)

    @cached_property
    def breaks(self) -> bool:
        """Say whether something breaks where it goes whole: a minimum among several pods."""
        least = self.group.effective_minimum
        return least > 1 or (least == 1 and len(self.running) > 1)

    def is_whole(self, pods: Iterable[Pod]) -> bool:
        """Say whether these pods reach the minimum: in total, per role, of parts as many as due."""
        if not self.role_need and not self.choices:
            return (len(pods) if isinstance(pods, tuple | list) else sum(1 for _ in pods)) >= (
                self.need
            )
        return self._is_enough(_by_role(pods))

    def _is_enough(self, count: Mapping[str, int]) -> bool:
        return (
            sum(count.values()) >= self.need
            and all(count.get(r, 0) >= n for r, n in self.role_need.items())
            and are_met(self.choices, count)
        )

    @cached_property
    def standing(self) -> Standing:
        """Without a need the group is whole: all its members are elastic."""
        if not self.running and not self.is_whole(()):
            return Standing.NEW
        return Standing.WHOLE if self.is_whole(self.running) else Standing.BROKEN

    def split(self, pods: Sequence[Pod]) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        """Split pods in rank order into those that form the minimum and the elastic rest."""
        if not self.role_need and not self.choices:
            return tuple(pods[: self.need]), tuple(pods[self.need :])
        if self.choices and self.is_whole(pods):
            return self._stripped(pods)
        return self._filled(pods, self.role_need)

    def _stripped(self, pods: Sequence[Pod]) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        """Split pods that are whole: the last ranked are elastic as long as the rest is whole."""
        count = _by_role(pods)
        kept: list[Pod] = []
        spare: list[Pod] = []
        for p in reversed(pods):
            count[p.role] -= 1
            if self._is_enough(count):
                spare.append(p)
            else:
                count[p.role] += 1
                kept.append(p)
        return tuple(reversed(kept)), tuple(reversed(spare))

    def _filled(
        self, pods: Sequence[Pod], role_need: Mapping[str, int]
    ) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        open_roles = dict(role_need)
        chosen: set[str] = set()
        for p in pods:
            if open_roles.get(p.role, 0) > 0:
                open_roles[p.role] -= 1
                chosen.add(p.key)
        for p in pods:
            if len(chosen) >= self.need:
                break
            chosen.add(p.key)
        return (
            tuple(p for p in pods if p.key in chosen),
            tuple(p for p in pods if p.key not in chosen),
        )

    def minima(self, pending: Sequence[Pod]) -> Iterator[tuple[Pod, ...]]:
        """Yield choices of pending pods that would complete the minimum, best ranked first.

        Every choice where there are few; else the best ranked, and those that prefer one kind.
        """
        waiting = {p.key for p in pending}
        best = tuple(p for p in self.split([*self.running, *pending])[0] if p.key in waiting)
        if not self.is_whole([*self.running, *best]):
            return
        yield best
        seen = {_kinds(best)}
        if len(pending) == len(best) or len(_kinds(pending)) < 2:
            return
        if self.choices:
            tries = self._by_choice(pending)
        elif comb(len(pending), len(best)) <= CHOICES:
            tries = combinations(pending, len(best))
        else:
            tries = self._by_kind(pending)
        for some in tries:
            if _kinds(some) not in seen and self.is_whole([*self.running, *some]):
                seen.add(_kinds(some))
                yield some

    def _by_choice(self, pending: Sequence[Pod]) -> Iterable[tuple[Pod, ...]]:
        """Yield minima of one part or another: where there are few pods, all that lack none."""
        if 2 ** len(pending) > CHOICES:
            return chain(self._by_way(pending), self._by_kind(pending))
        sizes = range(max(0, self.least - len(self.running)), len(pending) + 1)
        tries = (some for n in sizes for some in combinations(pending, n))
        return (some for some in tries if self._is_tight(some))

    def _is_tight(self, some: Sequence[Pod]) -> bool:
        """Say whether the group would be whole with these, and with none of them less."""
        if not self.is_whole([*self.running, *some]):
            return False
        return not any(self.is_whole([*self.running, *(q for q in some if q is not p)])
                       for p in some)  # fmt: skip

    def _by_way(self, pending: Sequence[Pod]) -> Iterator[tuple[Pod, ...]]:
        waiting = {p.key for p in pending}
        pool = [*self.running, *pending]
        there = _by_role(pool)
        ways: Iterator[Mapping[str, int]] = iter([self.role_need])
        for c in self.choices:
            ways = _joined(ways, c, there)
        for way in islice(ways, CHOICES):
            yield tuple(p for p in self._filled(pool, way)[0] if p.key in waiting)

    def _by_kind(self, pending: Sequence[Pod]) -> Iterator[tuple[Pod, ...]]:
        waiting = {p.key for p in pending}
        for kind in {_kind(p): None for p in pending}:
            for last in (False, True):
                ordered = sorted(pending, key=lambda p: (_kind(p) != kind) != last)
                yield tuple(p for p in self.split([*self.running, *ordered])[0] if p.key in waiting)

    @cached_property
    def first(self) -> tuple[Pod, ...]:
        """The pending pods that complete (or form) the minimum; () for a whole group."""
        if self.standing is Standing.WHOLE:
            return ()
        pool = [*self.running, *self.pending]
        return tuple(p for p in self.split(pool)[0] if p.state is PodState.PENDING)

    @cached_property
    def everybody(self) -> tuple[Pod, ...]:
        """Running and pending members."""
        return (*self.running, *self.pending)

    @cached_property
    def missing(self) -> int:
        """How many members of the minimum do not exist as running or pending pods."""
        if not self.role_need and not self.choices:
            return max(0, self.need - len(self.running) - len(self.pending))
        have = _by_role([*self.running, *self.pending])
        short = sum(max(0, n - have[r]) for r, n in self.role_need.items())
        short += sum(c.without(have).fewest({}) for c in self.choices)
        return max(short, self.need - have.total(), 0)


CHOICES = 200
"""Up to so many choices of a minimum are looked at one by one."""


def _by_role(pods: Iterable[Pod]) -> Counter[str]:
    return Counter([p.role for p in pods])


def _joined(
    ways: Iterable[Mapping[str, int]], choice: Choice, there: Mapping[str, int]
) -> Iterator[Mapping[str, int]]:
    """Yield each way with each of the choice."""
    for way in ways:
        for more in choice.ways(there):
            yield {**way, **{r: max(n, way.get(r, 0)) for r, n in more.items()}}


_Kind = tuple[str, PodSpec, tuple[str, ...]]


def _kind(pod: Pod) -> _Kind:
    return (pod.role, pod.spec, pod.subgroups)


def _kinds(pods: Iterable[Pod]) -> frozenset[tuple[_Kind, int]]:
    return frozenset(Counter(map(_kind, pods)).items())


def _members(group: Group, pods: tuple[Pod, ...], promised: Collection[PodKey]) -> Members:
    of: dict[PodState, tuple[Pod, ...]]
    if len(pods) == 1:
        of = {pods[0].state: pods}
    else:
        by_state: dict[PodState, list[Pod]] = {}
        for p in pods:
            by_state.setdefault(p.state, []).append(p)
        of = {state: ranked(some, promised) for state, some in by_state.items()}
    m = Members(
        group, of.get(PodState.RUNNING, ()), of.get(PodState.PENDING, ()),
        of.get(PodState.GATED, ()), of.get(PodState.TERMINATING, ()),
        of.get(PodState.SUCCEEDED, ()), pods,
    )  # fmt: skip
    if not group.role_minimum and not group.choices:
        _settle(m)
    return m


def _settle(m: Members) -> None:
    """Set what is asked of every group and follows from numbers alone, where roles do not count."""
    need = max(0, m.group.minimum - len(m.succeeded))
    standing = Standing.WHOLE if len(m.running) >= need else Standing.BROKEN
    if not m.running and need:
        standing = Standing.NEW
    vars(m).update(need=need, role_need={}, choices=(), least=need, standing=standing)


class Roster:
    """Members of every group of a snapshot.

    ``before``: the roster of an earlier snapshot; members of groups in which nothing has changed,
    object by object, are those of there, with all that was found out about them.
    """

    def __init__(self, snapshot: Snapshot, before: "Roster | None" = None) -> None:
        self._pods, self._groups = snapshot.pods, snapshot.groups
        self._promised = frozenset(k for k, _ in snapshot.nominations)
        keys = [g.key for g in snapshot.groups]
        self._of: dict[GroupKey, Members]
        if before is None:
            of = snapshot.pods_by_group
            made = [_members(g, of.get(g.key, ()), self._promised) for g in snapshot.groups]
            self._of = dict(zip(keys, made, strict=True))
            return
        anew = self._differing(before)
        mine: dict[GroupKey | None, list[Pod]] = {}
        for p in [p for p in snapshot.pods if p.group in anew]:
            mine.setdefault(p.group, []).append(p)
        again = {
            g.key: _members(g, tuple(mine.get(g.key, ())), self._promised)
            for g in [g for g in snapshot.groups if g.key in anew]
        }
        old = before._of
        self._of = {key: again[key] if key in anew else old[key] for key in keys}

    def _differing(self, before: "Roster") -> set[GroupKey | None]:
        """Return the groups in which something is not as it was before, object by object.

        Both rosters hold on to their objects, so that no two of them have one identity.
        """
        was = {*map(id, before._pods), *map(id, before._groups)}
        now = {*map(id, self._pods), *map(id, self._groups)}
        out: set[GroupKey | None] = {g.key for g in self._groups if id(g) not in was}
        out.update([p.group for p in self._pods if id(p) not in was])
        if was - now:
            out.update([p.group for p in before._pods if id(p) not in now])
        if moved := self._promised ^ before._promised:
            out.update([p.group for p in self._pods if p.key in moved])
        return out

    @cached_property
    def broken(self) -> tuple[Members, ...]:
        """Groups of which something runs, less than the minimum."""
        return tuple(m for m in self._of.values() if m.standing is Standing.BROKEN)

    @cached_property
    def waiting(self) -> tuple[Members, ...]:
        """Groups with pods that wait for a node."""
        return tuple([m for m in self._of.values() if m.pending])

    def __getitem__(self, key: GroupKey) -> Members:
        return self._of[key]

    def keys(self) -> Collection[GroupKey]:
        return self._of.keys()

    def values(self) -> Collection[Members]:
        return self._of.values()
