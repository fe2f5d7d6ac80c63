"""Givers: what may give way to a group, of what starts in a plan and of what runs."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal

from ..models import GroupKey, Pod, PodKey
from .evictable import evictable, given_up, loss_priority
from .items import nominated_pods
from .members import Standing
from .outcome import Outcome
from .rights import Rights, rights_of
from .scene import Scene

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


def focused(pool: Sequence[Giver], focus: AbstractSet[PodKey]) -> Sequence[Giver]:
    """Return the pool with those of these pods in front, in the stead of equal ones."""
    if focus.isdisjoint(p.key for g in pool for p in g.pods):
        return pool
    first = {
        g.stands_for.key: g.pods[0]
        for g in pool
        if g.stands_for is not None and g.pods[0].key in focus and g.stands_for.key not in focus
    }
    out: list[Giver] = []
    for g in pool:
        pod = g.pods[0]
        if len(g.pods) == 1 and pod.key in first:
            g = replace(g, stands_for=first[pod.key])
        elif g.stands_for is not None and first.get(g.stands_for.key) is pod:
            g = replace(g, stands_for=None)
        out.append(g)
    return sorted(out, key=lambda g: focus.isdisjoint(p.key for p in g.pods))


def _alike(scene: Scene, p: Pod) -> object:
    """Pods of a group that differ in nothing that anybody looks at."""
    labels = tuple((k, p.labels.get(k)) for k in sorted(scene.asked_labels))
    promised = p.key in nominated_pods(scene)
    return (p.role, p.spec, p.subgroups, promised, p.priority, p.preemptable, labels)


def runners(outcome: Outcome) -> Sequence[Giver]:
    """Return running work that could leave: whole groups, and single pods of groups that stay."""
    if outcome.kept_runners is None:
        outcome.kept_runners = _runners(outcome)
    return outcome.kept_runners


def _runners(outcome: Outcome) -> list[Giver]:
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


def takeable(outcome: Outcome, group: GroupKey) -> Sequence[Giver]:
    """Return the running work to which the group could have a right, in the best case for it.

    That case: the group starts, and of its own queue everything it may evict has left.
    """
    known = outcome.kept_takeable
    if group not in known:
        known[group] = _takeable(outcome, group)
    return known[group]


def _takeable(outcome: Outcome, group: GroupKey) -> list[Giver]:
    scene = outcome.scene
    g = scene.roster[group]
    own = {
        p.key
        for m in scene.roster.values()
        if m.group.queue == g.group.queue and m.key != group
        for p in m.running
        if evictable(scene, p) and loss_priority(m, (p,)) < g.group.priority
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
    return bool(rights.may(group, giver.group, giver.pods))
