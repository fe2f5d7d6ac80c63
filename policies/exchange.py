"""An exchange: a plan without S and with g, all else staying where it is, if that is legal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from ..models import GroupKey, NodeName, Pod, PodKey, Violation
from .api import Constraint
from .claims import subsets
from .evictable import evictable, given_up, victim_priority
from .fitting import Field
from .items import nominated_pods
from .ledger import Matrix
from .members import Standing
from .outcome import Outcome
from .podset import PodSet
from .rights import Rights, rights_of
from .scene import Scene

SMALL = 7
"""Pools of up to so many are tried in all parts."""

Way = Literal["starting", "starting elastic", "running", "running elastic"]


@dataclass(frozen=True, slots=True)
class Giver:
    """One thing that may give way: a starting group, a starting elastic pod, or running work."""

    way: Way
    group: GroupKey
    pods: tuple[Pod, ...]
    stands_for: Pod | None = None
    """The elastic pod in whose stead it would give way: of equal pods, any may."""

    @property
    def judged(self) -> Pod:
        """The pod by whose item it is judged."""
        return self.stands_for if self.stands_for is not None else self.pods[0]

    @property
    def starts(self) -> bool:
        return self.way.startswith("starting")

    def __str__(self) -> str:
        if self.way in ("starting", "running"):
            return f"{self.way} group {self.group}"
        return f"{self.way} pod {self.pods[0].key}"


def verify(outcome: Outcome) -> list[Violation]:
    """Ask every rule's plain-Python half about a plan."""
    found = list(_refused(outcome))
    for rule in outcome.scene.rules:
        if isinstance(rule, Constraint):
            found += rule.check(outcome)
    return found


def _refused(outcome: Outcome) -> Iterable[Violation]:
    """Ask the filters about every pod that starts."""
    scene = outcome.scene
    for pod, i in outcome.new_pods:
        node = scene.nodes[i]
        for rule in scene.filters:
            reason = rule.refuse(PodSet((pod,)), node)
            if reason is not None:
                yield Violation(rule.name, f"pod {pod.key}", f"{reason.about} {reason.message}")


def is_legal(outcome: Outcome) -> bool:
    """Say whether no rule objects; stops at the first that does."""
    if not all(outcome.scene.mask(pod)[i] for pod, i in outcome.new_pods):
        return False
    for rule in outcome.scene.rules:
        if isinstance(rule, Constraint):
            for _ in rule.check(outcome):
                return False
    return True


def starters(outcome: Outcome) -> list[Giver]:
    """Return what starts in a plan: new groups with all that they start, and single elastic pods.

    What completes a broken group never gives way.
    """
    out: list[Giver] = []
    for key, pods in sorted(outcome.started.items()):
        m = outcome.scene.roster[key]
        if m.standing is Standing.NEW:
            out.append(Giver("starting", key, pods))
        elastic, stands_for = elastic_starts(outcome, key)
        out += [Giver("starting elastic", key, (p,)) for p in reversed(elastic)]
        out += [
            Giver("starting elastic", key, (p,), stands_for[p.key])
            for p in pods
            if p.key in stands_for and p not in elastic
        ]
    return out


def elastic_starts(outcome: Outcome, key: GroupKey) -> tuple[tuple[Pod, ...], Mapping[PodKey, Pod]]:
    """Return the elastic pods that a group starts, and for what it starts the last one alike.

    Which of equal pods is elastic is a matter of names: each stands for the last of its kind.
    """
    scene = outcome.scene
    m = scene.roster[key]
    started = {q.key for q in outcome.started.get(key, ())}
    ranked = [p for p in m.pending if p.key in started]
    elastic = tuple(p for p in m.split([*outcome.kept(key), *ranked])[1] if p.key in started)
    of_kind = {_alike(scene, p): p for p in elastic}
    others = [p for p in ranked if _alike(scene, p) in of_kind]
    return elastic, {p.key: of_kind[_alike(scene, p)] for p in others}


def _alike(scene: Scene, p: Pod) -> object:
    """Pods of a group that differ in nothing that anybody looks at."""
    labels = tuple((k, p.labels.get(k)) for k in sorted(scene.asked_labels))
    return (p.role, p.spec, p.key in nominated_pods(scene), p.priority, p.preemptable, labels)


def runners(outcome: Outcome) -> list[Giver]:
    """Return running work that could leave: whole groups, and single pods of groups that stay."""
    scene = outcome.scene
    out: list[Giver] = []
    for m in scene.roster.values():
        kept = outcome.kept(m.key)
        completed = m.standing is Standing.BROKEN and m.key in outcome.started
        if not kept or given_up(scene, m) or completed:
            continue
        if all(evictable(scene, p) for p in kept):
            out.append(Giver("running", m.key, kept))
        for p in reversed(kept):
            rest = [q for q in kept if q.key != p.key]
            if evictable(scene, p) and rest and m.is_whole(rest):
                out.append(Giver("running elastic", m.key, (p,)))
    return out


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


