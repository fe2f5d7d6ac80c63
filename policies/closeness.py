"""Closeness: how far groups spread over domains that they would like to share.

Σ over bonds and the levels that they wish for of (domains in which their pods run after the plan
− 1), of bonds that start pods. What is outside a level counts as one domain of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .outcome import Outcome
from .topology import domains_of, pinned, presence

if TYPE_CHECKING:
    from .board import Board, Term


@dataclass(frozen=True, slots=True)
class Closeness:
    """Σ (domains that a bond's pods are in − 1), over its levels."""

    name: str = "closeness"
    unit: str = "domains too many"
    sense: Literal["max", "min"] = "min"

    def cost(self, board: "Board") -> "Iterable[Term]":
        out: list[Term] = []
        for t in board.types:
            for bond in board.scene.bonds.of_group(t.sample.key):
                for level in bond.wished:
                    there = pinned(board.scene, bond, level)
                    flags = presence(board, t, bond, level, self.name)
                    new = [f for d, f in flags.items() if d not in there]
                    out += [(1, f) for f in new]
                    if there or not new:
                        continue
                    # The first domain is free.
                    free = board.flag(("first domain", bond.group, bond.subgroup, level.name))
                    terms = [(1, free), *((-1, f) for f in new)]
                    board.at_most(terms, 0, self.name, bond.label)
                    out.append((-1, free))
        return out

    def measure(self, outcome: Outcome) -> int:
        bonds = outcome.scene.bonds
        total = 0
        for key, started in outcome.started.items():
            for bond in bonds.of_group(key):
                if any(bond.holds(p) for p in started):
                    for level in bond.wished:
                        there = pinned(outcome.scene, bond, level)
                        after = domains_of(outcome, bond, level)
                        total += len(after) - max(1, len(there))
        return total
