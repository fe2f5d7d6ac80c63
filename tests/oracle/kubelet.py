"""The kubelet's topology manager, said again: providers hint, hints are merged, a policy judges.

In the words of pkg/kubelet/cm (cpu manager policy static, memory manager policy Static, device
manager): bit masks over all subsets of cells, every permutation of hints. Nothing is clever here.
What the kubelet does with a request that it shares out over several cells is not settled by its
documents: every way to do so is tried, and all have to end well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

Ask = Mapping[str, int]
"""Resource to amount, in units of the machine."""
MEMORY = ("memory", "hugepages-2Mi")


@dataclass(frozen=True)
class Hint:
    """A set of cells (None: any), and whether it is as narrow as could be."""

    cells: frozenset[int] | None
    preferred: bool


@dataclass(frozen=True)
class Machine:
    """A node: what each cell has, offers, has free, and for which set its memory is in use."""

    policy: str
    scope: str
    capacity: tuple[Ask, ...]
    allocatable: tuple[Ask, ...]
    free: tuple[Ask, ...]
    memory_of: tuple[frozenset[int], ...]
    unit: int = 1
    """What one CPU, device or block of memory counts."""

    @property
    def resources(self) -> set[str]:
        return {r for c in self.allocatable for r in c}


@dataclass(frozen=True)
class Container:
    """What a container asks for; the pod's class and wholeness of CPUs are settled already."""

    asks: Ask
    init: bool = False


Pod = tuple[Container, ...]
"""Containers in order of start, sidecars among the init containers."""


def subsets(n: int) -> list[frozenset[int]]:
    return [frozenset(c) for k in range(1, n + 1) for c in combinations(range(n), k)]


def held(cells: Sequence[Ask], mask: frozenset[int], resource: str) -> int:
    return sum(cells[i].get(resource, 0) for i in mask)


def simple_hints(m: Machine, resource: str, amount: int) -> list[Hint]:
    """Return the hints of the cpu manager and the device manager: counts in masks."""
    narrowest = len(m.free)
    found = []
    for mask in subsets(len(m.free)):
        if held(m.capacity, mask, resource) >= amount:
            narrowest = min(narrowest, len(mask))
        if held(m.free, mask, resource) >= amount:
            found.append(mask)
    return [Hint(mask, len(mask) == narrowest) for mask in found]


def memory_hints(m: Machine, asks: Ask) -> dict[str, list[Hint]]:
    """Return the hints of the memory manager: all kinds of memory from the same cells."""
    narrowest = len(m.free)
    found = []
    for mask in subsets(len(m.free)):
        if any(held(m.allocatable, mask, r) < a for r, a in asks.items()):
            continue
        narrowest = min(narrowest, len(mask))
        uses = [m.memory_of[i] for i in mask if m.memory_of[i]]
        if len(mask) == 1 and any(len(u) > 1 for u in uses):
            continue
        if len(mask) > 1 and any(u != mask for u in uses):
            continue
        if all(held(m.free, mask, r) >= a for r, a in asks.items()):
            found.append(mask)
    return {r: [Hint(mask, len(mask) == narrowest) for mask in found] for r in asks}


def hints(m: Machine, asks: Ask) -> list[list[Hint]]:
    """Return what the providers hint, resource by resource; what is in no cell does not matter."""
    asks = {r: a for r, a in asks.items() if a and r in m.resources}
    out = [simple_hints(m, r, a) for r, a in asks.items() if r not in MEMORY]
    out += memory_hints(m, {r: a for r, a in asks.items() if r in MEMORY}).values()
    # No possible affinity: any cell, not preferred.
    return [h or [Hint(None, False)] for h in out]


def merged(m: Machine, all_hints: list[list[Hint]]) -> Hint:
    """Merge by every permutation: preferred first, then narrow, then low."""
    every = frozenset(range(len(m.free)))
    best = Hint(every, False)
    if m.policy == "single-numa-node":
        all_hints = [
            [h for h in hs if h.preferred and (h.cells is None or len(h.cells) == 1)]
            for hs in all_hints
        ]
    for permutation in product(*all_hints):
        given = [h.cells for h in permutation if h.cells is not None]
        cells = every.intersection(*given)
        preferred = all(h.preferred for h in permutation) and all(g == given[0] for g in given)
        if not cells:
            continue
        hint = Hint(cells, preferred)
        if (hint.preferred, -len(cells), -number(cells)) > (
            best.preferred, -len(best.cells or ()), -number(best.cells or frozenset()),
        ):  # fmt: skip
            best = hint
    return best


def number(cells: frozenset[int]) -> int:
    return sum(2**i for i in cells)


def refused(m: Machine, hint: Hint) -> bool:
    return m.policy in ("restricted", "single-numa-node") and not hint.preferred


def shared_out(amount: int, most: Sequence[int], unit: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to take the amount from these, unit by unit."""
    if len(most) == 1:
        if amount <= most[0]:
            yield (amount,)
        return
    for n in range(0, min(amount, most[0]) + 1, unit):
        for rest in shared_out(amount - n, most[1:], unit):
            yield (n, *rest)


def allocated(m: Machine, asks: Ask, cells: frozenset[int]) -> Iterator[Machine]:
    """Yield the machine after the request has been given from these cells, in every way."""
    asks = {r: a for r, a in asks.items() if a and r in m.resources}
    order = sorted(cells)
    ways = [
        list(shared_out(a, [m.free[i].get(r, 0) for i in order], m.unit)) for r, a in asks.items()
    ]
    uses = any(r in MEMORY for r in asks)
    memory_of = tuple(cells if uses and i in cells else u for i, u in enumerate(m.memory_of))
    for way in product(*ways):
        free = [dict(f) for f in m.free]
        for r, taken in zip(asks, way, strict=True):
            for i, n in zip(order, taken, strict=True):
                free[i][r] = free[i].get(r, 0) - n
        yield replace(m, free=tuple(free), memory_of=memory_of)


def requests(m: Machine, pod: Pod) -> list[Ask]:
    """Return what is hinted for, one after the other: containers, or the pod as a whole."""
    if m.scope == "container":
        return [c.asks for c in pod]
    stay: dict[str, int] = {}
    peak: dict[str, int] = {}
    for c in pod:
        for r, a in c.asks.items():
            if c.init:
                peak[r] = max(peak.get(r, 0), stay.get(r, 0) + a)
            else:
                stay[r] = stay.get(r, 0) + a
    return [{r: max(stay.get(r, 0), peak.get(r, 0)) for r in {*stay, *peak}}]


def run(m: Machine, asks: Sequence[Ask]) -> bool:
    """Say whether all these requests are admitted in turn, however they are shared out."""
    if not asks:
        return True
    hint = merged(m, hints(m, asks[0]))
    if refused(m, hint):
        return False
    if m.policy in ("none", "best-effort"):
        return True
    assert hint.cells is not None
    return all(run(after, asks[1:]) for after in allocated(m, asks[0], hint.cells))


def admits_in_order(m: Machine, pods: Sequence[Pod]) -> bool:
    return run(m, [a for pod in pods for a in requests(m, pod)])


def admits(m: Machine, pods: Sequence[Pod]) -> bool:
    """Say whether there is an order in which the kubelet admits them all."""
    marks = [tuple((tuple(sorted(c.asks.items())), c.init) for c in p) for p in pods]
    orders = {tuple(marks[i] for i in o): o for o in permutations(range(len(pods)))}
    return any(admits_in_order(m, [pods[i] for i in o]) for o in orders.values())
