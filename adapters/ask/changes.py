"""Changes: the smallest ones of each kind that would start a group, each tried before it is told.

A change is told where a plan of a copy of the cluster with it starts the group. Within its kind it
is smallest where the next smaller one was planned as well and does not do, or where there is none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

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
from ...models.value import Value, to_data
from ...policies.fitting import Field
from ...policies.limits import limits_of
from ...policies.members import Members, Standing
from ...policies.node_rules import HARD
from ...policies.outcome import Outcome
from ...policies.scene import Scene
from .fewest import fewest
from .numbers import number_that_does
from .obstacles import wanted_of
from .promising import models_that_help
from .raises import lowered, raises_of
from .trial import Trial
from .victims import Room
from .waits import Waits

MOST_TIMES = 8
"""So many times what it asks for a queue is raised at most."""
MOST_VICTIMS = 4
"""So many running groups that could give the room are looked at one by one."""
MOST_OF_A_KIND = 3
"""So many changes of one kind are told: other models of nodes, other taints."""


class Change(Value, frozen=True, omit_defaults=False):
    """A change that starts the group; it was made on a copy, and the copy planned."""

    kind: str
    edits: tuple[Edit, ...]
    says: str
    starts: bool
    """True: at once; False: once others have left their places."""
    evicts: int
    """How many pods that plan evicts."""
    smallest: bool
    """Proven smallest within its kind."""


class Revised(Change, frozen=True):
    """Takes the place of the change before: a smaller one, or the same, proven smallest."""


def to_rows(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return the changes as plain data."""
    return [
        {
            "kind": c.kind, "says": c.says, "starts": c.starts, "evicts": c.evicts,
            "smallest": c.smallest,
            "edits": [{**to_data(e), "says": str(e)} for e in c.edits],
        }
        for c in changes
    ]  # fmt: skip


KINDS = (
    "queue", "level", "toleration", "selector", "cordon", "members", "nodes", "wait", "victims",
    "priority", "due",
)  # fmt: skip
"""Every kind of changes, in the order in which they are told."""
LIKELY = ("queue", "nodes", "victims", "members", "priority")
"""The kinds that are looked for first: they mostly do, and are soon tried."""
WHATEVER_IS_FREE = ("queue", "members")
"""The kinds that help a group which could not start whatever is free."""
NEVER_BY_RULES = ("priority", "due")
"""The kinds that help no group which could not run even if it came first."""


def changes_for(
    outcome: Outcome, trial: Trial, by: str = "order"
) -> tuple[list[Change], tuple[str, ...]]:
    """Return changes that start the group, and the kinds for which there was no time.

    ``by``: what holds it: a hold, rules or the order. The kinds take turns: of each one is looked
    for before others of the kinds are, and none keeps the others waiting until it has gone through
    all that it could try.
    """
    asked = _Asked(outcome, outcome.scene.roster[trial.key], trial)
    found: dict[str, list[Change]] = {k: [] for k in _kinds_for(by)}
    first = {k: n for n, k in enumerate(LIKELY)}
    open_ = {k: asked.of_kind(k) for k in sorted(found, key=lambda k: first.get(k, len(first)))}
    cut: set[str] = set()
    while open_:
        for kind, more in list(open_.items()):
            change = OUT if trial.is_over else next(more, OUT)
            if isinstance(change, Change):
                found[kind][len(found[kind]) - isinstance(change, Revised) :] = [change]
            elif change is OUT:
                del open_[kind]
                if trial.is_over and not found[kind]:
                    cut.add(kind)
    return [c for of in found.values() for c in of], tuple(k for k in found if k in cut)


def _kinds_for(by: str) -> list[str]:
    if by == "hold":
        return list(WHATEVER_IS_FREE)
    return [k for k in KINDS if by != "rules" or k not in NEVER_BY_RULES]


