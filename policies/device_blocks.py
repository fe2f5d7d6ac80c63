"""Device blocks: a pod asks for an allowed number of devices and gets them from the fewest blocks.

Per node, resource and set S of blocks that is in use: Σ devices of pods meant for a set that has a
block of S ≤ Σ free devices of S. So a request up to a block's size lies in one block (the half of a
board whose NPUs are linked by HCCS), and one of two blocks has both of them whole.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..models import DeviceBlocks as Blocks
from ..models import Node, Pod, PodKey, PodSpec, Reason, Violation
from .api import NodeFeatures
from .block_layout import UNIT, BlockLayout, block_layout_of
from .cells_tracker import Cells, CellsTracker, coming
from .numa_cells import NodeCells
from .numa_masks import bits
from .numa_rows import NodeRows
from .outcome import Outcome
from .podset import PodSet
from .tracker import Mask, World

if TYPE_CHECKING:
    from .board import Board
    from .scene import Scene


@dataclass(frozen=True, slots=True)
class DeviceBlocks:
    """Σ devices meant for a set of blocks ≤ those free of it; only allowed numbers of devices."""

    alignments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By resource: ``block``, how many devices make a block; ``numbers`` that a pod may ask for."""
    name: str = "device-blocks"

    def __post_init__(self) -> None:
        for resource, of in self.alignments.items():
            block, numbers = of.get("block", 1), of.get("numbers", ())
            fine = set(of) <= {"block", "numbers"} and _is_count(block)
            if (
                not fine
                or not isinstance(numbers, list | tuple)
                or not all(map(_is_count, numbers))
            ):
                raise ValueError(
                    f"alignments: {resource} needs block, a whole number from 1 on, and numbers, a "
                    f"list of such; got {of!r}"
                )

    # One pod and one node

    def _blocks(self, node: Node) -> Iterable[Blocks]:
        """Return what the node says of blocks, and what is declared of resources it has."""
        yield from node.blocks
        for resource, of in self.alignments.items():
            count = node.allocatable[resource] // UNIT
            if count and all(b.resource != resource for b in node.blocks):
                size = of.get("block", 1)
                sizes = [size] * (count // size) + ([count % size] if count % size else [])
                yield Blocks(resource, tuple(sizes), tuple(sorted(of.get("numbers", ()))))

    def sees(self, pods: PodSet) -> NodeFeatures:
        declared = any(pods.spec.requests[r] for r in self.alignments)
        return NodeFeatures(blocks=True, name=declared)

    def refuse(self, pods: PodSet, node: Node) -> Reason | None:
        for blocks in self._blocks(node):
            why = _never(pods.spec, blocks)
            if why:
                return Reason(self.name, f"node {node.name}", why)
        return None

    # With others

    def cells_of(self, where: "World | Scene") -> Mapping[str, Cells]:
        key = f"device-blocks {sorted(self.alignments)}"
        if key not in where.memo:
            where.memo[key] = self._cells_of(where)
        cells: Mapping[str, Cells] = where.memo[key]
        return cells

    def _cells_of(self, where: "World | Scene") -> Mapping[str, Cells]:
        layouts: dict[str, dict[int, BlockLayout]] = {}
        for i, n in enumerate(where.nodes):
            for blocks in self._blocks(n):
                if len(blocks.sizes) > 1:
                    layouts.setdefault(blocks.resource, {})[i] = block_layout_of(blocks)
        pods: dict[int, list[Pod]] = {}
        for p, i in where.before if layouts else ():
            pods.setdefault(i, []).append(p)
        return {
            r: {i: NodeCells(layout, pods.get(i, ())) for i, layout in of.items()}
            for r, of in layouts.items()
        }

    def track(self, world: World) -> "_Blocks":
        return _Blocks(
            [
                CellsTracker(world, cells, _asking(resource))
                for resource, cells in self.cells_of(world).items()
            ]
        )

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        for resource, of in self.cells_of(outcome.scene).items():
            for i, pods in coming(outcome, of).items():
                cells = of[i]
                now = [p.spec for p in pods if p.key in outcome.bound]
                about = f"node {outcome.scene.nodes[i].name}"
                if not cells.admits([p.spec for p in pods], outcome.evicted | cells.ending):
                    yield Violation(
                        self.name, about, f"has no such blocks of {resource} in the end"
                    )
                elif not cells.admits(now):
                    yield Violation(self.name, about, f"has no such blocks of {resource} at once")
                else:
                    yield from self._named(outcome, cells, i, pods)

    def _named(
        self, outcome: Outcome, cells: NodeCells, node: int, pods: list[Pod]
    ) -> Iterable[Violation]:
        """Judge the devices that the plan names."""
        layout = cells.layout
        assert isinstance(layout, BlockLayout)
        taken = set(layout.blocks.absent)
        for p, i in outcome.scene.before:
            if i == node and layout.held(p):
                taken |= set(p.devices)
        for p in pods:
            at = outcome.devices.get(p.key)
            if at is None:
                continue
            blocks = {layout.blocks.block_of(d) for d in at}
            (asked,) = layout.asks(p.spec).total
            if len(set(at)) != len(at) or len(at) * UNIT != asked or taken.intersection(at):
                said = "is given devices that are not free, or not as many as it asks for"
                yield Violation(self.name, f"pod {p.key}", said)
            elif None in blocks or len(blocks) != layout.width((asked,)):
                said = "is given devices that are not from the fewest blocks"
                yield Violation(self.name, f"pod {p.key}", said)
            taken |= set(at)

    def constrain(self, board: "Board") -> None:
        for of in self.cells_of(board.world).values():
            for i, cells in of.items():
                cls = board.class_of(i)
                if cls is not None:
                    NodeRows(board, cls, cells, self.name).write()


class _Blocks:
    """Trackers of several resources."""

    def __init__(self, trackers: list[CellsTracker]) -> None:
        self._trackers = trackers
        self.is_idle = not trackers

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        for t in self._trackers:
            t.add(pod, node, times)

    def allows(self, pod: Pod) -> Mask | None:
        return _both([t.allows(pod) for t in self._trackers])

    def opens(self, pod: Pod) -> Mask | None:
        return _both([t.opens(pod) for t in self._trackers])

    def most(self, pod: Pod, counts: NDArray[Any]) -> NDArray[Any]:
        for t in self._trackers:
            counts = t.most(pod, counts)
        return counts


def _both(masks: list[Mask | None]) -> Mask | None:
    given = [m for m in masks if m is not None]
    return np.logical_and.reduce(given) if given else None


def _asking(resource: str) -> Any:
    def asks(spec: PodSpec) -> bool:
        return resource in spec.requests

    return asks


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _never(spec: PodSpec, blocks: Blocks) -> str:
    """Say why the node could never give the pod its devices; "" if it could."""
    asked = spec.requests[blocks.resource]
    if not asked:
        return ""
    count, rest = divmod(asked, UNIT)
    if blocks.numbers and (rest or count not in blocks.numbers):
        *most, last = map(str, blocks.numbers)
        allowed = f"{', '.join(most)} or {last}" if most else last
        return f"gives {allowed} {blocks.resource} to a pod, not {asked / UNIT:g}"
    layout = block_layout_of(blocks)
    if len(blocks.sizes) > 1 and not layout.choices((asked,)):
        return f"no smallest set of blocks has {count} {blocks.resource}"
    return ""


def block_devices(outcome: Outcome, now: Collection[PodKey]) -> dict[PodKey, tuple[int, ...]]:
    """Return the devices of pods that start at once in blocks of which it is known what is free."""
    out: dict[PodKey, tuple[int, ...]] = {}
    scene = outcome.scene
    for rule in scene.rules:
        if isinstance(rule, DeviceBlocks):
            for of in rule.cells_of(scene).values():
                for i, pods in coming(outcome, of).items():
                    there = [p for p, j in scene.before if j == i]
                    out |= _devices(of[i], [p for p in pods if p.key in now], there)
    return out


def _devices(
    cells: NodeCells, pods: Sequence[Pod], there: Iterable[Pod]
) -> Mapping[PodKey, tuple[int, ...]]:
    layout = cells.layout
    assert isinstance(layout, BlockLayout)
    holders = [p for p in there if layout.asks(p.spec).parts]
    meant = cells.sets_for([p.spec for p in pods])
    if meant is None or not all(map(layout.held, holders)):
        return {}
    taken = {d for p in holders for d in p.devices} | set(layout.blocks.absent)
    out: dict[PodKey, tuple[int, ...]] = {}
    # Narrow ones first: wide ones take what is left of their blocks.
    order = sorted(zip(pods, meant, strict=True), key=lambda t: (t[1].bit_count(), t[0].key))
    for p, mask in order:
        count = layout.asks(p.spec).total[0] // UNIT
        devices = range(sum(layout.blocks.sizes))
        free = [d for d in devices if d not in taken and layout.blocks.block_of(d) in bits(mask)]
        if len(free) < count:
            return {}
        out[p.key] = tuple(free[:count])
        taken |= set(free[:count])
    return out
