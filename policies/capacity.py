"""Capacity: Σ pods · request ≤ allocatable, per node and resource, the pod slots included."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import Violation
from ..models.quantity import show
from .outcome import Outcome

if TYPE_CHECKING:
    from .board import Board


@dataclass(frozen=True, slots=True)
class Capacity:
    """Nothing starts where it does not fit: bound pods now, nominated ones once others are gone."""

    name: str = "capacity"

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        scene = outcome.scene
        now = scene.room_now.copy()
        asks: dict[int, set[int]] = {}
        bound_here: dict[int, set[int]] = {}
        for p, i in outcome.new_pods:
            row = scene.row(p)
            columns = {int(c) for c in np.flatnonzero(row)}
            asks.setdefault(i, set()).update(columns)
            if p.key in outcome.bound:
                now[i] = now[i] - row
                bound_here.setdefault(i, set()).update(columns)
        for room, columns_of, when in (
            (outcome.room, asks, "in the end"),
            (now, bound_here, "at once"),
        ):
            for i, cols in sorted(columns_of.items()):
                for c in sorted(cols):
                    if room[i][c] < 0:
                        yield Violation(
                            self.name,
                            f"node {scene.nodes[i].name}",
                            f"{scene.ledger.resources[c]} is overfull {when} by "
                            f"{show(-int(room[i][c]), scene.ledger.resources[c])}",
                        )

    def constrain(self, board: "Board") -> None:
        for cls in board.classes:
            here = board.on(cls)
            units = board.units_on(cls)
            for r, room in enumerate(cls.room):
                terms = [(s.row[r], v) for s, v in here if s.row[r]]
                if not terms:
                    continue
                freed = [(-u.row[r], board.lost(u)) for u in units if u.row[r]]
                about = f"{cls.label} {board.scene.ledger.resources[r]}"
                if room >= 0:
                    board.at_most([*terms, *freed], room * cls.size, self.name, about)
                elif not freed:
                    board.at_most(terms, 0, self.name, about)
                else:
                    # Overfull already (a shrunken node): nothing has to go, but what starts
                    # has to fit.
                    used = board.flag(("used", cls.index, r))
                    for _, v in terms:
                        board.at_most([(1, v), (-board.upper(v), used)], 0, self.name, about)
                    board.at_most([*terms, *freed], room, self.name, about, given=[used])
