"""Storage quota: claims that are still to be made stay inside the quotas of their namespace.

Semantics of the API server's ResourceQuota admission for the claims of generic ephemeral volumes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import GroupKey, Pod, Reason, ResourceQuota, Violation
from ..models.quantity import more_asked, show
from .outcome import Outcome
from .tracker import Mask, World

if TYPE_CHECKING:
    from .board import Board

COUNT, BYTES = "persistentvolumeclaims", "requests.storage"
_OF_CLASS = ".storageclass.storage.k8s.io/"


def asked_of(pod: Pod, quota: ResourceQuota) -> Counter[str]:
    """Return what the pod's new claims take of each key that the quota bounds."""
    out: Counter[str] = Counter()
    for v in pod.spec.volumes:
        if v.made_in == quota.namespace and not quota.scoped:
            of_class = v.storage_class + _OF_CLASS
            amounts = {
                COUNT: 1, f"count/{COUNT}": 1, BYTES: v.size,
                of_class + COUNT: 1, of_class + BYTES: v.size,
            }  # fmt: skip
            out.update({k: n for k, n in amounts.items() if k in quota.hard})
    return out


def makes_claims(pod: Pod) -> bool:
    return any(v.made_in for v in pod.spec.volumes)


class _Made:
    """What of each quota the claims of pods that start have taken so far."""

    def __init__(self, world: World) -> None:
        self._size = len(world.nodes)
        self.is_idle = world.nobody(lambda spec: spec.volumes)
        self._quotas: Sequence[ResourceQuota] = world.quotas
        self._taken: list[Counter[str]] = [Counter(q.used) for q in self._quotas]
        for p, i in world.present_with(lambda spec: spec.volumes):
            self.add(p, i)

    def allows(self, pod: Pod) -> Mask | None:
        if not makes_claims(pod):
            return None
        fits = all(
            taken[k] + n <= q.hard[k]
            for q, taken in zip(self._quotas, self._taken, strict=True)
            for k, n in asked_of(pod, q).items()
        )
        return np.full(self._size, fits, dtype=np.bool_)

    def opens(self, pod: Pod) -> Mask | None:
        return self.allows(pod)

    def add(self, pod: Pod, node: int, times: int = 1) -> None:
        # The claims of pods that run are part of what is used already.
        if pod.node is None and makes_claims(pod):
            for q, taken in zip(self._quotas, self._taken, strict=True):
                for k, n in asked_of(pod, q).items():
                    taken[k] += times * n


@dataclass(frozen=True, slots=True)
class StorageQuota:
    """Used + Σ new claims of pods that start ≤ hard, per ResourceQuota and key."""

    name: str = "storage-quota"

    def track(self, world: World) -> _Made:
        return _Made(world)

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        """Hold a group whose minimum alone is too much."""
        if not outcome.scene.asks("volumes"):
            return
        m = outcome.scene.roster[GroupKey(group)]
        first = [p for p in m.first if p.node is None]
        if len({p.spec.volumes for p in m.pending}) > 1:
            return  # another choice of members may be less
        for about, key, there, more, most in self._beyond(outcome, first):
            unit = "storage" if key.endswith(BYTES) else "pods"
            yield Reason(
                self.name, about,
                f"{about} has {show(there, unit)} of its {show(most, unit)} {key} in use; "
                f"{more_asked(more, unit)}",
            )  # fmt: skip
            return

    @staticmethod
    def _beyond(outcome: Outcome, pods: Iterable[Pod]) -> Iterator[tuple[str, str, int, int, int]]:
        pods = [p for p in pods if makes_claims(p)]
        for q in outcome.scene.snapshot.quotas if pods else ():
            asked: Counter[str] = Counter()
            for p in pods:
                asked.update(asked_of(p, q))
            for k in sorted(asked):
                there = q.used.get(k, 0)
                if asked[k] and there + asked[k] > q.hard[k]:
                    yield f"ResourceQuota {q.key}", k, there, asked[k], q.hard[k]

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        new = [p for p, _ in outcome.new_pods]
        for about, key, there, more, most in self._beyond(outcome, new):
            yield Violation(self.name, about, f"{key}: {there + more} would be used of {most}")

    def constrain(self, board: "Board") -> None:
        sets = [r for r in board.rolesets if makes_claims(r.shape.sample)]
        for q in board.scene.snapshot.quotas if sets else ():
            for key in sorted(q.hard):
                terms = [(asked_of(r.shape.sample, q)[key], board.count(r)) for r in sets]
                left = max(0, q.hard[key] - q.used.get(key, 0))
                board.at_most(terms, left, self.name, f"ResourceQuota {q.key} {key}")
