"""Reduce a cluster to what still shows a fault: leave out object after object while it does."""

from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec.structs import replace

from apportion.models import Group, Node, Pod, PodKey, Snapshot

TRIES = 400
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
    yield from _plainer(s)


def _plainer(s: Snapshot) -> Iterator[Snapshot]:
    """Give the snapshot with one thing less that an object asks for or has."""
    for q in s.quotas:
        yield replace(s, quotas=tuple(x for x in s.quotas if x != q))
    named = {c.claim for p in s.pods for c in p.spec.claims}
    for claim in s.claims:
        if claim.key not in named:
            yield replace(s, claims=tuple(x for x in s.claims if x != claim))
    if s.topologies and not any(g.topology or g.subgroups for g in s.groups):
        yield replace(s, topologies=())
    for g in s.groups:
        if g.topology is not None:
            yield _with_group(s, replace(g, topology=None))
        if g.subgroups:
            free = {p.key: replace(p, subgroups=()) for p in s.pods if p.group == g.key}
            yield _with_pods(_with_group(s, replace(g, subgroups=())), free)
    for n in s.nodes:
        if n.numa is not None:
            yield _with_node(s, replace(n, numa=None))
    bare: dict[str, object] = {"volumes": (), "aligned": (), "spread": (), "affinity": (),
                               "anti_affinity": (), "host_ports": ()}  # fmt: skip
    for spec in dict.fromkeys(p.spec for p in s.pods):
        less = [replace(spec, **{k: v}) for k, v in bare.items() if getattr(spec, k) != v]
        if not any(p.holds for p in s.pods if p.spec == spec):
            less += [replace(spec, claims=())] if spec.claims else []
        for plain in less:
            yield _with_pods(s, {p.key: replace(p, spec=plain) for p in s.pods if p.spec == spec})


def _with_group(s: Snapshot, group: Group) -> Snapshot:
    return replace(s, groups=tuple(group if g.key == group.key else g for g in s.groups))


def _with_node(s: Snapshot, node: Node) -> Snapshot:
    return replace(s, nodes=tuple(node if n.name == node.name else n for n in s.nodes))


def _with_pods(s: Snapshot, pods: Mapping[PodKey, Pod]) -> Snapshot:
    return replace(s, pods=tuple(pods.get(p.key, p) for p in s.pods))


def _without(s: Snapshot, names: Collection[object], pods: Collection[object] = ()) -> Snapshot:
    return replace(
        s,
        nodes=tuple(n for n in s.nodes if n.name not in names),
        queues=tuple(q for q in s.queues if q.name not in names),
        groups=tuple(g for g in s.groups if g.key not in names),
        pods=tuple(p for p in s.pods if p.key not in pods),
        budgets=tuple(b for b in s.budgets if (b.namespace, b.name) not in names),
        nominations=tuple(
            (k, n) for k, n in s.nominations if k not in pods and ("nomination", k) not in names
        ),
    )
