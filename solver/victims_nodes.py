"""Victims' nodes: who leaves is chosen anew, together with who starts in their place.

First where victims leave: others may do as well and cost less, some may be spared, and what is
freed may serve held work with a right to it too. Then where a held group would find room if others
left. Rights, budgets and claims are the board's, as ever; so are the costs of evictions, once there
is no more work to be had.
"""

from collections.abc import Collection
from functools import cached_property

import numpy as np

from ..models import GroupKey, QueueName
from ..policies.columns import sums_by
from ..policies.evictable import evictable_flags, victim_priority
from ..policies.ledger import Matrix
from ..policies.members import Members
from ..policies.rights import asks_of, cross_branches, limit_of
from .held import Flags, Held, in_turns, ordered
from .neighbourhood import Neighbourhood

KINDS = 4
"""Of so many kinds of held pods nodes are looked for."""
VICTIMS = 24
"""So many running groups may leave at most that the plan lets stay."""


class VictimsNodes:
    """Nodes where victims leave, and nodes where others could, one a turn."""

    name = "victims"

    def __init__(self, held: Held) -> None:
        self._held = held
        self._scene = held.outcome.scene

    @property
    def turns(self) -> int:
        """How many there are: where somebody leaves, and for each of the first held groups."""
        return 1 + min(KINDS, len(self._held.members))

    @property
    def size(self) -> int:
        """How many nodes there are to choose from; 0 where nobody may leave."""
        if self._scene.config.evictions == "none" or not self._wanted:
            return 0
        return len(self._held.idle)

    def around(self, size: int, turn: int = 0) -> Neighbourhood:
        """Return the neighbourhood: where victims leave (turn 0), or of one held group."""
        held, left = self._held, self._left()
        members = held.members if turn == 0 else held.members[turn - 1 : turn]
        pods = held.kinds(members, KINDS)
        if turn == 0:
            takers = {id(p.spec): p for i in left for p in held.starting.get(i, ())}
            pods = [*list(takers.values())[:KINDS], *pods]
        could = in_turns(*(held.could_go(p, self._amounts) for p in pods))
        nodes = in_turns(left, could) if turn == 0 else list(dict.fromkeys((*could, *left)))
        chosen = nodes[:size]
        return held.around(chosen, members, held.later(held.members), self._victims(chosen))

    def _left(self) -> list[int]:
        """Return the nodes that victims leave, those first where most of it stays idle."""
        held = self._held
        there: Flags = np.zeros(len(held.idle), dtype=np.bool_)
        there[[i for _, i in held.outcome.leaving]] = True
        total = np.maximum(self._scene.allocatable.sum(axis=0), 1).astype(float)
        idle = (held.idle.astype(float) / total).sum(axis=1)
        return ordered(there, (-idle,))

    @cached_property
    def _claimants(self) -> list[Members]:
        """Groups that are held or start and differ in what rights depend on, one of each."""
        out: dict[object, Members] = {}
        roster = self._scene.roster
        for m in (*self._held.members, *(roster[g] for g in self._held.outcome.started)):
            if m.group.may_preempt:
                out.setdefault((m.group.queue, m.group.priority, asks_of(self._scene, m)), m)
        return list(out.values())

    @cached_property
    def _wanted(self) -> Collection[GroupKey]:
        """Running groups that leave, or to which what is held or starts might have a right."""
        scene = self._scene
        known: dict[tuple[QueueName, int], bool] = {}
        out = dict.fromkeys(self._held.outcome.losses)
        of = scene.columns
        able = np.unique(scene.group_numbers[evictable_flags(scene) & of.holding])
        groups = scene.snapshot.groups
        for n in able.tolist():
            m = scene.roster[groups[n].key]
            case = (m.group.queue, victim_priority(m))
            if case not in known:
                known[case] = any(self._may_want(c, *case) for c in self._claimants)
            if known[case]:
                out[m.key] = None
        return out

    def _may_want(self, c: Members, queue: QueueName, priority: int) -> bool:
        scene = self._scene
        limit = limit_of(scene, c.group.queue, queue, c.group.priority)
        if limit is not None and priority >= limit:
            return False
        if queue == c.group.queue:
            return True
        asks = asks_of(scene, c)
        return cross_branches(scene, c.group.queue, queue, asks, "due") is not None

    @cached_property
    def _amounts(self) -> Matrix:
        """What could leave each node, beside what leaves already."""
        scene, of = self._scene, self._scene.columns
        wanted = np.array([g.key in self._wanted for g in scene.snapshot.groups], dtype=np.bool_)
        numbers = scene.group_numbers
        mine = evictable_flags(scene) & of.holding & (numbers >= 0)
        mine[mine] = wanted[numbers[mine]]
        found = np.flatnonzero(mine & (of.node >= 0))
        out: Matrix = sums_by(of.node[found], scene.spec_rows[of.spec[found]], len(scene.nodes))
        for p, i in self._held.outcome.leaving:
            out[i] = np.maximum(0, out[i] - scene.row(p))
        return out

    def _victims(self, nodes: Collection[int]) -> set[GroupKey]:
        """Return who may leave or stay: who leaves these nodes, and who could, the least first."""
        scene, inside = self._scene, set(nodes)
        losses = self._held.outcome.losses
        out = {
            g
            for g, pods in losses.items()
            if any(scene.index.get(p.node or "") in inside for p in pods)
        }
        more: dict[GroupKey, None] = {}
        for p, i in scene.holders:
            g = p.group
            if g is not None and i in inside and g in self._wanted and g not in losses:
                more[g] = None
        rank = {g: (victim_priority(m), len(m.running), g) for g in more for m in [scene.roster[g]]}
        return out | set(sorted(more, key=rank.__getitem__)[:VICTIMS])
