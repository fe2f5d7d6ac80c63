"""Kinds of changes: what could be edited for one held group, the smallest that does of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

from ...models import Toleration
from ...models.edits import (
    AddNodes,
    DropSelector,
    Edit,
    Relax,
    RemoveGroup,
    SetMinimum,
    SetPriority,
    SetQueue,
    Tolerate,
    Uncordon,
)
from ...policies.limits import limits_of
from ...policies.members import Members, Standing
from ...policies.node_rules import HARD
from ...policies.outcome import Outcome
from ...policies.scene import Scene
from ...policies.standing import standing_of
from .change import Change, Revised, Turn
from .fewest import fewest
from .numbers import number_that_does, numbers_that_do
from .obstacles import wanted_of
from .promising import models_that_help, nodes_for_all
from .raises import less_than, raises_of
from .trial import Trial, is_small
from .victims import Room
from .waits import Waits

T = TypeVar("T")
MOST_TIMES = 8
"""So many times what it asks for a queue is raised at most."""
MOST_VICTIMS = 4
"""So many running groups that could give the room are looked at one by one."""
MOST_OF_A_KIND = 3
"""So many changes of one kind are told: other models of nodes, other taints."""


class Asked:
    """One held group, and what could be changed for it."""

    def __init__(self, outcome: Outcome, m: Members, trial: Trial) -> None:
        self._outcome, self._m, self._trial = outcome, m, trial
        self._scene: Scene = outcome.scene
        self._wanted = wanted_of(outcome, m)
        self._raises = raises_of(outcome, m, self._wanted)
        self._is_small = is_small(trial.snapshot)

    def of_kind(self, kind: str) -> Iterator[Turn]:
        """Yield the changes of one kind."""
        makers: dict[str, Callable[[], Iterator[Turn]]] = {
            "queue": self.queues, "level": self.levels, "toleration": self.tolerations,
            "selector": self.selectors, "cordon": self.cordons, "members": self.members,
            "nodes": self.nodes, "wait": self.waits, "victims": self.victims,
            "priority": self.priority, "due": self.dues,
        }  # fmt: skip
        return makers[kind]()

    def _told(
        self, kind: str, edits: Sequence[Edit], less: Sequence[Sequence[Edit]] = ()
    ) -> Iterator[Change]:
        """Yield a change that does; once more, if asked to, when nothing that is less does.

        So what is certain is told before time goes into that.
        """
        yield self._change(kind, edits, not less)
        if less and all(map(self._trial.refuted, less)):
            yield self._change(kind, edits, True, Revised)

    def _change(
        self, kind: str, edits: Sequence[Edit], smallest: bool, made: type[Change] = Change
    ) -> Change:
        found, says = self._trial.of(edits), " and ".join(map(str, edits))
        return made(kind, tuple(edits), says, found.at_once, found.evicts, smallest)

    def _does(self, edits: Sequence[Edit]) -> bool:
        """Say whether the group starts; what is not even likely to do is not planned as a whole."""
        return self._trial.likely(edits) and self._trial.starts(edits)

    # Queues

    def queues(self) -> Iterator[Change]:
        """Yield the queue amounts that would have to be raised, if that suffices.

        By so many times what the group asks for: others of the queue may come before it.
        """
        if not self._raises.needed:
            return
        times = number_that_does(self._trial, self._raises.times, MOST_TIMES)
        if times:
            yield from self._amounts("queue", self._raises.times(times))

    def dues(self) -> Iterator[Change]:
        """Yield the due at which the group could claim its room from others."""
        scene, g = self._scene, self._m.group
        if g.queue not in scene.tree or not g.preemptable:
            return
        named, ask = limits_of(scene).due_named(g.queue), scene.rows(self._wanted)
        edits: list[SetQueue] = []
        for r, name in enumerate(scene.ledger.resources):
            need = int(self._outcome.use_after[g.queue][r]) + int(ask[r])
            if ask[r] and r not in scene.ledger.uncounted and need > named.get(r, need):
                edits.append(SetQueue(g.queue, "due", name, need))
        if edits and self._does(edits):
            yield from self._amounts("due", edits)

    def _amounts(self, kind: str, edits: list[SetQueue]) -> Iterator[Change]:
        def less(of: list[SetQueue]) -> list[list[SetQueue]]:
            return less_than(self._scene, of, self._is_small)

        yield from self._least(kind, edits, lambda of: list(of), less)

    # Wishes

    def levels(self) -> Iterator[Change]:
        """Yield the narrowest level that would do in the stead of the required one."""
        g = self._m.group
        asked = [("", g.topology), *((s.name, s.topology) for s in g.subgroups)]
        for name, request in asked:
            if request is None or not request.required:
                continue
            levels = [x.name for t in self._scene.snapshot.topologies if t.name == request.topology
                      for x in t.levels]  # fmt: skip
            at = levels.index(request.required) if request.required in levels else len(levels)
            narrower: list[list[Edit]] = []
            for level in (*reversed(levels[:at]), ""):
                if self._does([Relax(g.key, level, name)]):
                    yield from self._told("level", [Relax(g.key, level, name)], narrower)
                    break
                narrower.append([Relax(g.key, level, name)])

    def tolerations(self) -> Iterator[Turn]:
        """Yield single taints that would have to be tolerated."""
        taints = dict.fromkeys(
            (t.key, t.value, t.effect)
            for n in self._scene.nodes if n.takes_pods for t in n.taints if t.effect in HARD
        )  # fmt: skip
        edits: list[Edit] = [
            Tolerate(self._m.key, Toleration(key, "Equal", value, effect))
            for key, value, effect in taints
        ]
        yield from self._each("toleration", edits)

    def selectors(self) -> Iterator[Turn]:
        """Yield single wishes for nodes that would have to be dropped."""
        specs = {p.spec for p in self._wanted}
        labels = sorted({k for s in specs for k, _ in s.node_selector})
        edits: list[Edit] = [DropSelector(self._m.key, k) for k in labels]
        if any(s.node_affinity is not None for s in specs):
            edits.append(DropSelector(self._m.key))
        yield from self._each("selector", edits)

    def cordons(self) -> Iterator[Turn]:
        """Yield single cordoned nodes that would have to take pods again."""
        closed = [n.name for n in self._scene.nodes if n.unschedulable and n.ready]
        yield from self._each("cordon", [Uncordon(n) for n in closed[: 2 * MOST_OF_A_KIND]])

    def _each(self, kind: str, edits: Iterable[Edit]) -> Iterator[Turn]:
        """Yield those single changes that suffice; a single one is the smallest there is."""
        told = 0
        for e in edits:
            if told >= MOST_OF_A_KIND:
                return
            if self._does([e]):
                told += 1
                yield from self._told(kind, [e])
            elif self._trial.could([e]):
                yield None

    # Sizes

    def members(self) -> Iterator[Change]:
        """Yield the largest minimum with which the group would start."""
        m = self._m
        begun = any(p.key in self._outcome.places for p in m.pending)
        if begun or m.standing is not Standing.NEW or m.need < 2:
            return
        if m.group.role_minimum or m.group.choices:
            return
        done = m.group.effective_minimum - m.need

        def edits(n: int) -> list[Edit]:
            return [SetMinimum(m.key, done + m.need - n)]

        yield from self._fewest("members", edits, m.need - 1)

    def nodes(self) -> Iterator[Turn]:
        """Yield how many nodes of a model would have to be added, for the models that help."""
        models = list(models_that_help(self._outcome, self._m, self._wanted))
        for beside in dict.fromkeys(((), self._raises.needed)):
            found = 0
            for n in models:
                if found >= MOST_OF_A_KIND:
                    return

                def edits(k: int, like: str = n.name, base: Sequence[Edit] = beside) -> list[Edit]:
                    return [*base, AddNodes(like, k)]

                most = nodes_for_all(self._outcome, self._m, n, self._wanted)
                for change in self._fewest("nodes", edits, most):
                    found += not isinstance(change, Revised)
                    yield change
                yield None
            if found:
                return

    def _fewest(self, kind: str, edits: Callable[[int], list[Edit]], most: int) -> Iterator[Change]:
        """Yield a small number that does; then smaller ones, until one is proven smallest."""
        if self._is_small:
            n = number_that_does(self._trial, edits, most)
            if n:
                yield from self._least(kind, n, edits, self._fewer)
            return
        made, n = Change, 0
        able = bool(standing_of(self._scene).could_run[self._m.key])
        for n in numbers_that_do(self._trial, edits, most, able):
            yield self._change(kind, edits(n), n == 1, made)
            made = Revised
        if n > 1:
            yield from self._least(kind, n, edits, self._fewer, Revised)

    def _fewer(self, n: int) -> Sequence[int]:
        """Return the numbers to be refuted: the next one, where plans are soon made all of them.

        More mostly helps where less does, but not always: another claim may rise with it.
        """
        return range(n - 1, 0 if self._is_small else max(0, n - 2), -1)

    def _least(
        self, kind: str, of: T, edits: Callable[[T], list[Edit]],
        fewer: Callable[[T], Sequence[T]], made: type[Change] = Change,
    ) -> Iterator[Change]:  # fmt: skip
        """Yield what does; then what does of all that is less, until one is proven smallest."""
        less = fewer(of)
        yield self._change(kind, edits(of), not less, made)
        while less:
            found = next((x for x in less if not self._trial.refuted(edits(x))), None)
            if found is None:
                yield self._change(kind, edits(of), True, Revised)
                return
            if not self._trial.starts(edits(found)):
                return  # no time to know
            of, less = found, fewer(found)
            yield self._change(kind, edits(of), not less, Revised)

    # Others

    def waits(self) -> Iterator[Change]:
        """Yield how long to wait until enough of what runs has ended, where that is known."""
        waits = Waits.of(self._scene.snapshot)
        yield from map(waits.told, self._fewest("wait", waits.until, len(waits.moments)))

    def priority(self) -> Iterator[Change]:
        """Yield the lowest priority with which the group would start."""
        g = self._m.group
        all_ = self._scene.roster.values()
        theirs = {m.group.priority for m in all_} | {p.priority for m in all_ for p in m.running}
        # As high as others it may come before them by its age; above them it does in any case.
        ladder = sorted({q for n in theirs for q in (n, n + 1) if q > g.priority})

        def edits(n: int) -> list[Edit]:
            return [SetPriority(g.key, ladder[n - 1])]

        yield from self._fewest("priority", edits, len(ladder))

    def victims(self) -> Iterator[Turn]:
        """Yield the smallest set of running groups without which the group would start."""
        roster = self._scene.roster.values()
        running = [m for m in roster if m.running and m.key != self._m.key]
        running.sort(key=lambda m: (m.group.priority, len(m.running), -m.group.created_s, m.key))
        if not running or not self._wanted:
            return
        room = Room(self._outcome, running, self._wanted)
        alone = [m for m, does in zip(running, room.suffices(), strict=True) if does]
        told = 0
        for m in alone[:MOST_VICTIMS]:
            if told < MOST_OF_A_KIND and room.fits_without([m]):
                edits = [RemoveGroup(m.key)]
                if self._does(edits):
                    told += 1
                    yield from self._told("victims", edits)
                else:
                    yield None
        several = [] if told else room.several(running)
        if not several:
            return
        if not room.fits_without(several):
            if not room.fits_without(running):
                return
            several = fewest(running, lambda some: not self._trial.is_over and room.bears(some))
            if self._trial.is_over:
                return
        if self._does(_without(several)):
            yield from self._least("victims", several, _without, self._less_of)

    def _less_of(self, groups: list[Members]) -> list[list[Members]]:
        """Return the parts to be refuted: all but one, where plans are soon made any smaller."""
        size = len(groups)
        least = 1 if self._is_small else max(1, size - 1)
        sizes = range(size - 1, least - 1, -1)
        return [list(some) for n in sizes for some in combinations(groups, n)]


def _without(groups: Sequence[Members]) -> list[Edit]:
    return [RemoveGroup(m.key) for m in groups]
