"""NUMA: a kubelet whose topology manager is strict admits every pod that starts on its node.

On each such node the pods that start can be meant for sets of cells (with as few cells as the
policy wants) such that Σ requests ≤ what is free of them for certain, or the only one that starts
is admitted however the others lie. They are started in an order that makes that true; how, and why
it suffices, says docs/design/numa.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import Node, Pod, PodKey, PodSpec, Reason, Violation
from ..models.quantity import show
from .api import NodeFeatures
from .cells_tracker import Cells, CellsTracker, coming
from .numa_cells import NodeCells
from .numa_layout import Asks, Layout, layout_of
from .numa_rows import NodeRows
from .outcome import Outcome
from .podset import PodSet
from .tracker import World

if TYPE_CHECKING:
    from .board import Board
    from .scene import Scene


def strict_cells(world: "World | Scene") -> dict[int, NodeCells]:
    """Return the nodes whose kubelets may refuse a pod for the cells' sake, by index."""
    if "numa" not in world.memo:
        there: dict[int, list[Pod]] = {
            i: []
            for i, n in enumerate(world.nodes)
            if n.numa is not None and n.numa.strict and n.numa.cells
        }
        for p, i in world.before if there else ():
            if i in there:
                there[i].append(p)
        world.memo["numa"] = {
            i: NodeCells(layout_of(numa), pods)
            for i, pods in there.items()
            if (numa := world.nodes[i].numa) is not None
        }
    cells: dict[int, NodeCells] = world.memo["numa"]
    return cells


@dataclass(frozen=True, slots=True)
class NumaCells:
    """Σ requests of pods meant for a set of cells ≤ what is free of it, on every strict node."""

    name: str = "numa"

    def cells_of(self, where: "World | Scene") -> Mapping[str, Cells]:
        return {"": strict_cells(where)}

    def track(self, world: World) -> CellsTracker:
        return CellsTracker(world, strict_cells(world), lambda spec: bool(spec.aligned))

    # On its own

    def sees(self, pods: PodSet) -> NodeFeatures:
        spec = pods.spec
        asks = bool(spec.aligned) or spec.numa_policy != "none"
        return NodeFeatures(cells=asks, name=bool(spec.refused_by))

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        why = _never(pods.spec, node)
        return Reason(self.name, f"node {node.name}", why) if why else None

    # With others

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        strict = strict_cells(outcome.scene)
        for i, pods in coming(outcome, strict).items():
            cells = strict[i]
            now = [p.spec for p in pods if p.key in outcome.bound]
            about = f"node {outcome.scene.nodes[i].name}"
            if not cells.admits([p.spec for p in pods], outcome.evicted | cells.ending):
                yield Violation(self.name, about, "its kubelet would refuse a pod in the end")
            elif not cells.admits(now):
                yield Violation(self.name, about, "its kubelet would refuse a pod at once")

    def constrain(self, board: "Board") -> None:
        for i, cells in strict_cells(board.world).items():
            cls = board.class_of(i)
            if cls is not None:
                NodeRows(board, cls, cells, self.name).write()


def turns(outcome: Outcome) -> dict[PodKey, tuple[int, ...]]:
    """Return in which order pods have to start, on nodes where that matters to the kubelet."""
    out: dict[PodKey, tuple[int, ...]] = {}
    if not any(isinstance(r, NumaCells) for r in outcome.scene.rules):
        return out
    strict = strict_cells(outcome.scene)
    for i, every in coming(outcome, strict).items():
        pods = [p for p in every if p.key in outcome.bound]
        order = strict[i].order([p.spec for p in pods])
        out |= {p.key: (1, place) for p, place in zip(pods, order, strict=True)}
    return out


def _never(spec: PodSpec, node: Node) -> str:
    """Say why the node's kubelet would refuse the pod even if it were empty; "" if it would not."""
    if node.name in spec.refused_by:
        return "its kubelet refused pods of the same owner again and again (TopologyAffinityError)"
    numa = node.numa
    if spec.numa_policy != "none":
        if numa is None or numa.policy != spec.numa_policy:
            return f"has no topology manager of policy {spec.numa_policy}"
        if not any("cpu" in c.allocatable for c in numa.cells):
            return "gives no CPUs by NUMA cell"
    if numa is None or not numa.strict or not spec.aligned:
        return ""
    if not numa.cells:
        return f"has policy {numa.policy} and publishes no NUMA cells"
    layout = layout_of(numa)
    asks = layout.asks(spec)
    if asks not in layout.words:
        layout.words[asks] = _too_much(layout, asks, spec)
    return layout.words[asks]


def _too_much(layout: Layout, asks: Asks, spec: PodSpec) -> str:
    if not asks.parts:
        return ""
    for part in asks.parts:
        if not layout.choices(part):
            return _too_large(layout, part)
    if NodeCells(layout, ()).admits([spec]):
        return ""
    if not asks.foreseeable:
        return "may start an init container on a NUMA cell that the other containers do not fit"
    return "has no NUMA cells for all of its containers"


def _too_large(layout: Layout, part: Sequence[int]) -> str:
    asked = [f"{show(a, r)} {r}" for a, r in zip(part, layout.resources, strict=True) if a]
    if layout.single:
        return f"no NUMA cell has {' and '.join(asked)}"
    return f"no smallest set of NUMA cells has {' and '.join(asked)}"
