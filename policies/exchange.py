"""An exchange: a plan without S and with g, all else staying where it is, if that is legal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..models import GroupKey, NodeName, Pod, PodKey
from .claims import subsets
from .evictable import given_up
from .fitting import Field, each_kind_has_room
from .givers import Giver
from .ledger import Matrix
from .legality import is_legal
from .limits import limits_of
from .members import Standing
from .outcome import Outcome
from .takers import takers_of


def exchange(outcome: Outcome, group: GroupKey, givers: Sequence[Giver]) -> Outcome | None:
    """Return the plan without the givers and with the group (or one member more), if legal."""
    scene = outcome.scene
    m = scene.roster[group]
    places = dict(outcome.places)
    evicted = set(outcome.evicted)
    for g in givers:
        for p in g.pods:
            if g.starts:
                places.pop(p.key, None)
            else:
                evicted.add(p.key)
    if given_up(scene, m):
        evicted -= {p.key for p in m.running}
    base = Outcome(scene, places, evicted, bound=())
    for pods in wanted(base, group):
        found = _place(base, group, pods)
        if found is not None:
            return found
    return None


def might_start(outcome: Outcome, group: GroupKey, instead: GroupKey | None) -> bool:
    """Say whether counting allows the exchange of what ``instead`` starts for the group.

    Room on nodes and in queues, each kind of pods by itself: a no is certain. None: nothing goes.
    """
    scene = outcome.scene
    room = outcome.room.copy()
    for p in outcome.started.get(instead, ()) if instead is not None else ():
        i = scene.index[outcome.places[p.key]]
        room[i] = room[i] + scene.row(p)
    return any(_is_counted(outcome, group, instead, pods, room) for pods in wanted(outcome, group))


def is_free(pods: Sequence[Pod]) -> bool:
    """Say whether nothing but room and filters has a say about the pods."""
    return not any(
        p.spec.sees_pods or p.spec.host_ports or p.spec.volumes or p.spec.claims or p.spec.share
        or p.spec.aligned or p.subgroups
        for p in pods
    )  # fmt: skip


def _is_counted(
    outcome: Outcome, group: GroupKey, instead: GroupKey | None, pods: Sequence[Pod], room: Matrix
) -> bool:
    scene = outcome.scene
    limits, ask = limits_of(scene), scene.rows(pods)
    less = scene.rows(outcome.started.get(instead, ()) if instead is not None else ())
    theirs = scene.tree.path(scene.snapshot.group(instead).queue) if instead is not None else ()
    for q in scene.tree.path(scene.snapshot.group(group).queue):
        use = outcome.use_after[q] - less if q in theirs else outcome.use_after[q]
        for r, most in enumerate(limits.limit[q]):
            if most is not None and ask[r] and int(use[r]) + int(ask[r]) > most:
                return False
    return each_kind_has_room(outcome.scene, pods, room)


def wanted(outcome: Outcome, group: GroupKey) -> list[list[Pod]]:
    """Return what the group would start next: its minimum in one choice or another, or one pod."""
    m = outcome.scene.roster[group]
    pending = [p for p in m.pending if p.key not in outcome.places]
    running = [*outcome.kept(group)]
    started = list(outcome.started.get(group, ()))
    if m.is_whole([*running, *started]) and (running or started or m.standing is Standing.WHOLE):
        kinds: dict[object, Pod] = {}
        for p in pending:
            kinds.setdefault((p.role, p.spec, p.subgroups), p)
        return [[p] for p in kinds.values()]
    # What runs and what starts already stays in the minimum.
    there = replace(m, running=(*running, *started))
    out = [list(first) for first in there.minima(pending)]
    usable = [p for p in pending if outcome.scene.mask(p).any()]
    if len(usable) < len(pending):
        out += [list(first) for first in there.minima(usable)]
    return [c for c in out if c]


def _place(base: Outcome, group: GroupKey, pods: Sequence[Pod]) -> Outcome | None:
    scene = base.scene
    room = base.room
    if not each_kind_has_room(scene, pods, room):
        return None
    probe = _somewhere(base, pods)
    own = _own_room(base, probe, group, room) if base.evicted else room
    rooms = [own] if own is room or (own == room).all() else [own, room]
    field: Field | None = None
    for usable in rooms:
        if not each_kind_has_room(scene, pods, usable):
            continue
        if field is None:
            world = scene.world(base.evicted)
            world.present.extend(base.new_pods)
            field = Field(scene, room, world)
        field.room = usable.copy()
        fit = field.place(pods)
        if fit.places is None:
            continue
        legal = _legal_with(base, probe, group, fit.places)
        if legal is not None:
            return legal
    return None


def _somewhere(base: Outcome, pods: Sequence[Pod]) -> Outcome:
    """Return the plan in which the pods start, wherever: no right depends on the nodes."""
    start = {p.key: base.scene.nodes[0].name for p in pods}
    return Outcome(base.scene, {**base.places, **start}, base.evicted, bound=())


def _legal_with(
    base: Outcome, probe: Outcome, group: GroupKey, more: Mapping[PodKey, NodeName]
) -> Outcome | None:
    full = Outcome(base.scene, {**base.places, **more}, base.evicted, bound=())
    full.kept_takers = probe.kept_takers
    if is_legal(full):
        return full
    spared = spare(full)
    if spared is not None and group in spared.started and is_legal(spared):
        return spared
    return None


def spare(outcome: Outcome) -> Outcome | None:
    """Take back evictions that no starting group has a right to (any more)."""
    if not outcome.losses:
        return None
    scene = outcome.scene
    takers = takers_of(outcome)
    evicted = set(outcome.evicted)
    for key, pods in outcome.losses.items():
        m = scene.roster[key]
        if given_up(scene, m) and key not in outcome.started:
            continue
        if not takers.of(key):
            evicted -= {p.key for p in pods}
    if evicted == set(outcome.evicted):
        return None
    return Outcome(scene, outcome.places, evicted, bound=())


def _own_room(base: Outcome, probe: Outcome, group: GroupKey, room: Matrix) -> Matrix:
    """Return the room that the group may claim: of what is freed, what others leave it.

    On a node with victims any set of claimants stays within the room before and what the victims
    free to which one of the set has a right; the group may take what all sets with it leave.
    """
    scene, takers = base.scene, takers_of(probe)
    victims_on: dict[int, list[Pod]] = {}
    for p, i in scene.holders:
        if p.key in base.evicted and p.group is not None:
            victims_on.setdefault(i, []).append(p)
    new_on: dict[int, list[Pod]] = {}
    for p, i in base.new_pods:
        new_on.setdefault(i, []).append(p)

    def reach(g: GroupKey | None, victims: Sequence[Pod]) -> frozenset[PodKey]:
        return frozenset(
            v.key
            for v in victims
            if g is not None and v.group is not None
            and (given_up(scene, scene.roster[v.group]) or g in takers.of(v.group))
        )  # fmt: skip

    out = room.copy()
    for i, victims in victims_on.items():
        mine = reach(group, victims)
        kinds: dict[frozenset[PodKey], list[Pod]] = {}
        for p in new_on.get(i, ()):
            kinds.setdefault(reach(p.group, victims), []).append(p)
        before = np.maximum(scene.room_later[i], 0)
        for others in [(), *subsets(list(kinds))]:
            all_of = mine.union(*others)
            freed = scene.rows([v for v in victims if v.key in all_of])
            used = scene.rows([p for k in others for p in kinds[k]])
            out[i] = np.minimum(out[i], before + freed - used)
    return out
