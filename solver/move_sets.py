"""Sets of running pods whose leaving might make room for some pods, the fewest and cheapest first.

Where there are few, every set; else what counting says is enough, node by node.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from ..models import Pod, PodSpec
from ..policies.cost import lost_work
from ..policies.ledger import Matrix, copies_by_room
from ..policies.members import Members
from ..policies.outcome import Outcome
from ..policies.tracker import Mask

EVERY = 3000
"""Up to so many sets of a size are all looked at."""

Nodes = list[int] | slice
Cost = tuple[int, tuple[int, ...], int, int, int, tuple[str, ...]]


def cost_of(outcome: Outcome, pods: Sequence[Pod]) -> Cost:
    """Return what a set costs: pods, their priorities from the top, harm to groups, lost work.

    Of equal ones those that rank last in their group go first; names make the order certain.
    """
    scene = outcome.scene
    members = [scene.roster[p.group] for p in pods if p.group is not None]
    priorities = [max(m.group.priority, p.priority) for m, p in zip(members, pods, strict=True)]
    return (
        len(pods),
        tuple(sorted(priorities, reverse=True)),
        sum(_harm(m, p) for m, p in zip(members, pods, strict=True)),
        sum(lost_work(scene, p) for p in pods),
        sum(_ahead(m, p) for m, p in zip(members, pods, strict=True)),
        tuple(sorted(p.key for p in pods)),
    )


def _harm(m: Members, pod: Pod) -> int:
    """Return what a group is without while the pod restarts.

    2: a gang is without a member of its minimum; 1: a group of one pod is without it; 0: the pod is
    elastic.
    """
    if not any(p is pod for p in m.split(m.running)[0]):
        return 0
    return 2 if m.need > 1 else 1


def _ahead(m: Members, pod: Pod) -> int:
    """Return how many running members of its group the pod ranks before."""
    return next((n for n, p in enumerate(reversed(m.running)) if p is pod), 0)


class MoveSets:
    """Which of the movable pods may have to leave for some pods to find room."""

    def __init__(self, outcome: Outcome, movable: Iterable[Pod], pods: Sequence[Pod]) -> None:
        self._outcome = outcome
        scene = outcome.scene
        self._at = scene.index
        movable = sorted(movable, key=lambda p: cost_of(outcome, (p,)))
        self._movable = movable
        self._room = outcome.room
        self._kinds: dict[PodSpec, list[Pod]] = {}
        for p in pods:
            self._kinds.setdefault(p.spec, []).append(p)
        numbers: dict[PodSpec, int] = {}
        self._alike = {id(p.spec): numbers.setdefault(p.spec, len(numbers)) for p in movable}
        every = slice(None)
        self._counts = {k: self._count(same, every, self._room) for k, same in self._kinds.items()}

    def of(self, most: int, domains: Sequence[Mask]) -> Iterator[Sequence[Pod]]:
        """Yield sets of at most so many pods; ``domains``: nodes that the pods may have to share.

        Each set once; of sets that only differ by equal pods one.
        """
        seen: set[tuple[object, ...]] = set()
        size = 0
        for size in range(1, min(most, len(self._movable)) + 1):
            if comb(len(self._movable), size) > EVERY:
                break
            yield from self._fresh(combinations(self._movable, size), seen)
        else:
            return
        found = [s for mask in (None, *domains) for s in self._by_node(mask, most)]
        yield from self._fresh([s for s in found if size <= len(s) <= most], seen)

    def _fresh(
        self, sets: Iterable[Sequence[Pod]], seen: set[tuple[object, ...]]
    ) -> Iterator[Sequence[Pod]]:
        able = [s for s in sets if self._is_enough(s)]
        for some in sorted(able, key=lambda s: cost_of(self._outcome, s)):
            kind = tuple(sorted(map(self._kind, some)))
            if kind not in seen:
                seen.add(kind)
                yield some

    def _kind(self, pod: Pod) -> tuple[object, ...]:
        spec = self._alike[id(pod.spec)]
        return (pod.node or "", pod.group or "", spec, pod.role, pod.subgroups, pod.devices)

    def _count(self, same: Sequence[Pod], nodes: Nodes, room: Matrix) -> Matrix:
        """Return how many of equal pods nodes with such room take, ``len(same)`` at most."""
        scene = self._outcome.scene
        return copies_by_room(room, scene.row(same[0]), scene.mask(same[0])[nodes], len(same))

    def _is_enough(self, some: Sequence[Pod]) -> bool:
        """Say whether each kind of the pods has room by counting, once the set has left."""
        freed = self._freed(some)
        nodes = list(freed)
        room = np.array([self._room[i] + row for i, row in freed.items()])
        for k, same in self._kinds.items():
            before = self._counts[k]
            change = self._count(same, nodes, room).sum() - before[nodes].sum()
            if int(before.sum() + change) < len(same):
                return False
        return True

    def _freed(self, some: Iterable[Pod]) -> dict[int, Matrix]:
        scene = self._outcome.scene
        out: dict[int, Matrix] = {}
        for p in some:
            i = self._at[p.node or ""]
            out[i] = out[i] + scene.row(p) if i in out else scene.row(p)
        return out

    def _by_node(self, mask: Mask | None, most: int) -> Iterator[Sequence[Pod]]:
        """Yield what has to leave of the nodes for each kind of pods to have room there."""
        union: dict[str, Pod] = {}
        used: set[str] = set()
        for k, same in self._kinds.items():
            able = self._counts[k] if mask is None else np.where(mask, self._counts[k], 0)
            missing = len(same) - int(able.sum())
            steps = sorted(
                self._steps(same, mask, most), key=lambda s: cost_of(self._outcome, s[0])
            )
            if len(self._kinds) == 1:
                yield from (leaving for leaving, gain in steps if gain >= missing)
            for leaving, gain in steps:
                node = leaving[0].node or ""
                if missing > 0 and node not in used:
                    used.add(node)
                    missing -= gain
                    union |= {p.key: p for p in leaving}
            if missing > 0:
                return
        if union:
            yield tuple(union.values())

    def _steps(
        self, same: Sequence[Pod], mask: Mask | None, most: int
    ) -> Iterator[tuple[Sequence[Pod], int]]:
        """Yield, node by node, which pods have to leave for so many more of equal pods to fit."""
        scene = self._outcome.scene
        here: dict[int, list[Pod]] = {}
        for p in self._movable:
            i = self._at[p.node or ""]
            if scene.mask(same[0])[i] and (mask is None or mask[i]):
                here.setdefault(i, []).append(p)
        row = scene.row(same[0])
        for i, pods in here.items():
            reached = self._fits(self._room[i], row)
            start = reached
            gone: list[Pod] = []
            room = self._room[i]
            for p in pods[: 4 * most]:
                gone.append(p)
                room = room + scene.row(p)
                now = min(len(same), self._fits(room, row))
                if now > reached:
                    reached = now
                    kept = self._spared(gone, self._room[i], row, now)
                    if len(kept) <= most:
                        yield kept, now - start

    def _spared(self, gone: Sequence[Pod], room: Matrix, row: Matrix, want: int) -> list[Pod]:
        """Return the pods without those that may stay, the dearest spared first."""
        scene = self._outcome.scene
        left = list(gone)
        for p in reversed(gone):
            rest = [q for q in left if q is not p]
            if rest and self._fits(room + scene.rows(rest), row) >= want:
                left = rest
        return left

    @staticmethod
    def _fits(room: Matrix, row: Matrix) -> int:
        asked = np.flatnonzero(row).tolist()
        return min((max(0, int(room[r])) // int(row[r]) for r in asked), default=0)
