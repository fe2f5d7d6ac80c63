"""What the rule numa tells the solver about one node with cells."""

from itertools import pairwise
from typing import TYPE_CHECKING

from .numa_cells import NodeCells
from .numa_layout import Asks
from .numa_masks import Mask, fits, within

if TYPE_CHECKING:
    from .board import Board, NodeClass, Shape, Term, Unit, Var


class NodeRows:
    """Rows of one node: how many pods of each shape are meant for each set of cells."""

    def __init__(self, board: "Board", cls: "NodeClass", cells: NodeCells, rule: str) -> None:
        self.board = board
        self.cls = cls
        self.cells = cells
        self.rule = rule
        self.about = f"{cls.label} cells"
        self._of = (rule, cls.index, cells.layout.resources)
        self.units = [u for u in board.units_on(cls) if cells.asks(u.sample.spec).parts]
        self.shapes: list[tuple[Shape, Var, Asks]] = [
            (s, v, asks) for s, v in board.on(cls) if (asks := cells.asks(s.sample.spec)).parts
        ]

    def write(self) -> None:
        if not self.shapes:
            return
        base = self.cells.floor(self.cells.ending)
        meant: dict[Mask, list[tuple[Asks, Var]]] = {}
        for s, var, asks in self.shapes:
            terms: list[Term] = [(-1, var)]
            top = self.board.upper(var)
            fitting = False
            for m in self.cells.sets(asks):
                x = self.board.integer(0, top, (self._of, "meant", s.index, m))
                meant.setdefault(m, []).append((asks, x.var))
                terms.append((1, x.var))
                fitting |= fits(asks.total, within(base, m))
            if not fitting:
                terms += [(1, flag) for flag in self._alone(s, asks)]
            self.board.equal(terms, 0, self.rule, self.about)
        freed = self._freed()
        for m in sorted(meant):
            self._room(m, meant, freed, base)

    def _room(
        self,
        mask: Mask,
        meant: "dict[Mask, list[tuple[Asks, Var]]]",
        freed: "dict[tuple[int, int], list[Term]]",
        base: tuple[tuple[int, ...], ...],
    ) -> None:
        """Let the pods whose turn is up to that of the set use no more than is free of it."""
        board = self.board
        here = [x for m, xs in meant.items() if self.cells.layout.touches(m, mask) for x in xs]
        given: list[Var] = []
        if mask.bit_count() > 1:
            used = board.flag((self._of, "set", mask))
            for _, x in meant[mask]:
                board.at_most([(1, x), (-board.upper(x), used)], 0, self.rule, self.about)
            given = [used]
        free = within(base, mask)
        for k, room in enumerate(free):
            terms = [(asks.total[k], x) for asks, x in here if asks.total[k]]
            if not terms:
                continue
            gains = [
                (-c, v) for i in range(mask.bit_length()) if mask >> i & 1
                for c, v in freed.get((i, k), ())
            ]  # fmt: skip
            if room >= 0:
                board.at_most([*terms, *gains], room, self.rule, self.about, given=given)
                continue
            # Overdrawn, as far as is certain: only what asks for it minds.
            asked = board.flag((self._of, "overdrawn", mask, k))
            for _, x in terms:
                board.at_most([(1, x), (-board.upper(x), asked)], 0, self.rule, self.about)
            board.at_most([*terms, *gains], room, self.rule, self.about, given=[*given, asked])

    # What leaves

    def _freed(self) -> "dict[tuple[int, int], list[Term]]":
        """Return by cell and resource what evictions free of it for certain."""
        out: dict[tuple[int, int], list[Term]] = {}

        def add(amounts: tuple[tuple[int, ...], ...], var: "Var") -> None:
            for i, vector in enumerate(amounts):
                for k, amount in enumerate(vector):
                    if amount:
                        out.setdefault((i, k), []).append((amount, var))

        doubtful: list[tuple[Unit, int]] = []
        for u in self.units:
            held = [self.cells.settled(p.key) for p in u.pods]
            if any(h is None for h in held):
                doubtful.append((u, max(n for n, h in enumerate(held, 1) if h is None)))
            if held and held[0] is not None and all(h == held[0] for h in held):
                add(held[0], self.board.lost(u))
            else:
                for h, flag in zip(held, self._steps(u), strict=True):
                    if h is not None:
                        add(h, flag)
        inside = {p.key for u, n in doubtful for p in u.pods[:n]} | self.cells.ending
        if doubtful and self.cells.uncertain <= inside:
            flag = self.board.flag((self._of, "cleared"))
            for u, n in doubtful:
                self._at_least(u, n, flag)
            now, cleared = self.cells.floor_now, self.cells.floor_cleared
            add(
                tuple(
                    tuple(max(0, b - a) for a, b in zip(x, y, strict=True))
                    for x, y in zip(now, cleared, strict=True)
                ),
                flag,
            )
        return out

    def _steps(self, unit: "Unit") -> "list[Var]":
        """Return 0-1 variables, one a pod of the unit in the order in which they leave."""
        board = self.board
        flags = [board.flag((self._of, "lost", unit.index, n)) for n in range(len(unit.pods))]
        board.equal([(-1, board.lost(unit)), *((1, f) for f in flags)], 0, self.rule, self.about)
        for a, b in pairwise(flags):
            board.at_most([(1, b), (-1, a)], 0, self.rule, self.about)
        return flags

    def _at_least(self, unit: "Unit", number: int, flag: "Var") -> None:
        lost = self.board.lost(unit)
        self.board.at_most([(number, flag), (-1, lost)], 0, self.rule, self.about)

    # Who comes alone

    def _alone(self, shape: "Shape", asks: Asks) -> "list[Var]":
        """Return flags for one pod of the shape that comes alone: nobody leaves, or everybody."""
        cells, board = self.cells, self.board
        flags: list[Var] = []
        if cells.alone(asks, cells.ending):
            flag = board.flag((self._of, "alone", shape.index))
            for u in self.units:
                board.at_most([(1, board.lost(u))], 0, self.rule, self.about, given=[flag])
            flags.append(flag)
        evictable = {p.key for u in self.units for p in u.pods}
        clearable = bool(self.units) and cells.everybody <= evictable | cells.ending
        if clearable and cells.alone(asks, cells.everybody):
            flag = board.flag((self._of, "cleared for", shape.index))
            for u in self.units:
                self._at_least(u, len(u.pods), flag)
            flags.append(flag)
        for flag in flags:
            others = [(1, v) for _, v, _ in self.shapes]
            board.at_most(others, 1, self.rule, self.about, given=[flag])
        return flags
