"""Counts of a cycle by queue, namespace and cluster, as they are once its plan is carried out.

One pass over the pods, so that it may be asked for at every scrape.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...models import Amounts, Group, GroupKey, Plan, Pod, PodState, QueueName, Snapshot

STATES = ("running", "nominated", "waiting", "gated", "terminating")
HOLDING = ("running", "terminating")
OVER = (PodState.SUCCEEDED, PodState.FAILED)


@dataclass(slots=True)
class Part:
    """Pods of one queue or namespace. Amounts in canonical units."""

    pods: Counter[str] = field(default_factory=Counter)
    """Pods by state."""
    used: Counter[str] = field(default_factory=Counter)
    """What its pods hold."""
    waiting: Counter[str] = field(default_factory=Counter)
    """What its pods without a place ask for."""
    reserved: Counter[str] = field(default_factory=Counter)
    """What is kept for groups that are let in without pods."""
    held_groups: int = 0

    def add(self, state: str, requests: Amounts, times: int) -> None:
        """Count pods of one state with the same requests."""
        self.pods[state] += times
        into = self.used if state in HOLDING else self.waiting
        if state == "nominated":
            return  # its room is still that of others
        for resource, amount in requests.items():
            into[resource] += amount * times
        into["pods"] += times


@dataclass(frozen=True, slots=True)
class Tally:
    """Parts of the cluster, and all of it; a queue counts what is in the queues below it."""

    queues: Mapping[QueueName, Part]
    namespaces: Mapping[str, Part]
    ours: Part
    others: Part
    """Pods of other schedulers."""


def tally(snapshot: Snapshot, plan: Plan) -> Tally:
    """Count what a cycle has seen, with its plan carried out."""
    queue_of = {g.key: g.queue for g in snapshot.groups}
    queues = {q.name: Part() for q in snapshot.queues}
    above = _ancestry(snapshot)
    namespaces: dict[str, Part] = {}
    ours, others = Part(), Part()
    counted = _counted(snapshot.pods, plan, queue_of)
    for (queue, namespace, state, requests), n in counted.items():
        if queue is None:
            others.add(state, requests, n)
            continue
        parts = [queues[q] for q in above.get(queue, ())]
        for part in (ours, namespaces.setdefault(namespace, Part()), *parts):
            part.add(state, requests, n)
    for group_of, amounts in _reservations(snapshot, plan):
        for q in above.get(group_of.queue, ()):
            queues[q].reserved.update(amounts)
    for held in plan.held:
        ours.held_groups += 1
        namespaces.setdefault(held.group.partition("/")[0], Part()).held_groups += 1
        for q in above.get(queue_of[held.group], ()) if held.group in queue_of else ():
            queues[q].held_groups += 1
    return Tally(queues, namespaces, ours, others)


Key = tuple[QueueName | None, str, str, Amounts]
"""Queue (None: of another scheduler), namespace, state, requests."""


def _counted(
    pods: Iterable[Pod], plan: Plan, queue_of: Mapping[GroupKey, QueueName]
) -> Counter[Key]:
    """Count equal pods together."""
    bound = {b.pod for b in plan.binds}
    nominated = {n.pod for n in plan.nominations}
    evicted = {e.pod for e in plan.evictions}
    out: Counter[Key] = Counter()
    for p in pods:
        if p.state in OVER:
            continue
        state = str(p.state)
        if p.state is PodState.PENDING:
            key = p.key
            is_placed = "nominated" if key in nominated else "waiting"
            state = "running" if key in bound else is_placed
        elif evicted and p.state is PodState.RUNNING and p.key in evicted:
            state = "terminating"
        queue = None if p.group is None else queue_of[p.group]
        out[queue, p.namespace, state, p.spec.requests] += 1
    return out


def _ancestry(snapshot: Snapshot) -> dict[QueueName, tuple[QueueName, ...]]:
    """Return every queue's own name and those above it, which the snapshot has."""
    by_name = {q.name: q for q in snapshot.queues}
    out: dict[QueueName, tuple[QueueName, ...]] = {}
    for q in snapshot.queues:
        path: list[QueueName] = []
        at: QueueName | None = q.name
        while at is not None and at in by_name and at not in path:
            path.append(at)
            at = by_name[at].parent
        out[q.name] = tuple(path)
    return out


def _reservations(snapshot: Snapshot, plan: Plan) -> Iterable[tuple[Group, Mapping[str, int]]]:
    """Return groups that are let in without pods, with what is kept for them."""
    new = {a.group: a.reserved for a in plan.admissions}
    there = snapshot.pods_by_group
    for g in snapshot.groups:
        if g.key in new:
            yield g, new[g.key]
        elif g.admitted and g.key not in there and g.min_resources is not None:
            yield g, g.min_resources
