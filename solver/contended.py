"""Contended: which groups and nodes a neighbourhood frees, by what it could gain.

Held work is looked at first things first. A node counts for it by what would have to move for a
pod to fit, and what is idle elsewhere by whether victims have freed it: only some may use that, so
it is free room for others that those should leave.
"""

from collections.abc import Sequence
from itertools import chain, zip_longest

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
KINDS = 12
"""Of so many kinds of their pods nodes are looked for."""
AS_MANY = 3
"""Variables of a board by pairs of specs and nodes: claimants, rights and devices have theirs."""


class Contended:
    """What is held in a plan, and where it could go if other work moved."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._table = standing_of(outcome.scene)
        self._held = held_of(outcome)[:GROUPS]
        self._idle: Matrix = np.maximum(outcome.room, 0)
        self._movable = np.zeros_like(self._idle)
        for p, i in outcome.new_pods:
            self._movable[i] = self._movable[i] + outcome.scene.row(p)
        self._nodes = self._ranked()

    @property
    def size(self) -> int:
        """How many nodes there are to choose from."""
        return len(self._nodes)

    @property
    def groups(self) -> int:
        """How many groups are held."""
        return len(self._held)

    def around(self, size: int) -> Neighbourhood:
        """Return the neighbourhood of so many nodes.

        What starts there alone, at later levels than the first of what is held, is free to give way
        to it. What asks for more than there is then is left out.
        """
        nodes = frozenset(self._nodes[:size])
        elsewhere = {p.group for p, i in self._outcome.new_pods if i not in nodes}
        first = min((self._first_level(m.key) for m in self._held), default=None)
        later = {
            g
            for g in self._outcome.started
            if g not in elsewhere and first is not None and self._last_level(g) > first
        }
        at = sorted(nodes)
        room: Matrix = self._idle[at].sum(axis=0)
        for p, i in self._outcome.new_pods:
            if i in nodes and p.group in later:
                room = room + self._outcome.scene.row(p)
        held = {m.key for m in self._held if (self._asks(m) <= room).all()}
        return Neighbourhood(frozenset(held | later) if held else frozenset(), nodes)

    def variables(self, size: int) -> int:
        """Return about how many variables its board has."""
        specs = {id(p.spec) for m in self._held for p in m.pending}
        own = {(id(p.spec), i) for p, i in self._outcome.new_pods}
        specs |= {k for k, _ in own}
        return AS_MANY * (len(own) + len(specs) * min(size, len(self._nodes)))

    def _asks(self, m: Members) -> Matrix:
        """Return what the least that could start more of the group asks for."""
        places = self._outcome.places
        first = [p for p in first_of(self._table, m) if p.key not in places]
        more = first or [p for p in self._table.usable[m.key] if p.key not in places][:1]
        return self._outcome.scene.rows(more)

    def _of(self, group: GroupKey) -> list[Level]:
        levels = self._outcome.levels
        assert levels is not None
        of = (levels.minimum.get(group), levels.elastic.get(group))
        return [w.level for w in of if w is not None]

    def _first_level(self, group: GroupKey) -> Level:
        """Return the first level of which more of the group could start."""
        of = self._of(group)
        return max(of) if group in self._outcome.started else min(of)

    def _last_level(self, group: GroupKey) -> Level:
        return max(self._of(group))

    def _ranked(self) -> list[int]:
        """Return the nodes, those first that promise most: of each kind in turn, and idle ones."""
        kinds: dict[int, Pod] = {}
        for m in self._held:
            for p in m.pending:
                if p.key not in self._outcome.places:
                    kinds.setdefault(id(p.spec), p)
        pods = list(kinds.values())[:KINDS]
        lists = [*map(self._could_go, pods), *(self._targets(p) for p in pods[:1])]
        rest = sorted({i for _, i in self._outcome.new_pods})
        turns = chain(chain.from_iterable(zip_longest(*lists)), rest)
        return list(dict.fromkeys(i for i in turns if i is not None))

    def _lead(self, pod: Pod) -> int:
        """Return the column of what is short: devices, or what the pod asks for the most of."""
        scene = self._outcome.scene
        row = scene.row(pod)
        column = scene.ledger.column.get(GPU)
        if column is not None and row[column]:
            return column
        total = np.maximum(scene.allocatable.sum(axis=0), 1)
        return int(np.argmax(row.astype(float) / total.astype(float)))

    def _could_go(self, pod: Pod) -> list[int]:
        """Return the nodes that would take the pod if all that starts there went elsewhere."""
        row, lead = self._outcome.scene.row(pod), self._lead(pod)
        able = self._outcome.scene.mask(pod) & (self._idle + self._movable >= row).all(axis=1)
        idle = self._idle[:, lead].astype(float)
        return self._sorted(able, (-idle, np.maximum(0.0, float(row[lead]) - idle)))

    def _targets(self, pod: Pod) -> list[int]:
        """Return the nodes with idle room, that of victims first."""
        freed = np.zeros(len(self._idle), dtype=np.bool_)
        freed[[i for _, i in self._outcome.leaving]] = True
        idle = self._idle[:, self._lead(pod)].astype(float)
        return self._sorted(idle > 0, (-idle, ~freed))

    @staticmethod
    def _sorted(able: "NDArray[np.bool_]", keys: Sequence["NDArray[np.generic]"]) -> list[int]:
        """Return the nodes by the keys, the last one first."""
        at = np.flatnonzero(able)
        order = np.lexsort([k[at] for k in keys])
        return [int(i) for i in at[order]]


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
