"""Nodes with NUMA cells: whether their kubelets admit what a plan starts there.

Where it is not known where running pods lie, that is free of a cell which is free however they
lie; if one pod starts and nobody leaves, or everybody does, it has to be admitted in each case.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import product

from apportion.models import Node, Pod, PodState
from oracle.cluster import Cluster
from oracle.kubelet import Container, Machine, admits, requests

_memo: dict[object, bool] = {}
UNIT = 1000
Held = Sequence[tuple[int, Mapping[str, int]]]
"""What is held of which cells, by position."""


def cell_problems(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> Iterator[str]:
    """Say on which nodes some started pod would be refused once ``gone`` is gone."""
    for n in sorted(set(places.values())):
        node = c.nodes[n]
        if node.numa is None or not node.numa.strict:
            continue
        there = [
            (p, i in gone)
            for i, p in enumerate(c.pods)
            if c.node_of[i] == n and p.state is PodState.RUNNING and p.spec.aligned
        ]
        pods = [c.pods[i] for i, m in sorted(places.items()) if m == n]
        if not _admitted(node, there, pods):
            yield f"numa: {node.name} would refuse a pod"


def _admitted(node: Node, there: list[tuple[Pod, bool]], pods: list[Pod]) -> bool:
    coming = sorted(tuple((str(a.amounts), a.init) for a in p.spec.aligned) for p in pods)
    before = sorted((str(p.spec.aligned), str(p.cells), leaves) for p, leaves in there)
    key = (node.numa, tuple(before), tuple(coming))
    if key not in _memo:
        asked = [tuple(Container(dict(a.amounts), a.init) for a in p.spec.aligned) for p in pods]
        _memo[key] = _verdict(node, there, [a for a in asked if a])
    return _memo[key]


def _verdict(node: Node, there: list[tuple[Pod, bool]], pods: list[tuple[Container, ...]]) -> bool:
    empty = machine(node)
    known = [(p, leaves) for p, leaves in there if p.cells]
    unknown = [(p, leaves) for p, leaves in there if not p.cells]
    base = taken(empty, [_held(node, p) for p, _ in known])
    ways = list(_ways(base, [p for p, _ in unknown]))
    doubtful = {p.key for p, _ in unknown} - _settled(unknown, ways)
    freed = [_held(node, p) for p, leaves in known if leaves]
    freed += [
        [(w, a) for w, a in zip(ways[0][k], _asks(empty, p), strict=True)]
        for k, (p, leaves) in enumerate(unknown)
        if leaves and p.key not in doubtful
    ]
    certain = [taken(base, [_at(empty, p, w) for (p, _), w in zip(unknown, way, strict=True)])
               for way in ways]  # fmt: skip
    if all(leaves for p, leaves in there if p.key in doubtful):
        floor = taken(base, [_at(empty, p, ways[0][k]) for k, (p, _) in enumerate(unknown)
                             if p.key not in doubtful])  # fmt: skip
    elif certain:
        floor = replace(
            base,
            free=tuple(
                {r: min(m.free[i].get(r, 0) for m in certain) for r in empty.resources}
                for i in range(len(empty.free))
            ),
        )
    else:
        total = [
            (i, a) for i in range(len(empty.free)) for p, _ in unknown for a in _asks(empty, p)
        ]
        floor = taken(base, [total])
    if admits(taken(floor, freed, -1), pods):
        return True
    if len(pods) != 1:
        return False
    if all(leaves for _, leaves in there):
        return admits(empty, pods)
    return not any(leaves for _, leaves in there) and bool(certain) and all(
        admits(m, pods) for m in certain
    )  # fmt: skip


def _asks(m: Machine, pod: Pod) -> list[Mapping[str, int]]:
    parts = tuple(Container(dict(a.amounts), a.init) for a in pod.spec.aligned)
    return [{r: a for r, a in x.items() if r in m.resources} for x in requests(m, parts)]


def _at(m: Machine, pod: Pod, cells: Sequence[int]) -> Held:
    return list(zip(cells, _asks(m, pod), strict=True))


def _held(node: Node, pod: Pod) -> Held:
    assert node.numa is not None
    at = {c.id: i for i, c in enumerate(node.numa.cells)}
    return [(at[s.cell], s.amounts) for s in pod.cells]


def taken(m: Machine, held: Sequence[Held], sign: int = 1) -> Machine:
    """Return the machine with this taken out of its cells (sign −1: put back)."""
    free = [dict(f) for f in m.free]
    for one in held:
        for i, amounts in one:
            for r, a in amounts.items():
                free[i][r] = free[i].get(r, 0) - sign * a
    return replace(m, free=tuple(free))


def _ways(m: Machine, pods: Sequence[Pod]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield the cells of every part of every pod; nothing if one holds several cells."""
    asks = [_asks(m, p) for p in pods]
    wide = any(
        not any(all(c.get(r, 0) >= a for r, a in x.items()) for c in m.allocatable)
        for xs in asks
        for x in xs
    )
    if wide:
        return
    options = [list(product(range(len(m.free)), repeat=len(xs))) for xs in asks]
    for way in product(*options):
        held = [list(zip(w, xs, strict=True)) for w, xs in zip(way, asks, strict=True)]
        after = taken(m, held)
        if all(v >= 0 for f in after.free for v in f.values()):
            yield way


def _settled(unknown: list[tuple[Pod, bool]], ways: list[tuple[tuple[int, ...], ...]]) -> set[str]:
    """Return pods that, with all that ask the same, lie in one cell whatever the way."""
    out: set[str] = set()
    for p, _ in unknown:
        alike = [k for k, (q, _) in enumerate(unknown) if q.spec.aligned == p.spec.aligned]
        if len({i for way in ways for k in alike for i in way[k]}) == 1:
            out.add(p.key)
    return out


def machine(node: Node) -> Machine:
    """Return the node while it is empty."""
    assert node.numa is not None
    cells = node.numa.cells
    nowhere: frozenset[int] = frozenset()
    offered = tuple(dict(c.allocatable) for c in cells)
    whole = tuple(dict({**c.allocatable, **c.capacity}) for c in cells)
    return Machine(
        node.numa.policy, node.numa.scope, whole, offered, offered, (nowhere,) * len(cells), UNIT
    )
