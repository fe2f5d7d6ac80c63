"""Reduce a cluster to what still shows a fault: leave out object after object while it does."""

from collections.abc import Callable, Collection, Iterator

from apportion.models import Snapshot, snapshot_of

TRIES = 300
"""A fault is shown late rather than never; what is left then is small enough to read."""


def reduced(snapshot: Snapshot, is_wrong: Callable[[Snapshot], bool]) -> Snapshot:
    """Return a smaller snapshot that is wrong too; the same one if nothing can be left out."""
    left = TRIES
    again = True
    while again:
        again = False
        for smaller in _smaller(snapshot):
            left -= 1
            if left < 0:
                return snapshot
            if is_wrong(smaller):
                snapshot, again = smaller, True
                break
    return snapshot


def _smaller(s: Snapshot) -> Iterator[Snapshot]:
    """Give the snapshot without one object, the largest first; the rest stays consistent."""
    for g in s.groups:
        yield _without(s, {g.key}, {p.key for p in s.pods if p.group == g.key})
    used = {p.node for p in s.pods} | {n for _, n in s.nominations}
    for n in s.nodes:
        if n.name not in used:
            yield _without(s, {n.name})
    needed = {g.queue for g in s.groups} | {q.parent for q in s.queues}
    for q in s.queues:
        if q.name not in needed:
            yield _without(s, {q.name})
    for p in s.pods:
        yield _without(s, (), {p.key})
    for b in s.budgets:
        yield _without(s, {(b.namespace, b.name)})
    for k, _ in s.nominations:
        yield _without(s, {("nomination", k)})


def _without(s: Snapshot, names: Collection[object], pods: Collection[object] = ()) -> Snapshot:
    return snapshot_of(
        taken_at_s=s.taken_at_s,
        nodes=tuple(n for n in s.nodes if n.name not in names),
        queues=tuple(q for q in s.queues if q.name not in names),
        groups=tuple(g for g in s.groups if g.key not in names),
        pods=tuple(p for p in s.pods if p.key not in pods),
        budgets=tuple(b for b in s.budgets if (b.namespace, b.name) not in names),
        nominations=tuple(
            (k, n) for k, n in s.nominations if k not in pods and ("nomination", k) not in names
        ),
    )
