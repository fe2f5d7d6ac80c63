"""The cells of a node as its kubelet sees them, and which sets of them it would hint for a request.

After the kubelet's hint providers (cpu, memory and device manager) and its topology manager: the
hints of all resources have to be the same set, with as few cells as could hold the request on an
empty node (policy restricted), or one cell (single-numa-node). Of the sets that are free the
kubelet takes the lowest number. Sources: KEP-693, KEP-1769, KEP-3545; pkg/kubelet/cm.
"""

from dataclasses import dataclass
from functools import lru_cache

from ..models import Numa, Pod, PodSpec
from .numa_masks import Free, Mask, Vector, fits, masks, total, touches, within


@dataclass(frozen=True, slots=True)
class Asks:
    """What a pod asks of a node's cells, part by part in order of start; no parts: nothing."""

    parts: tuple[Vector, ...]
    foreseeable: bool = True
    """False: where an init container starts decides where the others have to."""
    first: Vector = ()
    """What that init container asks for, if it is the first of all to ask for anything."""

    @property
    def total(self) -> Vector:
        return total(self.parts)


class Layout:
    """Policy, scope and cells of a node; equal ones are one object (:func:`layout_of`)."""

    chosen = False
    """The plan chooses the cells, not the kubelet."""

    def __init__(self, numa: Numa) -> None:
        self.numa = numa
        self.single = numa.policy == "single-numa-node"
        self.size = len(numa.cells)
        self.resources = tuple(
            sorted({r for c in numa.cells for r in (*c.allocatable, *c.capacity)})
        )
        """Those that are handed out by cell."""
        self.nothing: Vector = (0,) * len(self.resources)
        self.cells: Free = tuple(
            tuple(c.allocatable[r] for r in self.resources) for c in numa.cells
        )
        """What each cell has for pods."""
        reported = [c.free for c in numa.cells]
        self.reported: Free | None = None
        """What was reported as free of each cell."""
        if all(f is not None for f in reported):
            self.reported = tuple(tuple(f[r] if f else 0 for r in self.resources) for f in reported)
        self.memory = tuple(is_memory(r) for r in self.resources)
        self._whole: Free = tuple(
            tuple(
                c.allocatable[r] if is_memory(r) else max(c.capacity[r], c.allocatable[r])
                for r in self.resources
            )
            for c in numa.cells
        )
        """What counts for how few cells could do: of memory not what is reserved."""
        self.words: dict[Asks, str] = {}
        """Why a kubelet would refuse who asks this, even on an empty node; "" if it would not."""
        self._asks: dict[int, tuple[PodSpec, Asks]] = {}
        self._choices: dict[Vector, tuple[Mask, ...]] = {}
        self._widths: dict[Vector, int] = {}

    def asks(self, spec: PodSpec) -> Asks:
        """Return what the pod asks of the cells, as the topology manager sees it."""
        known = self._asks.get(id(spec))
        if known is None:
            known = self._asks[id(spec)] = (spec, self._asks_of(spec))
        return known[1]

    def _asks_of(self, spec: PodSpec) -> Asks:
        asked = [(tuple(a.amounts[r] for r in self.resources), a.init) for a in spec.aligned]
        asked = [(v, init) for v, init in asked if any(v)]
        if not asked:
            return Asks(())
        if self.numa.scope == "pod" or self.size == 1:
            return Asks((_together(asked),))
        inits = [v for v, init in asked if init]
        if not inits:
            return Asks(tuple(v for v, _ in asked))
        # What init containers held is used again, so the first of them binds the others.
        whole = _together(asked)
        first, leads = asked[0]
        if leads and first == whole:
            return Asks((whole,))
        return Asks((whole,), False, first if leads else ())

    def held(self, pod: Pod) -> dict[int, Vector]:
        """Return what the pod is said to hold, by position of the cell."""
        place = {c.id: i for i, c in enumerate(self.numa.cells)}
        return {
            place[s.cell]: tuple(s.amounts[r] for r in self.resources)
            for s in pod.cells
            if s.cell in place
        }

    def touches(self, one: Mask, other: Mask) -> bool:
        """Say whether a pod meant for one set may take of the other before the other's pods do."""
        return touches(one, other)

    def asks_memory(self, part: Vector) -> bool:
        return any(a and m for a, m in zip(part, self.memory, strict=True))

    def width(self, part: Vector) -> int:
        """Return how many cells the kubelet wants for a part; 0: it refuses it in any case."""
        if part not in self._widths:
            self._widths[part] = 1 if self.single else self._width(part)
        return self._widths[part]

    def _width(self, part: Vector) -> int:
        # Memory and huge pages are one provider's, every other resource asks for itself.
        apart = [_only(part, k) for k, a in enumerate(part) if a and not self.memory[k]]
        if self.asks_memory(part):
            apart.append(tuple(a if m else 0 for a, m in zip(part, self.memory, strict=True)))
        sizes = {self._fewest(asked) for asked in apart}
        return sizes.pop() if len(sizes) == 1 else 0

    def _fewest(self, asked: Vector) -> int:
        """Return how few cells could hold so much if they were empty; 0: not even all of them."""
        for n in range(1, self.size + 1):
            if any(fits(asked, within(self._whole, m)) for m in masks(self.size, n)):
                return n
        return 0

    def choices(self, part: Vector) -> tuple[Mask, ...]:
        """Return the sets that could hold the part on an empty node, lowest number first."""
        if part not in self._choices:
            size = self.width(part)
            self._choices[part] = tuple(
                m for m in masks(self.size, size) if size and fits(part, within(self.cells, m))
            )
        return self._choices[part]


@lru_cache(maxsize=65536)
def layout_of(numa: Numa) -> Layout:
    """Return the layout; equal ones are one object."""
    return Layout(numa)


def further_cells(spec: PodSpec, numa: Numa) -> int:
    """Return over how many more cells than one each the pod's requests would be shared out there.

    Going by what was reported as free, else by what the cells have; where even all of them have
    too little, by all of them.
    """
    layout = layout_of(numa)
    free = layout.reported or layout.cells
    further = 0
    for part in layout.asks(spec).parts:
        enough = (
            n
            for n in range(1, layout.size)
            if any(fits(part, within(free, m)) for m in masks(layout.size, n))
        )
        further += next(enough, layout.size) - 1
    return further


def is_memory(resource: str) -> bool:
    return resource == "memory" or resource.startswith("hugepages-")


def _together(asked: list[tuple[Vector, bool]]) -> Vector:
    """Return the most that is held at once: all that stay, or an init container and sidecars."""
    stay = peak = (0,) * len(asked[0][0])
    for v, init in asked:
        if init:
            peak = tuple(max(p, s + x) for p, s, x in zip(peak, stay, v, strict=True))
        else:
            stay = tuple(s + x for s, x in zip(stay, v, strict=True))
    return tuple(map(max, peak, stay))


def _only(part: Vector, column: int) -> Vector:
    return tuple(a if k == column else 0 for k, a in enumerate(part))
