"""Held: what waits after a plan, where it might go, and what could make room for it.

Every kind of neighbourhood starts from here: held work first things first, what is idle, what
starts where, and the levels by which one thing may give way to another.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod
from ..models.devices import GPU
from ..policies.ledger import Matrix
from ..policies.levels import Level
from ..policies.members import Members
from ..policies.outcome import Outcome
from ..policies.standing import standing_of
from .leveling import first_of
from .neighbourhood import Neighbourhood

GROUPS = 200
"""So many held groups are looked at together, first things first."""
AS_MANY = 3
"""Variables of a board by pairs of specs and nodes: claimants, rights and devices have theirs."""
OF_A_VICTIM = 6
"""Variables of a running group that may leave."""

Flags = NDArray[np.bool_]
T = TypeVar("T")


class Held:
    """What is held in a plan, first things first, and what is idle and movable on each node."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._table = standing_of(outcome.scene)
        self.members: Sequence[Members] = held_of(outcome)[:GROUPS]
        self.idle: Matrix = np.maximum(outcome.room, 0)
        self.starting: dict[int, list[Pod]] = {}
        """Pods that start, by node."""
        for p, i in outcome.new_pods:
            self.starting.setdefault(i, []).append(p)

    @cached_property
    def movable(self) -> Matrix:
        """What starts on each node."""
        out = np.zeros_like(self.idle)
        for i, pods in self.starting.items():
            out[i] = self.outcome.scene.rows(pods)
        return out

    @cached_property
    def nodes_of(self) -> dict[GroupKey, set[int]]:
        """The nodes of each group that starts."""
        out: dict[GroupKey, set[int]] = {}
        for p, i in self.outcome.new_pods:
            if p.group is not None:
                out.setdefault(p.group, set()).add(i)
        return out

    # Levels

    def _of(self, group: GroupKey) -> list[Level]:
        levels = self.outcome.levels
        assert levels is not None
        of = (levels.minimum.get(group), levels.elastic.get(group))
        return [w.level for w in of if w is not None]

    def first_level(self, group: GroupKey) -> Level:
        """Return the first level of which more of the held group could start."""
        of = self._of(group)
        return max(of) if group in self.outcome.started else min(of)

    def last_level(self, group: GroupKey) -> Level:
        return max(self._of(group))

    def later(self, members: Iterable[Members]) -> set[GroupKey]:
        """Return what starts at later levels than the first of these."""
        first = min((self.first_level(m.key) for m in members), default=None)
        if first is None:
            return set()
        return {g for g in self.outcome.started if self.last_level(g) > first}

    # Neighbourhoods

    def asks(self, m: Members) -> Matrix:
        """Return what the least that could start more of the group asks for."""
        places = self.outcome.places
        first = [p for p in first_of(self._table, m) if p.key not in places]
        more = first or [p for p in self._table.usable[m.key] if p.key not in places][:1]
        return self.outcome.scene.rows(more)

    def around(
        self,
        nodes: Collection[int],
        members: Iterable[Members],
        may_stop: Iterable[GroupKey],
        victims: Collection[GroupKey] = (),
    ) -> Neighbourhood:
        """Return the neighbourhood of these nodes for these held groups.

        Of what may stop only what stands there alone is free to: the rest would stop in part. A
        held group that asks for more than there is then is left out.
        """
        scene, inside = self.outcome.scene, frozenset(nodes)
        free = {g for g in may_stop if self.nodes_of[g] <= inside}
        at = sorted(inside)
        room: Matrix = self.idle[at].sum(axis=0)
        pods = [p for i in at for p in self.starting.get(i, ()) if p.group in free]
        for v in victims:
            pods += [p for p in scene.roster[v].running if scene.index.get(p.node or "") in inside]
        room = room + scene.rows(pods)
        held = {m.key for m in members if (self.asks(m) <= room).all()}
        if not held and not victims:
            return Neighbourhood(frozenset(), inside)
        return Neighbourhood(frozenset(held | free), inside, frozenset(victims))

    def variables(self, of: Neighbourhood) -> int:
        """Return about how many variables its board has."""
        started = self.outcome.started
        specs = {id(p.spec) for i in of.nodes for p in self.starting.get(i, ())}
        for g in of.groups:
            if g not in started:
                specs |= {id(p.spec) for p in self.outcome.scene.roster[g].pending}
        outside = len(started) + OF_A_VICTIM * len({*of.victims, *self.outcome.losses})
        return AS_MANY * (outside + len(specs) * len(of.nodes))

    # Nodes

    def kinds(self, members: Iterable[Members], most: int) -> list[Pod]:
        """Return a held pod of each spec, at most so many."""
        out: dict[int, Pod] = {}
        for m in members:
            for p in m.pending:
                if p.key not in self.outcome.places:
                    out.setdefault(id(p.spec), p)
        return list(out.values())[:most]

    def lead(self, pod: Pod) -> int:
        """Return the column of what is short: devices, or what the pod asks for the most of."""
        scene = self.outcome.scene
        row = scene.row(pod)
        column = scene.ledger.column.get(GPU)
        if column is not None and row[column]:
            return column
        total = np.maximum(scene.allocatable.sum(axis=0), 1)
        return int(np.argmax(row.astype(float) / total.astype(float)))

    def could_go(self, pod: Pod, more: Matrix | None = None) -> list[int]:
        """Return the nodes that take the pod if what starts there, and ``more``, were gone."""
        row, lead = self.outcome.scene.row(pod), self.lead(pod)
        room = self.idle + self.movable
        if more is not None:
            room = room + more
        able = self.outcome.scene.mask(pod) & (room >= row).all(axis=1)
        idle = self.idle[:, lead].astype(float)
        return ordered(able, (-idle, np.maximum(0.0, float(row[lead]) - idle)))

    def idlest(self, pod: Pod) -> list[int]:
        """Return the nodes with idle room, that of victims first."""
        freed = np.zeros(len(self.idle), dtype=np.bool_)
        freed[[i for _, i in self.outcome.leaving]] = True
        idle = self.idle[:, self.lead(pod)].astype(float)
        return ordered(idle > 0, (-idle, ~freed))


def held_of(outcome: Outcome) -> list[Members]:
    """Return groups of which more could start than does, first things first."""
    scene, levels = outcome.scene, outcome.levels
    assert levels is not None
    usable = standing_of(scene).usable
    out: list[tuple[Level, str, Members]] = []
    for m in scene.roster.waiting:
        if all(p.key in outcome.places for p in usable[m.key]):
            continue
        of = [w for w in (levels.minimum.get(m.key), levels.elastic.get(m.key)) if w is not None]
        if m.key in outcome.started:
            of = of[-1:]
        if of:
            out.append((min(w.level for w in of), m.key, m))
    return [m for _, _, m in sorted(out, key=lambda t: t[:2])]


def ordered(able: Flags, keys: Sequence["NDArray[np.generic]"]) -> list[int]:
    """Return the nodes that are able, by the keys, the last one first."""
    at = np.flatnonzero(able)
    order = np.lexsort([k[at] for k in keys])
    return [int(i) for i in at[order]]


def in_turns(*lists: Iterable[T]) -> list[T]:
    """Return what is in the lists, each thing once: the first of each, the second of each ..."""
    turns = chain.from_iterable(zip_longest(*lists))
    return list(dict.fromkeys(i for i in turns if i is not None))
