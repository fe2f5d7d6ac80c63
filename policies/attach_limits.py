"""Attach limits: a node attaches no more volumes of a CSI driver than its CSINode allows.

Semantics of kube-scheduler's NodeVolumeLimits filter: every volume counts once on a node, however
many of its pods use it. Terminating pods are judged as gone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import Pod, Violation
from .outcome import Outcome
from .tracker import Mask, World

if TYPE_CHECKING:
    from .board import Board, NodeClass, Term

Own = Counter[str]
"""Volumes by driver."""


def own_volumes(pod: Pod) -> Own:
    """Return how many volumes of each driver only this pod has."""
    return Counter(v.driver for v in pod.spec.volumes if v.driver and not v.claim)


def shared_claims(pod: Pod) -> frozenset[tuple[str, str]]:
    """Return (driver, claim) of the volumes that several pods have."""
    return frozenset((v.driver, v.claim) for v in pod.spec.volumes if v.driver and v.claim)


def attached(pods: Iterable[Pod]) -> Own:
    """Return how many volumes of each driver the pods of one node need together."""
    out: Own = Counter()
    claims: set[tuple[str, str]] = set()
    for p in pods:
        if p.spec.volumes:
            out.update(own_volumes(p))
            claims |= shared_claims(p)
    out.update(driver for driver, _ in claims)
    return out


class _Attached:
    """What is attached on each node."""

    def __init__(self, world: World) -> None:
        self._nodes = world.nodes
        self._on: dict[int, list[Pod]] = {}
        self.is_idle = world.nobody(lambda spec: spec.volumes)
        for p, i in world.present_with(lambda spec: spec.volumes):
            self.add(p, i)

    def allows(self, pod: Pod) -> Mask | None:
        if not any(v.driver for v in pod.spec.volumes):
            return None
        asked = {v.driver for v in pod.spec.volumes if v.driver}
        mask = np.ones(len(self._nodes), dtype=np.bool_)
        for i, node in enumerate(self._nodes):
            limited = [d for d in asked if node.drivers.get(d) is not None]
            if limited:
                after = attached([*self._on.get(i, ()), pod])
                mask[i] = all(after[d] <= (node.drivers[d] or 0) for d in limited)
        return mask

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        if not any(v.driver for v in pod.spec.volumes):
            return
        here = self._on.setdefault(node, [])
        if times > 0:
            here.extend([pod] * times)
        else:
            for _ in range(-times):
                here.remove(next(q for q in here if q.key == pod.key))


@dataclass(frozen=True, slots=True)
class AttachLimits:
    """Σ own volumes + Σ shared ones that some pod uses ≤ limit, per node and CSI driver."""

    name: str = "attach-limits"

    def track(self, world: World) -> _Attached:
        return _Attached(world)

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        if not outcome.scene.asks("volumes"):
            return
        nodes = outcome.scene.nodes
        touched: dict[int, set[str]] = {}
        for p, i in outcome.new_pods:
            touched.setdefault(i, set()).update(v.driver for v in p.spec.volumes if v.driver)
        for i, drivers in sorted(touched.items()):
            here = attached(outcome.pods_by_node.get(i, ()))
            for d in sorted(drivers):
                most = nodes[i].drivers.get(d)
                if most is not None and here[d] > most:
                    yield Violation(
                        self.name, f"node {nodes[i].name}",
                        f"{here[d]} volumes of {d} would be attached, {most} may",
                    )  # fmt: skip

    def constrain(self, board: "Board") -> None:
        if not any(s.sample.spec.volumes for s in board.shapes):
            return
        leaving = {p.key for u in board.units for p in u.pods}
        stay: dict[int, list[Pod]] = {}
        for p, i in board.world.present:
            if p.spec.volumes and p.key not in leaving:
                stay.setdefault(i, []).append(p)
        for cls in board.classes:
            node = board.scene.nodes[cls.nodes[0]]
            for driver in sorted(node.drivers):
                most = node.drivers[driver]
                if most is not None:
                    self._limit(board, cls, driver, most, stay.get(cls.nodes[0], ()))

    def _limit(
        self, board: "Board", cls: "NodeClass", driver: str, most: int, stay: Sequence[Pod]
    ) -> None:
        terms: list[Term] = []
        users: dict[str, list[Term]] = {}
        running: set[str] = set()
        """By shared claim, whether somebody who starts or may leave uses it there."""
        fixed = attached(stay)[driver]
        held = {c for p in stay for d, c in shared_claims(p) if d == driver}
        if not any(v.driver == driver for s, _ in board.on(cls) for v in s.sample.spec.volumes):
            return
        for s, var in board.on(cls):
            n = own_volumes(s.sample)[driver]
            if n:
                terms.append((n, var))
            for d, claim in shared_claims(s.sample):
                if d == driver and claim not in held:
                    here = board.present(s, "class", cls.index, [var])
                    users.setdefault(claim, []).append((1, here))
        for u in board.units_on(cls):
            n = own_volumes(u.sample)[driver]
            if n:
                fixed += n * len(u.pods)
                terms.append((-n, board.lost(u)))
            for d, claim in shared_claims(u.sample):
                if d == driver and claim not in held:
                    kept = board.flag(("keeps", u.index))
                    # 0 only where all pods of the unit are gone.
                    board.at_most(
                        [(-len(u.pods), kept), (-1, board.lost(u))], -len(u.pods),
                        self.name, f"pod {u.sample.key}",
                    )  # fmt: skip
                    users.setdefault(claim, []).append((1, kept))
                    running.add(claim)
        for claim, flags in users.items():
            there = board.flag(("attached", cls.index, driver, claim))
            for one in flags:
                board.at_most([one, (-1, there)], 0, self.name, f"{cls.label} {claim}")
            terms.append((1, there))
        about = f"{cls.label} {driver}"
        bound = (most - fixed) * cls.size
        if bound >= len(running):
            board.at_most(terms, bound, self.name, about)
            return
        # Above its limit already: what runs stays, but what starts has to keep to it.
        used = board.flag(("attaches", cls.index, driver))
        for s, var in board.on(cls):
            if any(v.driver == driver for v in s.sample.spec.volumes):
                board.at_most([(1, var), (-board.upper(var), used)], 0, self.name, about)
        board.at_most(terms, bound, self.name, about, given=[used])
