"""Random clusters whose nodes have NUMA cells, and whose pods ask for some of them."""

from random import Random

from msgspec.structs import replace

from apportion.models import (
    AlignedAsk,
    Amounts,
    Cell,
    CellShare,
    Node,
    Numa,
    Pod,
    PodSpec,
    Snapshot,
)  # fmt: skip
from oracle.worlds import CPU, GPU, Size, world


def cell_world(seed: int, size: Size) -> Snapshot:
    """Return the world of this seed with cells: policies of all kinds, running pods well inside."""
    return with_cells(world(seed, size), Random(f"cells {seed} {size}"))


def with_cells(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with cells: policies of all kinds, running pods well inside."""
    nodes = [_with_cells(rng, n) for n in base.nodes]
    specs: dict[int, PodSpec] = {}
    pods = []
    for p in base.pods:
        if id(p.spec) not in specs:
            specs[id(p.spec)] = _aligned(rng, p.spec)
        pods.append(replace(p, spec=specs[id(p.spec)]))
    settled: dict[str, Pod] = {}
    for k, node in enumerate(nodes):
        there = [p for p in pods if p.holds and p.node == node.name]
        laid = _laid(node, there)
        if laid is None:
            nodes[k] = replace(node, numa=None)
        else:
            settled |= laid
    return replace(base, nodes=tuple(nodes), pods=tuple(settled.get(p.key, p) for p in pods))


def _with_cells(rng: Random, node: Node) -> Node:
    if rng.random() < 0.15:
        return node
    policy = rng.choice(("single-numa-node",) * 4 + ("restricted",) * 3 + ("best-effort", "none"))
    n = rng.choice((1, 2, 2, 2, 2, 3)) if policy == "single-numa-node" else 2
    parts: list[dict[str, int]] = [{} for _ in range(n)]
    slices = sorted(r for r in node.allocatable if r.startswith("nvidia.com/mig-"))
    for r in (CPU, GPU, *slices):
        for _ in range(node.allocatable[r] // 1000):
            at = rng.randrange(n)
            parts[at][r] = parts[at].get(r, 0) + 1000
    cells = tuple(Cell(i, Amounts(p)) for i, p in enumerate(parts))
    return replace(node, numa=Numa(policy, rng.choice(("container", "pod")), cells))  # type: ignore[arg-type]  # one of the words


def _aligned(rng: Random, spec: PodSpec) -> PodSpec:
    """Ask for whole cpus and devices by cell, mostly; the pod has one container."""
    if not spec.requests or rng.random() < 0.2:
        return spec
    asks = {r: a for r, a in spec.requests.items() if r == GPU or rng.random() < 0.9}
    if spec.share is not None:
        asks.pop(GPU, None)
    asks.pop("memory", None)
    return replace(spec, aligned=(AlignedAsk(Amounts(asks)),) if asks else ())


def _laid(node: Node, pods: list[Pod]) -> dict[str, Pod] | None:
    """Say where running pods lie: in the first cell with room; None if they do not fit."""
    out: dict[str, Pod] = {}
    if node.numa is None or not node.numa.strict:
        return out
    free = [dict(c.allocatable) for c in node.numa.cells]
    for p in pods:
        for a in p.spec.aligned:
            fits = [
                i for i, f in enumerate(free)
                if all(f.get(r, 0) >= x for r, x in a.amounts.items())
            ]  # fmt: skip
            if not fits:
                return None
            for r, x in a.amounts.items():
                free[fits[0]][r] -= x
            out[p.key] = replace(p, cells=(CellShare(node.numa.cells[fits[0]].id, a.amounts),))
    return out
