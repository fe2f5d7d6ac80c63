"""What evictions take away before an item of a queue, as the solver sees it.

Each item's sum has a term for every victim before it. Where there are many, the sums are chained,
each the one before and one victim more: so the rows grow with the victims, not with their square.
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import gcd
from typing import TYPE_CHECKING

from ..models import GroupKey, PodState, QueueName
from .items import Item

if TYPE_CHECKING:
    from .board import Board, Var, Victim


CHAINED = 48
"""Of more victims than so many the sums are chained."""
LARGEST = 1 << 31


class Losses:
    """The victims among a queue's running items, given in their order with their positions."""

    def __init__(
        self, board: "Board", queue: QueueName, running: Iterable[tuple[int, Item]]
    ) -> None:
        self._board, self._queue = board, queue
        at: dict[GroupKey, list[int]] = {}
        for position, item in running:
            pods = sum(p.state is PodState.RUNNING for p in item.pods)
            at.setdefault(item.group.key, []).extend([position] * pods)
        found = [(v, places) for k, places in at.items() if (v := board.victim_of(k)) is not None]
        self._places = {v.index: places for v, places in found}
        whole = [(p[-1], v) for v, p in found if len(p) == len(v.members.running)]
        whole.sort(key=lambda x: x[0])
        self._ends = [end for end, _ in whole]
        self._whole = [v for _, v in whole]
        ended = {v.index for v in self._whole}
        self._parted = [v for v, p in found if p[0] < p[-1] or v.index not in ended]
        width = len(board.scene.ledger.resources)
        rows = [u.row for v in self._whole for u in board.units_of(v)]
        self._unit = [gcd(*(row[r] for row in rows)) for r in range(width)]
        total = [
            sum(u.row[r] * len(u.pods) for v in self._whole for u in board.units_of(v))
            for r in range(width)
        ]
        fits = all(t < LARGEST * max(1, g) for t, g in zip(total, self._unit, strict=True))
        self._is_chained = fits and len(self._whole) > CHAINED
        self._sums: list[dict[int, Var]] = []

    def before(self, position: int, but: GroupKey) -> "Iterable[tuple[tuple[int, ...], Var]]":
        """Yield what no longer stands there or before; a group's own losses left out."""
        for v in self._parted:
            places = self._places[v.index]
            n = bisect_right(places, position)
            if v.members.key != but and 0 < n < len(v.members.running):
                yield from self._part(v, n)
        count = bisect_right(self._ends, position)
        if self._is_chained:
            if count and self._whole[count - 1].members.key == but:
                count -= 1
            if all(v.members.key != but for v in self._whole[max(0, count - 1) : count]):
                yield from self._chain(count)
                return
        for v in self._whole[:count]:
            if v.members.key != but:
                yield from ((u.row, self._board.lost(u)) for u in self._board.units_of(v))

    def _part(self, v: "Victim", before: int) -> "Iterable[tuple[tuple[int, ...], Var]]":
        """What is left of a group fills its places from the first: pods behind go first."""
        board = self._board
        units = board.units_of(v)
        behind = len(v.members.running) - before
        less = board.integer(0, before, ("less", v.index, before)).var
        label = f"group {v.members.key} fewer before"
        lost = ((1, board.lost(u)) for u in units)
        board.at_most([*lost, (-1, less)], behind, "preemption", label)
        yield tuple(max(of) for of in zip(*(u.row for u in units), strict=True)), less

    def _chain(self, count: int) -> "Iterable[tuple[tuple[int, ...], Var]]":
        """Yield the sums over so many victims, one for each resource."""
        board = self._board
        while len(self._sums) < count:
            v = self._whole[len(self._sums)]
            last = self._sums[-1] if self._sums else {}
            sums: dict[int, Var] = {}
            for r, unit in enumerate(self._unit):
                terms = [(u.row[r] // unit, board.lost(u)) for u in board.units_of(v) if u.row[r]]
                if r in last:
                    terms.append((1, last[r]))
                if terms:
                    most = sum(c * board.upper(x) for c, x in terms)
                    name = ("lost before", self._queue, v.index, r)
                    sums[r] = board.integer(0, most, name).var
                    label = f"group {v.members.key} lost before"
                    # A sum is at least what it counts: more would only let less be out.
                    board.at_most([*terms, (-1, sums[r])], 0, "preemption", label)
            self._sums.append(sums)
        if count:
            for r, var in self._sums[count - 1].items():
                yield _only(r, self._unit[r], len(self._unit)), var


def _only(column: int, value: int, width: int) -> tuple[int, ...]:
    row = [0] * width
    row[column] = value
    return tuple(row)
