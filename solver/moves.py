"""Moves: running pods restarted elsewhere so that a held group starts (docs/design/moves.md).

A plan is taken as it is; of each held group it is asked whether the group and a few movable pods
find places together, all else staying where it is. The answer is a plan of the cluster in which
these pods leave and wait.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models import GroupKey, Move, NodeName, Pod, PodKey
from ..models.edit_nodes import come_back
from ..models.moving import moving
from ..policies.device_places import found_devices
from ..policies.exchange import wanted
from ..policies.fitting import Field
from ..policies.legality import is_legal
from ..policies.limits import limits_of
from ..policies.moves import (
    budgets_bear,
    check_moves,
    may_be_moved_for,
    may_change_devices,
    why_not,
)
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .move_sets import MoveSets
from .search import Clock

SETS, STEPS = 400, 2000
"""So many sets are tried for one group, with so many steps of the search for their places."""
OF_REST = 0.5
"""They take this part of the time that is left; the rest is for the order list and the plan."""
GROUPS = 200
"""So many held groups are looked at."""


@dataclass(frozen=True)
class Moved:
    """A plan with moves, as an outcome of the cluster in which the moved pods leave and wait."""

    outcome: Outcome
    for_whom: Mapping[PodKey, GroupKey]
    """By moved pod, the group that starts thanks to it."""


def make_room(outcome: Outcome, clock: Clock) -> Moved | None:
    """Start held groups by moving running pods, as many as the settings allow; None: nobody."""
    left = clock.left()
    own = clock if left is None else clock.no_longer_than(max(0.0, OF_REST * left))
    search = _Moving(outcome, own)
    for key in _held(outcome):
        while search.starts(key):
            pass
        if search.is_over:
            break
    return Moved(search.outcome, search.for_whom) if search.for_whom else None


def moves_of(moved: Outcome, for_whom: Mapping[PodKey, GroupKey]) -> tuple[Move, ...]:
    """Return the moves of a plan, with the devices that shares get."""
    shares = found_devices(moved).shares
    pods = moved.scene.pods
    out: list[Move] = []
    for key, room_for in sorted(for_whom.items()):
        group = pods[key].group
        assert group is not None
        at = moved.places.get(key, NodeName(""))
        out.append(Move(key, group, at, room_for, shares.get(key, ())))
    return tuple(out)


def _held(outcome: Outcome) -> list[GroupKey]:
    """Return the groups that wait and could run, in the order of their levels."""
    scene, levels = outcome.scene, outcome.levels
    assert levels is not None
    could_run = standing_of(scene).could_run
    out: list[tuple[object, int, GroupKey]] = []
    for m in scene.roster.waiting:
        waits = any(p.key not in outcome.places for p in m.pending)
        worth = levels.minimum.get(m.key) or levels.elastic.get(m.key)
        if waits and could_run[m.key] and worth is not None and m.group.may_preempt:
            out.append((worth.level, m.group.created_s, m.key))
    return [key for *_, key in sorted(out)[:GROUPS]]


class _Moving:
    """A plan that gets more moves step by step."""

    def __init__(self, outcome: Outcome, clock: Clock) -> None:
        self.outcome = outcome
        self.for_whom: dict[PodKey, GroupKey] = {}
        self._first = outcome
        self._clock = clock

    @property
    def is_over(self) -> bool:
        most = self._first.scene.config.moves
        return len(self.for_whom) >= most or self._clock.is_out()

    def starts(self, group: GroupKey) -> bool:
        """Start the group, or one more of its pods, if moves allow it; say whether."""
        if self.is_over:
            return False
        movable = list(self._movable(group))
        for pods in wanted(self.outcome, group) if movable else ():
            if self._might_fit(group, pods) and self._try(group, pods, movable):
                return True
        return False

    def _movable(self, group: GroupKey) -> Iterator[Pod]:
        scene = self.outcome.scene
        giving = self.outcome.losses.keys()
        for m in scene.roster.values():
            if m.running and m.key not in giving and m.key != group:
                for p in m.running:
                    if may_be_moved_for(scene, p, group) and not why_not(self._first.scene, p):
                        yield p

    def _might_fit(self, group: GroupKey, pods: Sequence[Pod]) -> bool:
        """Say whether the cluster as a whole has the room, and queues the quota."""
        outcome, scene = self.outcome, self.outcome.scene
        ask = scene.rows(pods)
        asked = np.flatnonzero(ask).tolist()
        free = np.maximum(outcome.room[:, asked], 0).sum(axis=0)
        if any(int(n) < int(ask[r]) for n, r in zip(free, asked, strict=True)):
            return False
        limits = limits_of(scene)
        return not any(
            most is not None and ask[r] and int(outcome.use_after[q][r]) + int(ask[r]) > most
            for q in scene.tree.path(scene.snapshot.group(group).queue)
            for r, most in enumerate(limits.limit[q])
        )

    def _try(self, group: GroupKey, pods: Sequence[Pod], movable: Sequence[Pod]) -> bool:
        outcome = self.outcome
        left = outcome.scene.config.moves - len(self.for_whom)
        world = outcome.scene.world(outcome.evicted)
        world.present.extend(outcome.new_pods)
        choices = Field(outcome.scene, outcome.room, world).choices(pods)
        domains = [mask for c in choices if c.hard for mask in c.domains]
        tries = SETS
        for some in MoveSets(outcome, movable, pods).of(left, domains):
            if tries <= 0 or self._clock.is_out():
                return False
            leaving = (*outcome.evicted, *self.for_whom, *(p.key for p in some))
            if not budgets_bear(self._first.scene, leaving):
                continue
            tries -= 1
            found = self._with(group, pods, some)
            if found is not None:
                self.outcome = found
                self.for_whom |= {p.key: group for p in some}
                return True
        return False

    def _with(self, group: GroupKey, pods: Sequence[Pod], some: Sequence[Pod]) -> Outcome | None:
        """Return the plan in which these pods start and those are moved, if there is one."""
        outcome = self.outcome
        for rooms in (True, False) if outcome.evicted else (False,):
            places = _places(outcome, pods, some, rooms)
            if places is None:
                continue
            after = moving(outcome.scene.snapshot, {p.key for p in some})
            scene = Scene(after, outcome.scene.config, outcome.scene.rules)
            found = Outcome(scene, {**outcome.places, **places}, outcome.evicted, bound=())
            for_whom = {**self.for_whom, **{p.key: group for p in some}}
            if is_legal(found) and is_right(self._first, found, for_whom):
                return found
        return None


def is_right(before: Outcome, found: Outcome, for_whom: Mapping[PodKey, GroupKey]) -> bool:
    """Say whether a plan with moves keeps what the plan before it has, and its moves are right."""
    if found.evicted != before.evicted or not before.places.keys() <= found.places.keys():
        return False
    places = {k: n for k, n in found.places.items() if k not in for_whom}
    moves = moves_of(found, for_whom)
    return not any(True for _ in check_moves(before.scene, moves, found.evicted, places))


def _places(
    outcome: Outcome, pods: Sequence[Pod], some: Sequence[Pod], beside_victims: bool
) -> Mapping[PodKey, NodeName] | None:
    """Return places for pods that start and pods that move, all else staying where it is.

    ``beside_victims``: the room of who is evicted stays empty, as not everybody may use it.
    """
    scene = outcome.scene
    world = scene.world((*outcome.evicted, *(p.key for p in some)))
    world.present.extend(outcome.new_pods)
    room = outcome.room.copy()
    for p in some:
        i = scene.index[p.node or ""]
        room[i] = room[i] + scene.row(p)
    for p, i in outcome.leaving if beside_victims else ():
        room[i] = room[i] - scene.row(p)
    field = Field(scene, room, world)
    for p in some:
        if not may_change_devices(p):
            elsewhere = np.ones(len(scene.nodes), dtype=np.bool_)
            elsewhere[scene.index[p.node or ""]] = False
            field.only[p.key] = elsewhere
    back = [come_back(p, scene.snapshot.taken_at_s) for p in some]
    return field.place([*pods, *back], STEPS).places
