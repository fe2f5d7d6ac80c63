"""The order list: objections that a good plan does not draw (docs/design/order.md, section 5).

An objection (g, S): the plan without S and with g is legal, and g has the better claim. It counts
only if the plan it leads to stands against objections of items below its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ..models import Group, GroupKey, Pod, PodKey, PodSpec, QueueName
from .evictable import given_up, loss_priority
from .exchange import exchange, is_free, might_start
from .givers import Giver, elastic_starts, focused, starters, takeable
from .items import nominated_pods, party_of
from .members import Standing
from .needless import needless
from .objection import Objection, Patience
from .outcome import Outcome
from .places import Places, places_of
from .rights import rights_of
from .smallest import smallest
from .standing import standing_of


def objections(outcome: Outcome, patience: Patience | None = None) -> Iterator[Objection]:
    """Yield the objections that count, the lowest items first, while patience lasts.

    Item 8 is looked at only where there is no other.
    """
    patience = patience if patience is not None else Patience()
    judge = _Judge(patience)
    found = False
    for item in range(1, 8):
        for o in judge.of_item(outcome, item):
            if judge.stands(o):
                found = True
                yield o
    if not found:
        yield from needless(outcome, patience)


def first_objection(outcome: Outcome, patience: Patience | None = None) -> Objection | None:
    """Return the objection to follow: the first of the lowest item."""
    return next(objections(outcome, patience), None)


def objection_against(outcome: Outcome, group: GroupKey, patience: Patience) -> Objection | None:
    """Return an objection that has nothing but what a group starts give way; None: none."""
    judge = _Judge(patience, giver=group)
    for item in range(1, 7):
        found = next(judge.of_item(outcome, item), None)
        if found is not None:
            return found
    return None


class _Judge:
    def __init__(self, patience: Patience, giver: GroupKey | None = None) -> None:
        self._patience = patience
        self._giver = giver
        """The only one that gives way; None: anyone."""
        self._in_its_room: dict[object, bool] = {}
        self._asked: set[object] = set()

    # Of whom

    def _starters(self, o: Outcome) -> Sequence[Giver]:
        every = starters(o)
        return every if self._giver is None else [s for s in every if s.group == self._giver]

    def _takeable(self, o: Outcome, group: GroupKey) -> Sequence[Giver]:
        return takeable(o, group) if self._giver is None else []

    def _could_use(self, o: Outcome, group: Group) -> bool:
        """Say whether the room of the only one that gives way could serve, and is needed."""
        if group.key == self._giver:
            return False
        kind = self._kind(o, group)
        if kind not in self._in_its_room:
            pending = o.scene.roster[group.key].pending
            self._in_its_room[kind] = (
                might_start(o, group.key, self._giver)
                and not (is_free(pending) and might_start(o, group.key, None))
                and exchange(o, group.key, ()) is None
            )
        return self._in_its_room[kind]

    def _is_worth_asking(self, o: Outcome, group: Group, item: int) -> bool:
        """Say whether the group may object where only one gives way; equal ones are asked once.

        But for age, of which they differ.
        """
        asked = (item, self._kind(o, group))
        if asked in self._asked or not self._could_use(o, group):
            return False
        if item != 5:
            self._asked.add(asked)
        return True

    @staticmethod
    def _kind(o: Outcome, group: Group) -> object:
        """Return what groups have in common that need the same room, with the same claim to it."""
        m = o.scene.roster[group.key]
        specs = Counter(id(p.spec) for p in m.pending if p.key not in o.places)
        bound = m.key if o.scene.bonds.of_group(m.key) or group.user else None
        return (
            group.queue, group.priority, group.may_preempt, m.need, m.standing,
            tuple(sorted(specs.items())), bound,
        )  # fmt: skip

    # Who objects

    def of_item(
        self, outcome: Outcome, item: int, focus: frozenset[PodKey] = frozenset()
    ) -> Iterator[Objection]:
        """Yield objections of an item; those in focus give way first, where that makes sense."""
        rules: dict[int, Callable[[Outcome, Group], Iterable[tuple[Sequence[Giver], bool]]]] = {
            1: self._broken, 2: self._dues, 3: self._priority, 4: self._surplus, 5: self._age,
            6: self._elastic, 7: self._idle,
        }  # fmt: skip
        for group in self._seekers(outcome):
            if self._giver is not None and not self._is_worth_asking(outcome, group, item):
                continue
            broken = outcome.scene.roster[group.key].standing is Standing.BROKEN
            if item == 1 and (not broken or group.key in outcome.started):
                continue
            if self._patience.is_over:
                return
            yield from self._objections(outcome, item, group, rules[item], focus)

    def _objections(
        self,
        outcome: Outcome,
        item: int,
        group: Group,
        pools: Callable[[Outcome, Group], Iterable[tuple[Sequence[Giver], bool]]],
        focus: frozenset[PodKey],
    ) -> Iterator[Objection]:
        across = item == 3 and outcome.scene.config.priority_everywhere
        seen: set[frozenset[PodKey]] = set()
        for pool, exactly in pools(outcome, group):
            if self._giver is not None and not pool:
                continue
            if not self._patience.spend():
                return
            if not pool and item != 7:
                continue
            if exactly:
                tried = exchange(outcome, group.key, pool)
                result = None if tried is None else (tuple(pool), tried)
            else:
                result = smallest(outcome, group.key, focused(pool, focus), self._patience)
            if result is None:
                continue
            gives_way, after = result
            pods = frozenset(p.key for s in gives_way for p in s.pods)
            if pods in seen:
                continue
            seen.add(pods)
            if (item == 7) == (not gives_way) and self._holds(
                item, outcome, after, group, gives_way
            ):
                starts = frozenset(p.key for p in after.started[group.key])
                yield Objection(item, group.key, gives_way, after, starts - outcome.places.keys())
                # Across queues what gives way may come back by its due: then others are asked.
                if item == 7 or not (exactly or across):
                    break

    @staticmethod
    def _seekers(outcome: Outcome) -> list[Group]:
        """Return groups that are held or lack members, though they could run."""
        scene = outcome.scene
        could = standing_of(scene).could_run
        out = []
        for m in scene.roster.values():
            lacking = any(p.key not in outcome.places for p in m.pending)
            leaving = m.key in outcome.losses and not given_up(scene, m)
            if lacking and could[m.key] and not leaving:
                out.append(m.group)
        return sorted(out, key=lambda g: (-g.priority, g.created_s, g.key))

    # What would give way, the first to go first

    def _broken(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        new = [s for s in self._starters(o) if s.group != g.key]
        yield self._ranked(o, new), False
        yield self._ranked(o, [*new, *self._takeable(o, g.key)]), False

    def _dues(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        scene = o.scene
        places = places_of(standing_of(scene), o)
        new_out = [
            s
            for s in self._starting_out(o, places, g)
            if scene.snapshot.group(s.group).queue != g.queue
            and not (scene.config.priority_everywhere and self._priority_of(o, s) > g.priority)
        ]
        own = [
            s
            for s in (*self._starters(o), *self._takeable(o, g.key))
            if scene.snapshot.group(s.group).queue == g.queue
            and self._priority_of(o, s) < g.priority
        ]
        others = [
            r for r in self._takeable(o, g.key) if scene.snapshot.group(r.group).queue != g.queue
        ]
        yield self._ranked(o, new_out), False
        yield self._ranked(o, [*new_out, *others]), False
        yield self._ranked(o, [*new_out, *others, *own]), False
        yield self._ranked(o, [*new_out, *own]), False

    def _priority(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        scene = o.scene
        everywhere = scene.config.priority_everywhere
        lower = [
            s
            for s in (*self._starters(o), *self._takeable(o, g.key))
            if s.group != g.key
            and self._priority_of(o, s) < g.priority
            and (scene.snapshot.group(s.group).queue == g.queue or (everywhere and s.starts))
        ]
        yield self._ranked(o, [s for s in lower if s.starts]), False
        yield self._ranked(o, lower), False
        if everywhere:
            for node in sorted({n for s in lower for p in s.pods if (n := o.places.get(p.key))}):
                here = [s for s in lower if any(o.places.get(p.key) == node for p in s.pods)]
                yield self._ranked(o, here), False

    def _surplus(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        scene = o.scene
        places = places_of(standing_of(scene), o)
        promised = nominated_pods(scene)
        if any(p.key in promised for p in scene.roster[g.key].pending):
            promised = frozenset()  # of two that were promised a place, shares decide
        by_branch: dict[QueueName, list[Giver]] = {}
        for s in self._starting_out(o, places, g):
            if any(p.key in promised for p in s.pods):
                continue  # others left for it
            _, theirs = scene.tree.apart(g.queue, scene.snapshot.group(s.group).queue)
            if theirs:
                by_branch.setdefault(theirs[-1], []).append(s)
        for _, pool in sorted(by_branch.items()):
            ranked = self._ranked(o, pool)
            for n in range(1, len(ranked) + 1):
                yield ranked[:n], False
            for s in ranked:
                yield [s], True

    def _age(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        m = o.scene.roster[g.key]
        kind = _kinds(m.pending)
        promised = nominated_pods(o.scene)

        def is_promised(pods: Sequence[Pod]) -> bool:
            return any(p.key in promised for p in pods)

        for s in self._starters(o):
            other = o.scene.roster[s.group]
            twin = (
                s.way == "starting"
                and s.group != g.key
                and m.standing is Standing.NEW
                and other.standing is Standing.NEW
                and g.key not in o.started
                and other.group.queue == g.queue
                and other.group.priority == g.priority
                and party_of(o.scene, other.group) == party_of(o.scene, g)
                and (other.need, dict(other.role_need)) == (m.need, dict(m.role_need))
                and other.choices == m.choices
                and (other.group.topology, other.group.subgroups) == (g.topology, g.subgroups)
                and other.group.created_s > g.created_s
                and _kinds(other.pending) == kind
                and is_promised(other.pending) == is_promised(m.pending)
            )
            if twin:
                yield [s], True

    def _elastic(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        if o.scene.roster[g.key].standing is not Standing.NEW or g.key in o.started:
            return
        pool = [
            s
            for s in self._starters(o)
            if s.way == "starting elastic"
            and o.scene.snapshot.group(s.group).queue == g.queue
            and o.scene.snapshot.group(s.group).priority <= g.priority
        ]
        yield self._ranked(o, pool), False

    def _idle(self, o: Outcome, g: Group) -> Iterable[tuple[Sequence[Giver], bool]]:
        yield (), True

    # Conditions

    def _holds(
        self, item: int, before: Outcome, after: Outcome, g: Group, gives_way: Sequence[Giver]
    ) -> bool:
        running = [s for s in gives_way if not s.starts]
        if running:
            rights = rights_of(after)
            if not all(rights.may(g.key, s.group) for s in running):
                return False
        if item == 2:
            queue = before.scene.snapshot.group
            other = any(queue(s.group).queue != g.queue for s in gives_way)
            return other and self._is_in(before, after, g)
        if item == 4:
            return self._is_poorer(before, after, g, gives_way)
        return True

    @staticmethod
    def _is_in(before: Outcome, after: Outcome, g: Group) -> bool:
        """Say whether what the group starts more in the changed plan is in."""
        places = places_of(standing_of(after.scene), after)
        fresh = [p for p in after.started[g.key] if p.key not in before.places]
        if len(fresh) == 1 and (g.key in before.started or before.kept(g.key)):
            # One more member: of equal pods the last counts, whatever its name.
            stands_for = elastic_starts(after, g.key)[1]
            fresh = [stands_for.get(p.key, p) for p in fresh]
        return all(places.of_pod(p.key).is_in for p in fresh)

    @staticmethod
    def _is_out(o: Outcome, places: Places, s: Giver, g: Group) -> bool:
        """Say whether what starts is out at its branch, seen from the group's queue."""
        queue = o.scene.snapshot.group(s.group).queue
        _, theirs = o.scene.tree.apart(g.queue, queue)
        if not theirs:
            return False
        if s.way == "starting":
            every = places.items_of_group[s.group]
            items = [i for i in every if i.kind == "minimum"] or every
            return all(places.of(i).is_out_at(theirs[-1]) for i in items)
        return places.of_pod(s.judged.key).is_out_at(theirs[-1])

    def _starting_out(self, o: Outcome, places: Places, g: Group) -> list[Giver]:
        """Return what starts and is out, and elastic pods that are equal to one that is out."""
        every = [s for s in self._starters(o) if s.group != g.key]
        out = [s for s in every if self._is_out(o, places, s, g)]
        last = {s.pods[0].key for s in out if s.way == "starting elastic" and s.stands_for is None}
        for s in every:
            if s.way == "starting elastic" and s not in out:
                equal = elastic_starts(o, s.group)[1].get(s.pods[0].key)
                if equal is not None and equal.key in last:
                    out.append(replace(s, stands_for=equal))
        return out

    @staticmethod
    def _is_poorer(before: Outcome, after: Outcome, g: Group, gives_way: Sequence[Giver]) -> bool:
        scene = before.scene
        table = standing_of(scene)

        def share(outcome: Outcome, queue: QueueName) -> tuple[int, Fraction]:
            use = [int(v) for v in outcome.use_after[queue]]
            value = table.share(use)
            weight = scene.tree.queues[queue].weight
            if not weight:
                return (1 if value else 0, Fraction(0))
            return (0, value / weight)

        mine, theirs = scene.tree.apart(g.queue, scene.snapshot.group(gives_way[0].group).queue)
        return share(after, theirs[-1]) > share(before, mine[-1])

    @staticmethod
    def _priority_of(o: Outcome, s: Giver) -> int:
        m = o.scene.roster[s.group]
        return m.group.priority if s.starts else loss_priority(m, s.pods)

    def _ranked(self, o: Outcome, pool: Sequence[Giver]) -> list[Giver]:
        """Order a pool: out before in, lowest priority, elastic, new, youngest first."""
        places = places_of(standing_of(o.scene), o)

        def key(s: Giver) -> tuple[object, ...]:
            m = o.scene.roster[s.group]
            pods = s.pods if s.stands_for is None else (s.stands_for,)
            items = [places.item_of_pod[p.key] for p in pods if p.key in places.item_of_pod]
            inside = all(places.of(i).is_in for i in items)
            return (
                inside, self._priority_of(o, s), "elastic" not in s.way, not s.starts,
                -m.group.created_s, s.group, s.pods[0].key,
            )  # fmt: skip

        return sorted(pool, key=key)

    # What counts

    def stands(self, o: Objection) -> bool:
        """Say whether no earlier item rightly objects to what the objection starts."""
        for item in range(1, o.item):
            for against in self.of_item(o.leads_to, item, o.starts):
                gone = {p.key for s in against.gives_way if s.starts for p in s.pods}
                if o.starts <= gone and self.stands(against):
                    return False
        return True


def _kinds(pods: Sequence[Pod]) -> Counter[tuple[str, PodSpec, tuple[str, ...]]]:
    return Counter((p.role, p.spec, p.subgroups) for p in pods)