def wanted(outcome: Outcome, group: GroupKey) -> list[list[Pod]]:
    """Return what the group would start next: its minimum in one choice or another, or one pod."""
    m = outcome.scene.roster[group]
    pending = [p for p in m.pending if p.key not in outcome.places]
    running = [*outcome.kept(group)]
    started = list(outcome.started.get(group, ()))
    if m.is_whole([*running, *started]) and (running or started or m.standing is Standing.WHOLE):
        kinds: dict[object, Pod] = {}
        for p in pending:
            kinds.setdefault((p.role, p.spec), p)
        return [[p] for p in kinds.values()]
    # What runs and what starts already stays in the minimum.
    there = replace(m, running=(*running, *started))
    out = [list(first) for first in there.minima(pending)]
    usable = [p for p in pending if outcome.scene.mask(p).any()]
    if len(usable) < len(pending):
        out += [list(first) for first in there.minima(usable)]
    return [c for c in out if c]


def room_of(outcome: Outcome) -> Matrix:
    """Return what is free after the plan, one row a node."""
    scene = outcome.scene
    room = scene.room_later.copy()
    for p, i in scene.holders:
        if p.key in outcome.evicted:
            room[i] = room[i] + scene.row(p)
    for p, i in outcome.new_pods:
        room[i] = room[i] - scene.row(p)
    return room


def _place(base: Outcome, group: GroupKey, pods: Sequence[Pod]) -> Outcome | None:
    scene = base.scene
    world = scene.world(base.evicted)
    world.present.extend(base.new_pods)
    room = room_of(base)
    legal: Outcome | None = None
    for limited in (True, False) if base.evicted else (False,):
        usable = _own_room(base, group, pods, room) if limited else room
        fit = Field(scene, usable, world).place(pods)
        if fit.places is None:
            continue
        legal = _legal_with(base, group, fit.places)
        if legal is not None:
            return legal
    return legal


def _legal_with(base: Outcome, group: GroupKey, more: Mapping[PodKey, NodeName]) -> Outcome | None:
    scene = base.scene
    places = {**base.places, **more}
    evicted = set(base.evicted)
    full = Outcome(scene, places, evicted, bound=())
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
    rights = rights_of(outcome)
    evicted = set(outcome.evicted)
    for key, pods in outcome.losses.items():
        m = scene.roster[key]
        if given_up(scene, m) and key not in outcome.started:
            continue
        if not any(rights.may(g, key) for g in outcome.started):
            evicted -= {p.key for p in pods}
    if evicted == set(outcome.evicted):
        return None
    return Outcome(scene, outcome.places, evicted, bound=())


def _own_room(base: Outcome, group: GroupKey, pods: Sequence[Pod], room: Matrix) -> Matrix:
    """Return the room that the group may claim: of what is freed, what others leave it.

    On a node with victims any set of claimants stays within the room before and what the victims
    free to which one of the set has a right; the group may take what all sets with it leave.
    """
    scene = base.scene
    start = {p.key: scene.nodes[0].name for p in pods}
    rights = rights_of(Outcome(scene, {**base.places, **start}, base.evicted, bound=()))
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
            and (given_up(scene, scene.roster[v.group]) or rights.may(g, v.group))
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


def smallest(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver]
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return a minimal part of the pool that makes room for the group, and the plan it leads to.

    The pool's first members are the first to give way; none of the result could stay, pod by pod.
    """
    every = _distinct(pool)
    chosen = [g for g in every if g.stands_for is None]
    found = exchange(outcome, group, chosen)
    if found is None:
        # Gangs, budgets and guarantees may bear a part of the pool, though not the whole.
        if all(g.starts and g.stands_for is None for g in every):
            return None
        if len(every) <= SMALL:
            return _first_part(outcome, group, every)
        found, chosen = _bearable_part(outcome, group, every)
        if found is None:
            return None
    for giver in reversed(list(chosen)):
        fewer = [g for g in chosen if g is not giver]
        tried = exchange(outcome, group, fewer)
        if tried is not None:
            chosen, found = fewer, tried
            continue
        singles = [g for g in pool if g.group == giver.group and len(g.pods) < len(giver.pods)]
        part = _singles(outcome, group, fewer, singles)
        if part is not None:
            chosen, found = [*part[0]], part[1]
    return tuple(chosen), found


def _singles(
    outcome: Outcome, group: GroupKey, beside: Sequence[Giver], singles: Sequence[Giver]
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return a minimal part of a group's single pods that makes room, beside what gives way."""
    first = [g for g in singles if g.stands_for is None]
    found = exchange(outcome, group, [*beside, *first]) if first else None
    if found is None:
        few = 0 < len(first) < len(singles) <= SMALL
        return _first_part(outcome, group, singles, beside) if few else None
    for single in list(first):
        less = [g for g in first if g is not single]
        tried = exchange(outcome, group, [*beside, *less])
        if tried is not None:
            first, found = less, tried
    return (*beside, *first), found


