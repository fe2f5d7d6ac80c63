"""Capacity: Σ pods · request ≤ allocatable, per node and resource, the pod slots included."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models import Violation
from ..models.quantity import show
from .columns import sums_by
from .outcome import Outcome

if TYPE_CHECKING:
    from .board import Board


@dataclass(frozen=True, slots=True)
class Capacity:
    """Nothing starts where it does not fit: bound pods now, nominated ones once others are gone."""

    name: str = "capacity"

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        scene = outcome.scene
        is_bound = np.array([p.key in outcome.bound for p, _ in outcome.new_pods], dtype=np.bool_)
        nodes, rows = outcome.new_nodes[is_bound], outcome.new_rows[is_bound]
        now = scene.room_now - sums_by(nodes, rows, len(scene.nodes))
        for room, where, what, when in (
            (outcome.room, outcome.new_nodes, outcome.new_rows, "in the end"),
            (now, nodes, rows, "at once"),
        ):
            asked = sums_by(where, (what != 0).astype(np.int64), len(scene.nodes)) > 0
            for i, c in np.argwhere((room < 0) & asked).tolist():
                name = scene.ledger.resources[c]
                yield Violation(
                    self.name, f"node {scene.nodes[i].name}",
                    f"{name} is overfull {when} by {show(-int(room[i][c]), name)}",
                )  # fmt: skip

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
