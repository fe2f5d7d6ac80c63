"""Admission: groups without pods are let in while limits bear all that is in use and reserved.

For every resource r that the group's minResources name, with what groups that were let in before
have reserved: use(q, r) + reserved(q, r) + ask(r) ≤ limit(q, r) for its queue q and every ancestor;
used + reserved + ask ≤ hard of every ResourceQuota of its namespace that covers all pods (of
``limits.*`` the limits that minResources name); and
used(r) + reserved(r) + ask(r) ≤ overcommit · capacity(r) of the nodes that take pods. Use is what
runs after the plan. A reservation counts until the group has pods.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..models import Admission, Group, GroupKey, QueueName, Reason, Violation
from ..models.amounts import ZERO
from ..models.quantity import more_asked, show
from .api import Holding
from .limits import limits_of
from .outcome import Outcome
from .quota import Quota
from .standing import standing_of

NAME = "admission"
_GANG = "gang"
"""Says that there are no pods yet, which is no reason here."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A limit that would not bear what is asked for."""

    about: str
    limit: str
    there: int
    ask: int
    resource: str

    @property
    def reason(self) -> Reason:
        there, more = show(self.there, self.resource), more_asked(self.ask, self.resource)
        said = f"{self.about} has {there} in use or reserved of its {self.limit}"
        return Reason(NAME, self.about, f"{said}; {more}")

    @property
    def complaint(self) -> str:
        """What to say where the ask is among what is reserved."""
        return f"{self.about} would have {show(self.there, self.resource)} of its {self.limit}"


class Reservations:
    """What is in use after a plan, and what is reserved beside it."""

    def __init__(self, outcome: Outcome) -> None:
        scene = outcome.scene
        self._outcome, self._scene = outcome, scene
        self._limits = limits_of(scene)
        self._queues = {q: [int(v) for v in row] for q, row in outcome.use_after.items()}
        room = outcome.room
        self._all = [0] * len(scene.ledger.resources)
        for i, n in enumerate(scene.nodes):
            if n.takes_pods:
                held = scene.allocatable[i] - room[i]
                self._all = [a + int(b) for a, b in zip(self._all, held, strict=True)]
        self._namespaces: dict[str, dict[str, int]] = {}
        """By namespace, what is reserved by key of a ResourceQuota."""
        for g in scene.snapshot.groups:
            if g.admitted and not scene.snapshot.pods_by_group.get(g.key):
                self.add(g)

    def add(self, group: Group) -> None:
        """Reserve what the group asks for."""
        ask = _ask(group)
        for r, v in ask.items():
            column = self._scene.ledger.column[r]
            self._all[column] += v
            for q in self._scene.tree.path(group.queue):
                self._queues[q][column] += v
        mine = self._namespaces.setdefault(group.namespace, {})
        for key, _, v in _quota_asks(group):
            mine[key] = mine.get(key, 0) + v

    def refusal(self, group: Group) -> Beyond | None:
        """Return what does not bear the group as well; None if everything does."""
        return next(iter(self._beyond(group)), None)

    def excess(self, group: Group) -> Beyond | None:
        """Return what does not bear the group, which is among the reservations already."""
        return next(iter(self._beyond(group, there_already=True)), None)

    def share(self, queue: QueueName) -> Fraction:
        """Return the queue's dominant share, what is reserved counted."""
        return standing_of(self._scene).share(self._queues[queue])

    def _beyond(self, group: Group, there_already: bool = False) -> Iterable[Beyond]:
        ask = dict.fromkeys(_ask(group), 0) if there_already else _ask(group)
        yield from self._beyond_queues(group, ask)
        yield from self._beyond_quotas(group, there_already)
        yield from self._beyond_cluster(ask)

    def _beyond_queues(self, group: Group, ask: Mapping[str, int]) -> Iterable[Beyond]:
        if not any(isinstance(rule, Quota) for rule in self._scene.rules):
            return
        for q in self._scene.tree.path(group.queue):
            for r, v in ask.items():
                column = self._scene.ledger.column[r]
                most, there = self._limits.limit[q][column], self._queues[q][column]
                if most is not None and there + v > most:
                    yield Beyond(f"queue {q}", f"limit of {show(most, r)} {r}", there, v, r)

    def _beyond_quotas(self, group: Group, there_already: bool) -> Iterable[Beyond]:
        reserved = self._namespaces.get(group.namespace, {})
        for quota in self._scene.snapshot.quotas:
            if quota.namespace != group.namespace or quota.scoped:
                continue
            for key, r, ask in _quota_asks(group):
                v = 0 if there_already else ask
                most = quota.hard.get(key)
                there = quota.used.get(key, 0) + reserved.get(key, 0)
                if most is not None and there + v > most:
                    about, limit = f"ResourceQuota {quota.key}", f"{show(most, r)} {key}"
                    yield Beyond(about, limit, there, v, r)

    def _beyond_cluster(self, ask: Mapping[str, int]) -> Iterable[Beyond]:
        percent = self._scene.config.overcommit_percent
        for r, v in ask.items():
            column = self._scene.ledger.column[r]
            there = self._all[column]
            most = self._limits.capacity[column] * percent
            if 100 * (there + v) > most:
                limit = f"{show(most // 100, r)} {r} ({percent}%)"
                yield Beyond("the cluster", limit, there, v, r)