def first_change(
    outcome: Outcome, trial: Trial, kinds: Sequence[str], *, is_held: bool = False
) -> Change | None:
    """Return a change that starts the group, of the first kind that does.

    ``is_held``: whatever is free, it cannot start.
    """
    asked = _Asked(outcome, outcome.scene.roster[trial.key], trial)
    # Where pods have to share a domain, it matters in which one the nodes are.
    near = any(b.required is not None for b in outcome.scene.bonds.of_group(trial.key))
    for kind in kinds:
        if is_held and kind not in WHATEVER_IS_FREE:
            continue
        found = asked.of_kind(kind)
        told = (c for c in found if c is not None)
        if near and kind == "nodes":
            change = min(told, key=_nodes_added, default=None)
        else:
            change = _settled(told)
        if change is not None:
            return change
    return None


def _settled(found: Iterator[Change]) -> Change | None:
    """Return the first of the changes, as small as it is proven to be."""
    change = next(found, None)
    while change is not None and not change.smallest:
        other = next(found, None)
        if not isinstance(other, Revised):
            break
        change = other
    return change


def _nodes_added(change: Change) -> tuple[int, bool]:
    count = sum(e.count for e in change.edits if isinstance(e, AddNodes))
    return count, not change.smallest


Turn = Change | None
"""A change, or the turn of another kind: one that seemed possible does not do."""
OUT: Final = object()
"""Nothing of the kind is left to be tried."""


class _Asked:
    """One held group, and what could be changed for it."""

    def __init__(self, outcome: Outcome, m: Members, trial: Trial) -> None:
        self._outcome, self._m, self._trial = outcome, m, trial
        self._scene: Scene = outcome.scene
        self._wanted = wanted_of(outcome, m)
        self._raises = raises_of(outcome, m, self._wanted)

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
            edits = self._raises.times(times)
            yield from self._told("queue", edits, lowered(edits))

    def dues(self) -> Iterator[Change]:
        """Yield the due at which the group could claim its room from others."""
        scene, g = self._scene, self._m.group
        if g.queue not in scene.tree or not g.preemptable:
            return
        named, ask = limits_of(scene).due_named(g.queue), scene.rows(self._wanted)
        edits: list[Edit] = []
        less: list[Edit] = []
        for r, name in enumerate(scene.ledger.resources):
            need = int(self._outcome.use_after[g.queue][r]) + int(ask[r])
            if ask[r] and r not in scene.ledger.uncounted and need > named.get(r, need):
                edits.append(SetQueue(g.queue, "due", name, need))
                less.append(SetQueue(g.queue, "due", name, need - 1))
        if edits and self._does(edits):
            yield from self._told("due", edits, [less])

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

                for change in self._fewest("nodes", edits, max(1, len(self._wanted))):
                    found += not isinstance(change, Revised)
                    yield change
                yield None
            if found:
                return

    def _fewest(self, kind: str, edits: Callable[[int], list[Edit]], most: int) -> Iterator[Change]:
        """Yield a small number that does; then smaller ones, until one is proven smallest."""
        n = number_that_does(self._trial, edits, most)
        if not n:
            return
        yield self._change(kind, edits(n), n == 1)
        while n > 1 and not self._trial.refuted(edits(n - 1)):
            if not self._trial.starts(edits(n - 1)):
                return  # no time to know
            n -= 1
            yield self._change(kind, edits(n), n == 1, Revised)
        if n > 1:
            yield self._change(kind, edits(n), True, Revised)

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
            if told < MOST_OF_A_KIND and self._fits_without([m]):
                edits = [RemoveGroup(m.key)]
                if self._does(edits):
                    told += 1
                    yield from self._told("victims", edits)
                else:
                    yield None
        several = [] if told else room.several(running)
        if not several:
            return
        if not self._fits_without(several):
            if not self._fits_without(running):
                return
            several = fewest(running, self._fits_without)
        together: list[Edit] = [RemoveGroup(m.key) for m in several]
        if self._does(together):
            less = [[e for e in together if e is not x] for x in together]
            yield from self._told("victims", together, less if len(less) > 1 else [])

    def _fits_without(self, groups: Sequence[Members]) -> bool:
        """Say whether nodes would have places, were these groups gone; a plan may say no yet."""
        scene, outcome = self._scene, self._outcome
        gone = outcome.evicted | {p.key for m in groups for p in m.running}
        without = Outcome(scene, outcome.places, gone, bound=())
        world = scene.world(gone)
        world.present.extend(without.new_pods)
        return Field(scene, without.room, world).place(self._wanted).places is not None