def _bearable_part(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver]
) -> tuple[Outcome | None, list[Giver]]:
    """Try parts that gangs and budgets bear: the first to go first, then node after node."""
    nodes = {g.pods[0].key: outcome.places.get(g.pods[0].key, g.pods[0].node) for g in pool}
    wishes = [None, *sorted({n for n in nodes.values() if n is not None})[: 2 * SMALL]]
    seen: set[frozenset[PodKey]] = set()
    for wish in wishes:
        ordered = sorted(pool, key=lambda g: nodes[g.pods[0].key] != wish) if wish else pool
        part = _bearable(outcome, ordered)
        key = frozenset(p.key for g in part for p in g.pods)
        if not part or key in seen:
            continue
        seen.add(key)
        found = exchange(outcome, group, part)
        if found is not None:
            return found, part
    return None, []


def _bearable(outcome: Outcome, pool: Sequence[Giver]) -> list[Giver]:
    """Return givers in order, as long as each group stays whole and each budget bears it."""
    scene = outcome.scene
    left = {b.key: b.allowed for b in scene.snapshot.budgets}
    gone: dict[GroupKey, set[PodKey]] = {}
    out: list[Giver] = []
    for g in pool:
        keys = gone.setdefault(g.group, set()) | {p.key for p in g.pods}
        rest = [p for p in outcome.after(g.group) if p.key not in keys]
        if "elastic" in g.way and not scene.roster[g.group].is_whole(rest):
            continue
        cost = {} if g.starts else {
            b.key: n for b in scene.snapshot.budgets if (n := sum(map(b.covers, g.pods)))
        }  # fmt: skip
        if any(n > left[k] for k, n in cost.items()):
            continue
        for k, n in cost.items():
            left[k] -= n
        gone[g.group] = keys
        out.append(g)
    return out


def _first_part(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver], beside: Sequence[Giver] = ()
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return the smallest part of a small pool that makes room for the group."""
    for n in range(1, len(pool) + 1):
        for part in combinations(pool, n):
            if not _keeps_gangs(outcome, part):
                continue
            found = exchange(outcome, group, [*beside, *part])
            if found is not None:
                return (*beside, *part), found
    return None


def _keeps_gangs(outcome: Outcome, part: Sequence[Giver]) -> bool:
    """Say whether groups that give single pods stay whole."""
    gone: dict[GroupKey, set[PodKey]] = {}
    for g in part:
        if "elastic" in g.way:
            gone.setdefault(g.group, set()).update(p.key for p in g.pods)
    roster = outcome.scene.roster
    return all(
        roster[k].is_whole([p for p in outcome.after(k) if p.key not in keys])
        for k, keys in gone.items()
    )


def _distinct(pool: Iterable[Giver]) -> list[Giver]:
    """Leave out single pods of groups that are in the pool as a whole."""
    pool = list(pool)
    whole = {(g.group, g.starts) for g in pool if "elastic" not in g.way}
    return [g for g in pool if "elastic" not in g.way or (g.group, g.starts) not in whole]


def takeable(outcome: Outcome, group: GroupKey) -> list[Giver]:
    """Return the running work to which the group could have a right, in the best case for it.

    That case: the group starts, and of its own queue everything it may evict has left.
    """
    scene = outcome.scene
    g = scene.roster[group]
    own = {
        p.key
        for m in scene.roster.values()
        if m.group.queue == g.group.queue
        and m.key != group
        and victim_priority(m) < g.group.priority
        for p in m.running
        if evictable(scene, p)
    }
    gone_new = {
        p.key
        for k, pods in outcome.started.items()
        if scene.snapshot.group(k).queue == g.group.queue
        and scene.snapshot.group(k).priority < g.group.priority
        for p in pods
    }
    node = scene.nodes[0].name
    start = {p.key: node for p in (g.first or g.pending[:1])}
    places = {k: n for k, n in outcome.places.items() if k not in gone_new}
    best = Outcome(scene, {**places, **start}, outcome.evicted | own, bound=())
    rights = rights_of(best)
    return [r for r in runners(outcome) if r.group != group and _may_take(rights, group, r)]


def _may_take(rights: Rights, group: GroupKey, giver: Giver) -> bool:
    return bool(rights.may(group, giver.group, len(giver.pods)))
