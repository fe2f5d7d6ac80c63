"""Changes: the smallest ones of each kind that would start a group, each tried before it is told.

A change is tried by planning a copy of the cluster with it. Within its kind it is smallest where
the next smaller one was tried as well and does not do, or where there is none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

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
from ...policies.quota import non_preemptible_use
from ...policies.scene import Scene
from .fewest import fewest, last_of
from .obstacles import wanted_of
from .promising import models_that_help
from .trial import Trial
from .victims import Room

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
    "queue", "level", "toleration", "selector", "cordon", "members", "nodes", "victims", "priority",
    "due",
)  # fmt: skip
"""Every kind of changes, in the order in which they are told."""
LIKELY = ("queue", "nodes", "victims")
"""The kinds that are looked for first: they mostly do, and are soon tried."""
WHATEVER_IS_FREE = ("queue", "members")
"""The kinds that help a group which could not start whatever is free."""
NEVER_BY_RULES = ("priority", "due")
"""The kinds that help no group which could not run even if it came first."""


def changes_for(
    outcome: Outcome, trial: Trial, by: str = "order"
) -> tuple[list[Change], tuple[str, ...]]:
    """Return changes that start the group, and the kinds for which there was no time.

    ``by``: what holds it: a hold, rules or the order. Of each kind one is looked for before others
    of the kinds are.
    """
    asked = _Asked(outcome, outcome.scene.roster[trial.key], trial)
    found: dict[str, list[Change]] = {k: [] for k in _kinds_for(by)}
    open_ = {k: asked.of_kind(k) for k in sorted(found, key=lambda k: k not in LIKELY)}
    cut: set[str] = set()
    while open_:
        for kind, more in list(open_.items()):
            change = None if trial.is_over else next(more, None)
            if change is not None:
                found[kind].append(change)
                continue
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
        if near and kind == "nodes":
            change = min(found, key=_nodes_added, default=None)
        else:
            change = next(found, None)
        if change is not None:
            return change
    return None


def _nodes_added(change: Change) -> int:
    return sum(e.count for e in change.edits if isinstance(e, AddNodes))


class _Asked:
    """One held group, and what could be changed for it."""

    def __init__(self, outcome: Outcome, m: Members, trial: Trial) -> None:
        self._outcome, self._m, self._trial = outcome, m, trial
        self._scene: Scene = outcome.scene
        self._wanted = wanted_of(outcome, m)
        self._queues = self._over_limits()

    def of_kind(self, kind: str) -> Iterator[Change]:
        """Yield the changes of one kind."""
        makers: dict[str, Callable[[], Iterator[Change]]] = {
            "queue": self.queues, "level": self.levels, "toleration": self.tolerations,
            "selector": self.selectors, "cordon": self.cordons, "members": self.members,
            "nodes": self.nodes, "victims": self.victims, "priority": self.priority,
            "due": self.dues,
        }  # fmt: skip
        return makers[kind]()

    def _told(self, kind: str, edits: Sequence[Edit], smallest: bool) -> Change:
        found = self._trial.of(edits)
        says = " and ".join(map(str, edits))
        smallest = smallest and not self._trial.is_over
        return Change(kind, tuple(edits), says, found.at_once, found.evicts, smallest)

    # Queues

    def _over_limits(self) -> list[Edit]:
        """Return what would have to be raised for the group to stay within limits and dues."""
        scene, g = self._scene, self._m.group
        limits, ask = limits_of(scene), scene.rows(self._wanted)
        out: list[Edit] = []
        for q in scene.tree.path(g.queue):
            for r, name in enumerate(scene.ledger.resources):
                most, need = limits.limit[q][r], int(ask[r])
                use = int(self._outcome.use_after[q][r])
                named = scene.tree.queues[q].capability.get(name)
                if need and most is not None and named is not None and use + need > most:
                    out.append(SetQueue(q, "limit", name, use + need))
                due = limits.due_named(q).get(r) if not g.preemptable else None
                fixed = non_preemptible_use(scene)[q][r]
                if need and due is not None and fixed + need > due:
                    out.append(SetQueue(q, "due", name, fixed + need))
        return out

    def queues(self) -> Iterator[Change]:
        """Yield the queue amounts that would have to be raised, if that suffices.

        By so many times what the group asks for: others of the queue may come before it.
        """
        if not self._queues:
            return
        for change in self._fewest("queue", self._raised, MOST_TIMES):
            less = [self._lowered(change.edits, k) for k in range(len(change.edits))]
            smallest = change.smallest and not any(map(self._trial.starts, less))
            yield self._told("queue", change.edits, smallest)

    def _raised(self, times: int) -> list[Edit]:
        ask = dict(zip(self._scene.ledger.resources, self._scene.rows(self._wanted), strict=True))
        return [
            SetQueue(e.queue, e.setting, e.resource, e.amount + (times - 1) * int(ask[e.resource]))
            for e in self._queues
            if isinstance(e, SetQueue) and e.amount is not None
        ]

    @staticmethod
    def _lowered(edits: Sequence[Edit], k: int) -> list[Edit]:
        out = list(edits)
        e = out[k]
        assert isinstance(e, SetQueue)
        assert e.amount is not None
        out[k] = SetQueue(e.queue, e.setting, e.resource, e.amount - 1)
        return out

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
        if edits and self._trial.starts(edits):
            yield self._told("due", edits, not self._trial.starts(less))

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
            for level in (*reversed(levels[:at]), ""):
                if self._trial.starts([Relax(g.key, level, name)]):
                    yield self._told("level", [Relax(g.key, level, name)], True)
                    break

    def tolerations(self) -> Iterator[Change]:
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

    def selectors(self) -> Iterator[Change]:
        """Yield single wishes for nodes that would have to be dropped."""
        specs = {p.spec for p in self._wanted}
        labels = sorted({k for s in specs for k, _ in s.node_selector})
        edits: list[Edit] = [DropSelector(self._m.key, k) for k in labels]
        if any(s.node_affinity is not None for s in specs):
            edits.append(DropSelector(self._m.key))
        yield from self._each("selector", edits)

    def cordons(self) -> Iterator[Change]:
        """Yield single cordoned nodes that would have to take pods again."""
        closed = [n.name for n in self._scene.nodes if n.unschedulable and n.ready]
        yield from self._each("cordon", [Uncordon(n) for n in closed[: 2 * MOST_OF_A_KIND]])

    def _each(self, kind: str, edits: Iterable[Edit]) -> Iterator[Change]:
        """Yield those single changes that suffice; a single one is the smallest there is."""
        told = 0
        for e in edits:
            if told < MOST_OF_A_KIND and self._trial.starts([e]):
                told += 1
                yield self._told(kind, [e], True)

    # Sizes

    def members(self) -> Iterator[Change]:
        """Yield the largest minimum with which the group would start."""
        m = self._m
        begun = any(p.key in self._outcome.places for p in m.pending)
        if begun or m.standing is not Standing.NEW or m.group.role_minimum or m.need < 2:
            return
        done = m.group.effective_minimum - m.need

        def edits(n: int) -> list[Edit]:
            return [SetMinimum(m.key, done + m.need - n)]

        yield from self._fewest("members", edits, m.need - 1)

    def nodes(self) -> Iterator[Change]:
        """Yield how many nodes of a model would have to be added, for the models that help."""
        models = list(models_that_help(self._outcome, self._m, self._wanted))
        for beside in ([], self._queues) if self._queues else ([],):
            found = 0
            for n in models:
                if found >= MOST_OF_A_KIND:
                    return

                def edits(k: int, like: str = n.name, base: Sequence[Edit] = beside) -> list[Edit]:
                    return [*base, AddNodes(like, k)]

                for change in self._fewest("nodes", edits, max(1, len(self._wanted))):
                    found += 1
                    yield change
            if found:
                return

    def _fewest(self, kind: str, edits: Callable[[int], list[Edit]], most: int) -> Iterator[Change]:
        """Yield the smallest number that does: from a guess on, upwards or downwards.

        It is proven where the next smaller one was planned, or could not run whatever the plan.
        """
        low, high = self._guessed(edits, most)
        step = 1
        while high and not self._trial.starts(edits(high)):
            if high >= most or self._trial.is_over:
                return
            low, high, step = high, min(most, high + step), 2 * step
        middle = high - 1  # mostly the guess is right
        while high - low > 1 and not self._trial.is_over:
            low, high = (low, middle) if self._trial.starts(edits(middle)) else (middle, high)
            middle = (low + high) // 2
        if high:
            yield self._told(kind, edits(high), high - low == 1)

    def _guessed(self, edits: Callable[[int], list[Edit]], most: int) -> tuple[int, int]:
        """Return a number that does not do, and the next that may; 0 and 0 where none does."""
        if most < 1 or not self._trial.could(edits(most)):
            return 0, 0
        low = last_of(lambda n: not self._trial.could(edits(n)), 0, most)
        if low:
            return low, low + 1
        room = last_of(lambda n: not self._trial.has_room(edits(n)), 0, most)
        return 0, min(most, room + 1)

    # Order

    def priority(self) -> Iterator[Change]:
        """Yield the lowest priority with which the group would start."""
        g = self._m.group
        mine = self._scene.roster.values()
        ladder = sorted({n + 1 for m in mine for n in _priorities(m) if n >= g.priority})

        def edits(n: int) -> list[Edit]:
            return [SetPriority(g.key, ladder[n - 1])]

        yield from self._fewest("priority", edits, len(ladder))

    def victims(self) -> Iterator[Change]:
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
                if self._trial.starts(edits):
                    told += 1
                    yield self._told("victims", edits, True)
        several = [] if told else room.several(running)
        if not several:
            return
        if not self._fits_without(several):
            if not self._fits_without(running):
                return
            several = fewest(running, self._fits_without)
        together: list[Edit] = [RemoveGroup(m.key) for m in several]
        if self._trial.starts(together):
            less = [[e for e in together if e is not x] for x in together]
            enough = len(less) > 1 and any(map(self._trial.starts, less))
            yield self._told("victims", together, not enough)

    def _fits_without(self, groups: Sequence[Members]) -> bool:
        """Say whether nodes would have places, were these groups gone; a plan may say no yet."""
        scene, outcome = self._scene, self._outcome
        gone = outcome.evicted | {p.key for m in groups for p in m.running}
        without = Outcome(scene, outcome.places, gone, bound=())
        world = scene.world(gone)
        world.present.extend(without.new_pods)
        return Field(scene, without.room, world).place(self._wanted).places is not None


def _priorities(m: Members) -> Iterable[int]:
    return (m.group.priority, *(p.priority for p in m.running))