def _ask(group: Group) -> dict[str, int]:
    return {r: v for r, v in sorted((group.min_resources or ZERO).items()) if v > 0}


def _quota_asks(group: Group) -> Iterable[tuple[str, str, int]]:
    """Yield each key of a ResourceQuota that counts the group, the resource, and how much."""
    for r, v in _ask(group).items():
        for key in ("pods", "count/pods") if r == "pods" else (r, f"requests.{r}"):
            yield key, r, v
    for r, v in sorted((group.min_limits or ZERO).items()):
        if v > 0:
            yield f"limits.{r}", r, v


def admit(
    outcome: Outcome,
) -> tuple[list[Admission], Mapping[GroupKey, tuple[Reason, ...]]]:
    """Return who is let in beside a plan, and why the others are not.

    Queues take turns: queue priority from the top, then the least dominant share by weight, at
    every level of the tree; in a queue priority, then age. Who is refused stops nobody else.
    """
    asking = [g for g in outcome.scene.snapshot.groups if g.asks_admission]
    if not asking:
        return [], {}
    books = Reservations(outcome)
    let_in: list[Admission] = []
    refused: dict[GroupKey, tuple[Reason, ...]] = {}
    waiting: dict[QueueName, deque[Group]] = {}
    for g in sorted(asking, key=lambda g: (-g.priority, g.created_s, g.key)):
        held = tuple(_held(outcome, g))
        if held:
            refused[g.key] = held
        else:
            waiting.setdefault(g.queue, deque()).append(g)
    while waiting:
        queue = min(waiting, key=lambda q: _turn(outcome, books, q))
        groups = waiting[queue]
        while groups:
            g = groups.popleft()
            beyond = books.refusal(g)
            if beyond is None:
                books.add(g)
                let_in.append(Admission(g.key, g.min_resources or ZERO))
                break
            refused[g.key] = (beyond.reason,)
        if not groups:
            del waiting[queue]
    return sorted(let_in), refused


def _held(outcome: Outcome, group: Group) -> Iterable[Reason]:
    """Yield what keeps the group from starting whatever its pods will be."""
    yield from group.hold
    for rule in outcome.scene.rules:
        if isinstance(rule, Holding) and rule.name != _GANG:
            yield from rule.hold(outcome, group.key)


def _turn(outcome: Outcome, books: Reservations, queue: QueueName) -> tuple[object, ...]:
    tree = outcome.scene.tree
    out: list[object] = []
    for name in reversed(tree.path(queue)):
        q, share = tree.queues[name], books.share(name)
        by_weight = (0, share / q.weight) if q.weight else (1 if share else 0, 0)
        out.append((-q.priority, by_weight, name))
    return tuple(out)


def check_admissions(outcome: Outcome, groups: Sequence[Group]) -> Iterable[Violation]:
    """Say what is wrong with letting these groups in, in whatever order they were."""
    books = Reservations(outcome)
    for g in groups:
        books.add(g)
    for g in groups:
        for reason in _held(outcome, g):
            yield Violation(NAME, f"group {g.key}", reason.message)
        beyond = books.excess(g)
        if beyond is not None:
            yield Violation(NAME, f"group {g.key}", beyond.complaint)


def could_enter(outcome: Outcome, groups: Sequence[Group]) -> list[Group]:
    """Return who asks, is not let in, and could be beside these groups."""
    books = Reservations(outcome)
    for g in groups:
        books.add(g)
    there = {g.key for g in groups}
    return [
        g
        for g in outcome.scene.snapshot.groups
        if g.asks_admission
        and g.key not in there
        and not any(_held(outcome, g))
        and books.refusal(g) is None
    ]
