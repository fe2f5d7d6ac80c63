"""Host ports: two pods of one node do not ask for the same port, protocol and address."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..models import Pod, Violation
from .outcome import Outcome
from .tracker import Mask, World

if TYPE_CHECKING:
    from .board import Board


def clash(a: Pod, b: Pod) -> bool:
    """Say whether the two pods cannot share a node for their ports' sake."""
    return any(x.clashes(y) for x in a.spec.host_ports for y in b.spec.host_ports)


class _Ports:
    def __init__(self, world: World) -> None:
        self._size = len(world.nodes)
        self._on: dict[int, list[Pod]] = {}
        self.is_idle = world.nobody(lambda spec: spec.host_ports)
        for p, i in world.present_with(lambda spec: spec.host_ports):
            self.add(p, i)

    def allows(self, pod: Pod) -> Mask | None:
        if not pod.spec.host_ports:
            return None
        mask = np.ones(self._size, dtype=np.bool_)
        for i, pods in self._on.items():
            mask[i] = not any(clash(pod, q) for q in pods)
        return mask

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if not pod.spec.host_ports:
            return
        if times > 0:
            self._on.setdefault(node, []).extend([pod] * times)
        else:
            for _ in range(-times):
                same = next(q for q in self._on[node] if q.spec == pod.spec)
                self._on[node].remove(same)


@dataclass(frozen=True, slots=True)
class HostPorts:
    """Σ pods that ask for a port ≤ 1, per node, port and protocol (address wildcards included)."""

    name: str = "host-ports"

    def track(self, world: World) -> _Ports:
        return _Ports(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        touched = {i for p, i in outcome.new_pods if p.spec.host_ports}
        for i in sorted(touched):
            here = [p for p in outcome.pods_by_node.get(i, ()) if p.spec.host_ports]
            for a, b in combinations(here, 2):
                new = [p for p in (a, b) if p.key in outcome.places]
                if new and clash(a, b):
                    node = outcome.scene.nodes[i].name
                    other = b if new[0] is a else a
                    yield Violation(
                        self.name, f"pod {new[0].key}",
                        f"its host port is taken by {other.key} on {node}",
                    )  # fmt: skip

    def constrain(self, board: "Board") -> None:
        shapes = [s for s in board.shapes if s.sample.spec.host_ports]
        for a, b in combinations(shapes, 2):
            if not clash(a.sample, b.sample):
                continue
            for cls in board.classes:
                va, vb = board.pods(a, cls), board.pods(b, cls)
                if va is not None and vb is not None:
                    board.at_most(
                        [(1, va), (1, vb)], cls.size, self.name, f"{cls.label} {a.label} {b.label}"
                    )
        for s in shapes:
            for cls, var in board.cells(s):
                board.at_most([(1, var)], cls.size, self.name, f"{cls.label} {s.label}")
                for unit in board.units_on(cls):
                    if clash(s.sample, unit.sample):
                        board.displaces(s, unit, self.name)
