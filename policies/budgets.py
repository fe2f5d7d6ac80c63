"""Budgets: no PodDisruptionBudget bears more evictions than it allows, all of the plan together.

Pods that are not ready count where the budget says so, or is not met.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import Pod, PodKey, Violation
from .outcome import Outcome
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board


class Covering:
    """Which budgets of a scene cover a pod, by their place in the snapshot; looked up once."""

    def __init__(self, scene: Scene) -> None:
        self._budgets = scene.snapshot.budgets
        self._by_pod: dict[PodKey, tuple[int, ...]] = {}
        self._by_labels: dict[tuple[str, bool, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}

    @property
    def any(self) -> bool:
        """Say whether there are budgets."""
        return bool(self._budgets)

    def of(self, pod: Pod) -> tuple[int, ...]:
        if not self._budgets:
            return ()
        found = self._by_pod.get(pod.key)
        if found is None:
            alike = (pod.namespace, pod.ready, tuple(sorted(pod.labels.items())))
            if alike not in self._by_labels:
                covering = (i for i, b in enumerate(self._budgets) if b.covers(pod))
                self._by_labels[alike] = tuple(covering)
            found = self._by_pod[pod.key] = self._by_labels[alike]
        return found

    def count(self, pods: Iterable[Pod]) -> Counter[int]:
        """Return how many of the pods each budget covers."""
        return Counter(i for p in pods for i in self.of(p)) if self._budgets else Counter()

    def bear(self, lost: Mapping[int, int]) -> bool:
        """Say whether every budget bears so many evictions."""
        return all(n <= self._budgets[i].allowed for i, n in lost.items())


def covering_of(scene: Scene) -> Covering:
    """Return the scene's covering, made once."""
    return scene.once("covering", Covering)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Σ evicted pods that a budget covers ≤ what it allows, per budget."""

    name: str = "budget"

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        lost = (p for ps in outcome.losses.values() for p in ps)
        counts = covering_of(outcome.scene).count(lost)
        for i, n in sorted(counts.items()):
            b = outcome.scene.snapshot.budgets[i]
            if n > b.allowed:
                yield Violation(
                    self.name, f"budget {b.key}", f"bears {b.allowed} evictions, the plan has {n}"
                )

    def constrain(self, board: "Board") -> None:
        for b in board.scene.snapshot.budgets:
            terms = [(1, board.lost(u)) for u in board.units if b.covers(u.sample)]
            board.at_most(terms, b.allowed, self.name, f"budget {b.key}")
