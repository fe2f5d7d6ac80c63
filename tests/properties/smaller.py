"""Smaller changes: all that are less of the same kind than one that is told, where they are few."""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from math import gcd

from apportion.models import GroupKey, Snapshot
from apportion.models.edit_wait import known_ends
from apportion.models.edits import (
    AddNodes,
    Edit,
    Relax,
    RemoveGroup,
    SetMinimum,
    SetPriority,
    SetQueue,
    Wait,
)

MOST = 40
"""So many smaller changes are gone through; where there are more, the change is not enumerated."""


def all_less(of: Snapshot, key: GroupKey, edits: Sequence[Edit]) -> list[Sequence[Edit]] | None:
    """Return every smaller change of the kind, the largest first; None where they are too many."""
    found = list(islice(_less(of, key, list(edits)), MOST + 1))
    return found if len(found) <= MOST else None


def _less(of: Snapshot, key: GroupKey, edits: list[Edit]) -> Iterator[Sequence[Edit]]:
    *base, last = edits
    if isinstance(last, RemoveGroup):
        yield from _fewer_victims(of, key, len(edits))
    elif isinstance(last, AddNodes):
        yield from ([*base, AddNodes(last.like, k)] for k in range(last.count - 1, 0, -1))
    elif isinstance(last, SetMinimum):
        now = of.group(key).effective_minimum
        yield from ([SetMinimum(key, k)] for k in range(last.minimum + 1, now))
    elif isinstance(last, SetPriority):
        yield from ([SetPriority(key, p)] for p in _priorities(of, key, last.priority))
    elif isinstance(last, Wait):
        yield from ([Wait(s)] for s in _moments(of, last.seconds))
    elif isinstance(last, Relax):
        yield from ([Relax(key, level, last.subgroup)] for level in _narrower(of, key, last))
    elif isinstance(last, SetQueue):
        for k, e in enumerate(edits):
            assert isinstance(e, SetQueue)
            yield from ([*edits[:k], x, *edits[k + 1 :]] for x in _amounts(of, e))


def _fewer_victims(of: Snapshot, key: GroupKey, size: int) -> Iterator[Sequence[Edit]]:
    running = sorted({p.group for p in of.pods if p.state == "running" and p.group and p.ours})
    others = [k for k in running if k != key]
    for n in range(size - 1, 0, -1):
        yield from ([RemoveGroup(k) for k in some] for some in combinations(others, n))


def _priorities(of: Snapshot, key: GroupKey, told: int) -> list[int]:
    """Return those below the one told that differ in whom they come before, or are beside."""
    theirs = {g.priority for g in of.groups} | {p.priority for p in of.pods}
    steps = {q for p in theirs for q in (p, p + 1)}
    return sorted((q for q in steps if of.group(key).priority < q < told), reverse=True)


def _moments(of: Snapshot, seconds: int) -> list[int]:
    ends = {max(0, e.at_s - of.taken_at_s) for e in known_ends(of).values()}
    return sorted((s for s in ends if s < seconds), reverse=True)


def _narrower(of: Snapshot, key: GroupKey, told: Relax) -> list[str]:
    g = of.group(key)
    parts = {"": g.topology, **{s.name: s.topology for s in g.subgroups}}
    request = parts[told.subgroup]
    assert request is not None
    (names,) = [[x.name for x in t.levels] for t in of.topologies if t.name == request.topology]
    wide = names.index(told.level) if told.level else -1
    return names[wide + 1 : names.index(request.required) if request.required in names else None]


def _amounts(of: Snapshot, told: SetQueue) -> Iterator[SetQueue]:
    """Yield the amount a unit less, and all that sums of requests could make a difference by."""
    amount, now = told.amount or 0, _now(of, told)
    step = gcd(*(p.spec.requests.get(told.resource, 0) for p in of.pods)) or 1
    tried = {amount - 1, *range((amount - 1) // step * step, 0, -step)}
    yield from (
        SetQueue(told.queue, told.setting, told.resource, a)
        for a in sorted(tried, reverse=True) if now < a
    )  # fmt: skip


def _now(of: Snapshot, told: SetQueue) -> int:
    (queue,) = [q for q in of.queues if q.name == told.queue]
    named = {"limit": queue.capability, "due": queue.deserved, "guarantee": queue.guarantee}
    return named[told.setting].get(told.resource, -1)
