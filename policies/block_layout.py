"""Devices in blocks, looked at as cells: a pod gets its devices from the fewest that could do."""

from functools import lru_cache

from ..models import Amounts, Cell, DeviceBlocks, Numa, Pod, PodSpec
from .numa_layout import Asks, Layout
from .numa_masks import Mask, Vector

UNIT = 1000
"""A device, in canonical units."""


class BlockLayout(Layout):
    """The blocks of one resource of a node; the plan chooses the devices."""

    chosen = True

    def __init__(self, blocks: DeviceBlocks) -> None:
        self.blocks = blocks
        broken = [0] * len(blocks.sizes)
        for i in blocks.absent:
            block = blocks.block_of(i)
            if block is not None:
                broken[block] += 1
        free = None
        if blocks.free is not None:
            free = [sum(blocks.block_of(i) == b for i in blocks.free) for b in range(len(broken))]
        resource = blocks.resource
        cells = tuple(
            Cell(
                b,
                Amounts({resource: UNIT * (size - broken[b])}),
                Amounts({resource: UNIT * size}),
                None if free is None else Amounts({resource: UNIT * free[b]}),
            )
            for b, size in enumerate(blocks.sizes)
        )
        super().__init__(Numa("restricted", "pod", cells))

    def _asks_of(self, spec: PodSpec) -> Asks:
        asked = tuple(spec.requests[r] for r in self.resources)
        return Asks((asked,) if any(asked) else ())

    def held(self, pod: Pod) -> dict[int, Vector]:
        out: dict[int, int] = {}
        for i in pod.devices:
            block = self.blocks.block_of(i)
            if block is not None:
                out[block] = out.get(block, 0) + UNIT
        whole = sum(out.values())
        return {b: (n,) for b, n in out.items()} if (whole,) == self.asks(pod.spec).total else {}

    def touches(self, one: Mask, other: Mask) -> bool:
        return one & other != 0 and one.bit_count() <= other.bit_count()


@lru_cache(maxsize=65536)
def block_layout_of(blocks: DeviceBlocks) -> BlockLayout:
    """Return the layout; equal ones are one object."""
    return BlockLayout(blocks)
