"""A model as flat lists: what goes to the solver process, and what every engine reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..policies.board import Board, Row


@dataclass
class Linear:
    """Integer variables and rows Σ coefs · vars ≤ bound, some only where others are 1."""

    lower: list[int]
    upper: list[int]
    starts: list[int] = field(default_factory=lambda: [0])
    vars: list[int] = field(default_factory=list)
    coefs: list[int] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)
    equal: list[bool] = field(default_factory=list)
    given: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Row number to the variables that must all be 1 for the row to hold."""

    def add(self, row: Row) -> None:
        if row.given:
            self.given[len(self.bounds)] = tuple(row.given)
        self.vars.extend(row.vars)
        self.coefs.extend(row.coefs)
        self.starts.append(len(self.vars))
        self.bounds.append(row.bound)
        self.equal.append(row.equal)


def linear_of(board: Board) -> Linear:
    """Return the board's model."""
    out = Linear(list(board.lower), list(board.upper_))
    for row in board.rows:
        out.add(row)
    return out


def satisfies(board: Board, values: Sequence[int]) -> bool:
    """Say whether the values keep every row of the board, and every variable its range."""
    ranges = zip(values, board.lower, board.upper_, strict=False)
    return all(low <= x <= high for x, low, high in ranges) and all(
        _keeps(row, values) for row in board.rows
    )


def _keeps(row: Row, values: Sequence[int]) -> bool:
    if not all(values[v] for v in row.given):
        return True
    total = sum(c * values[v] for v, c in zip(row.vars, row.coefs, strict=True))
    return total == row.bound if row.equal else total <= row.bound


@dataclass(frozen=True, slots=True)
class Goal:
    """A linear objective: maximise Σ coefs · vars (minimise by negative coefficients)."""

    vars: tuple[int, ...]
    coefs: tuple[int, ...]

    def value(self, solution: Sequence[int]) -> int:
        return sum(c * solution[v] for v, c in zip(self.vars, self.coefs, strict=True))

    def most(self, upper: Sequence[int]) -> int:
        return sum(c * upper[v] for v, c in zip(self.vars, self.coefs, strict=True) if c > 0)

    def least(self, upper: Sequence[int]) -> int:
        return sum(c * upper[v] for v, c in zip(self.vars, self.coefs, strict=True) if c < 0)


def goal_of(terms: Iterable[tuple[int, int]]) -> Goal:
    """Collect terms into a goal."""
    total: dict[int, int] = {}
    for c, v in terms:
        total[v] = total.get(v, 0) + c
    kept = {v: c for v, c in total.items() if c}
    return Goal(tuple(kept), tuple(kept.values()))


def terms_of(goal: Goal) -> list[tuple[int, int]]:
    """Return a goal's terms, coefficient first."""
    return list(zip(goal.coefs, goal.vars, strict=True))
