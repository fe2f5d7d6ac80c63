"""Shared volume claims: pods that have one claim stay where it can be used together.

ReadWriteOnce: on one node. ReadWriteOncePod: one pod alone (kube-scheduler's VolumeRestrictions).
A claim of a class that waits for its first consumer: in one topology, where its volume will be.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..models import Node, Pod, Violation, Volume
from .outcome import Outcome
from .tracker import Mask, World

if TYPE_CHECKING:
    from .board import Board, Shape, Term


def spot(volume: Volume, node: Node, index: int) -> Hashable:
    """Return what has to be equal for the nodes of all pods that share the volume."""
    if volume.sharing:
        return index
    return tuple(node.labels.get(k) for k in volume.keys)


def ties(volume: Volume) -> bool:
    """Say whether the pods that share the volume keep each other to a place."""
    return bool(volume.claim and (volume.sharing or volume.keys))


def in_common(a: Pod, b: Pod) -> list[Volume]:
    """Return the volumes that tie the two pods."""
    theirs = {v.claim for v in b.spec.volumes if v.claim}
    return [v for v in a.spec.volumes if v.claim in theirs and ties(v)]


def collide(a: Pod, i: int, b: Pod, j: int, nodes: Sequence[Node]) -> bool:
    """Say whether a on node i and b on node j cannot both use a claim that they share."""
    return any(
        v.sharing == "pod" or spot(v, nodes[i], i) != spot(v, nodes[j], j) for v in in_common(a, b)
    )


class _Users:
    """Who uses which shared claim where."""

    def __init__(self, world: World) -> None:
        self._nodes = world.nodes
        self._on: dict[str, list[tuple[str, int]]] = {}
        self.is_idle = world.nobody(lambda spec: spec.volumes)
        for p, i in world.present_with(lambda spec: spec.volumes):
            self.add(p, i)

    def allows(self, pod: Pod) -> Mask | None:
        mask: Mask | None = None
        for v in pod.spec.volumes:
            users = [i for key, i in self._on.get(v.claim, ()) if key != pod.key]
            if not users or not ties(v):
                continue
            mask = np.ones(len(self._nodes), dtype=np.bool_) if mask is None else mask
            if v.sharing == "pod":
                mask &= False
                continue
            there = {spot(v, self._nodes[i], i) for i in users}
            mask &= np.array([there == {spot(v, n, i)} for i, n in enumerate(self._nodes)])
        return mask

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        for v in pod.spec.volumes:
            if ties(v):
                users = self._on.setdefault(v.claim, [])
                if times > 0:
                    users.append((pod.key, node))
                else:
                    users.remove((pod.key, node))


@dataclass(frozen=True, slots=True)
class SharedClaims:
    """spot(p) = spot(q) for pods p, q that share a claim; of ReadWriteOncePod there is one."""

    name: str = "shared-claims"

    def track(self, world: World) -> _Users:
        return _Users(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        if not outcome.scene.asks("volumes"):
            return
        nodes = outcome.scene.nodes
        users: dict[str, list[tuple[Pod, int]]] = {}
        for p, i in outcome.standing_pods:
            for v in p.spec.volumes:
                if ties(v):
                    users.setdefault(v.claim, []).append((p, i))
        for p, i in outcome.new_pods:
            for v in p.spec.volumes:
                for q, j in users.get(v.claim, ()):
                    if q.key == p.key:
                        continue
                    if v.sharing == "pod":
                        said = f"its claim {v.claim} is for one pod at a time, and {q.key} has it"
                    elif spot(v, nodes[i], i) != spot(v, nodes[j], j):
                        said = f"shares claim {v.claim} with {q.key}, which is on {nodes[j].name}"
                    else:
                        continue
                    yield Violation(self.name, f"pod {p.key}", said)

    def constrain(self, board: "Board") -> None:
        shapes = [s for s in board.shapes if any(map(ties, s.sample.spec.volumes))]
        for s in shapes:
            self._existing(board, s)
        for s in shapes:
            for v in s.sample.spec.volumes:
                if ties(v):
                    self._one_spot(board, [s], v)
        for a, b in combinations(shapes, 2):
            for v in in_common(a.sample, b.sample):
                self._one_spot(board, [a, b], v)

    def _one_spot(self, board: "Board", shapes: "Sequence[Shape]", v: Volume) -> None:
        """Of all the spots at most one is used; of ReadWriteOncePod one pod starts at most."""
        about = f"claim {v.claim}"
        cells = [(s, c, x) for s in shapes for c, x in board.cells(s)]
        if v.sharing == "pod":
            board.at_most([(1, x) for _, _, x in cells], 1, self.name, about)
            return
        nodes = board.scene.nodes
        flags: dict[Hashable, list[Term]] = {}
        for s, c, x in cells:
            i = c.nodes[0]
            here = board.present(s, "class", c.index, [x])
            flags.setdefault(spot(v, nodes[i], i), []).append((1, here))
        if len(flags) < 2:
            return
        chosen: list[Term] = []
        for at, of in flags.items():
            used = board.flag(("claim", v.claim, board.number((v.claim, at))))
            for one in of:
                board.at_most([one, (-1, used)], 0, self.name, about)
            chosen.append((1, used))
        board.at_most(chosen, 1, self.name, about)

    def _existing(self, board: "Board", s: "Shape") -> None:
        """Running victims elsewhere that share a claim must go first."""
        nodes = board.scene.nodes
        for unit in board.units:
            if unit.node < 0:
                continue
            for v in in_common(s.sample, unit.sample):
                theirs = spot(v, nodes[unit.node], unit.node)
                for cls, _ in board.cells(s):
                    i = cls.nodes[0]
                    if v.sharing == "pod" or spot(v, nodes[i], i) != theirs:
                        board.displaces(s, unit, self.name, cls)
