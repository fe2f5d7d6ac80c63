"""Budgets: no PodDisruptionBudget bears more evictions than it allows, all of the plan together."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import Violation
from .outcome import Outcome

if TYPE_CHECKING:
    from .board import Board


@dataclass(frozen=True, slots=True)
class Budgets:
    """Σ evicted pods that a budget covers ≤ what it allows, per budget."""

    name: str = "budget"

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        lost = [p for ps in outcome.losses.values() for p in ps]
        for b in outcome.scene.snapshot.budgets:
            n = sum(b.covers(p) for p in lost)
            if n > b.allowed:
                yield Violation(
                    self.name, f"budget {b.key}", f"bears {b.allowed} evictions, the plan has {n}"
                )

    def constrain(self, board: "Board") -> None:
        for b in board.scene.snapshot.budgets:
            terms = [(1, board.lost(u)) for u in board.units if b.covers(u.sample)]
            board.at_most(terms, b.allowed, self.name, f"budget {b.key}")
