"""Following a growing plan on nodes with cells: whom they still admit."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..models import Pod, PodSpec
from .numa_cells import NodeCells
from .outcome import Outcome
from .tracker import Mask, World

Cells = Mapping[int, NodeCells]
"""By node index."""


@runtime_checkable
class Celled(Protocol):
    """A rule about nodes whose resources lie in cells."""

    def cells_of(self, where: Any) -> Mapping[str, Cells]:
        """Return the cells of a scene or world, by what they are of."""
        ...


def celled(rules: Iterable[object], where: Any) -> list[Cells]:
    """Return the cells of all these rules."""
    return [c for r in rules if isinstance(r, Celled) for c in r.cells_of(where).values()]


def coming(outcome: Outcome, cells: Cells) -> dict[int, list[Pod]]:
    """Return, by node, the pods that start there and ask something of the cells."""
    out: dict[int, list[Pod]] = {}
    for p, i in outcome.new_pods if cells else ():
        if i in cells and cells[i].asks(p.spec).parts:
            out.setdefault(i, []).append(p)
    return dict(sorted(out.items()))


class CellsTracker:
    """Which pods have come to, and left, each node with cells; answers are kept by pod spec."""

    def __init__(self, world: World, cells: Cells, concerns: Callable[[PodSpec], bool]) -> None:
        self._size = len(world.nodes)
        self._cells = cells
        self.is_idle = not cells
        self._concerns = concerns
        self._come: dict[int, Counter[PodSpec]] = {i: Counter() for i in cells}
        self._left = {i: set(c.everybody) for i, c in cells.items()}
        self._changes: list[int] = []
        self._known: dict[int, tuple[PodSpec, Mask, int]] = {}
        for p, i in world.present if cells else ():
            self.add(p, i)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        cells = self._cells.get(node) if self._concerns(pod.spec) else None
        if cells is None or pod.key in cells.promised:
            return
        if pod.key not in cells.everybody:
            come = self._come[node]
            come[pod.spec] += times
            if not come[pod.spec]:
                del come[pod.spec]
        elif times > 0:
            self._left[node].discard(pod.key)
        else:
            self._left[node].add(pod.key)
        self._changes.append(node)

    def allows(self, pod: Pod) -> Mask | None:
        if not self._cells or not self._concerns(pod.spec):
            return None
        known = self._known.get(id(pod.spec))
        if known is None:
            mask, since = np.ones(self._size, dtype=np.bool_), 0
            changed: Iterable[int] = self._cells
        else:
            _, mask, since = known
            changed = dict.fromkeys(self._changes[since:])
        for i in changed:
            mask[i] = self._admits(i, pod.spec, 1)
        self._known[id(pod.spec)] = (pod.spec, mask, len(self._changes))
        return mask.copy()

    def _admits(self, node: int, spec: PodSpec, copies: int) -> bool:
        cells, come, left = self._cells[node], self._come[node], self._left[node]
        if copies == 1 and not come and not left:
            return cells.admits_one(spec)
        every = [spec] * copies + [s for s, n in come.items() for _ in range(n)]
        return cells.admits(every, left)

    def most(self, pod: Pod, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the counts, lowered to how many equal pods each node admits."""
        if not self._cells or not self._concerns(pod.spec):
            return counts
        out = counts.copy()
        for i in map(int, np.flatnonzero(counts)):
            if i in self._cells:
                low, high = 0, int(counts[i])
                while low < high:
                    middle = (low + high + 1) // 2
                    if self._admits(i, pod.spec, middle):
                        low = middle
                    else:
                        high = middle - 1
                out[i] = low
        return out

    def opens(self, pod: Pod) -> Mask | None:
        mask = self.allows(pod)
        if mask is not None:
            # Who comes alone may also come while everybody stays.
            for i, cells in self._cells.items():
                mask[i] = mask[i] or cells.admits([pod.spec], cells.ending)
        return mask
