"""A linear program as arrays: maximise over columns from 0 to their upper bounds, rows at most."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Index = NDArray[np.int64]
Real = NDArray[np.float64]


@dataclass
class Program:
    """Columns, rows and their coefficients, added block by block."""

    columns: int = 0
    rows: int = 0
    _upper: list[Real] = field(default_factory=list)
    _most: list[Real] = field(default_factory=list)
    _entries: list[tuple[Index, Index, Real]] = field(default_factory=list)

    def copy(self) -> "Program":
        """Return the same program, to be added to on its own."""
        return Program(
            self.columns, self.rows, list(self._upper), list(self._most), list(self._entries)
        )

    def add_columns(self, upper: ArrayLike) -> Index:
        """Add columns with these upper bounds; return their numbers."""
        values = np.atleast_1d(np.asarray(upper, dtype=np.float64))
        first, self.columns = self.columns, self.columns + len(values)
        self._upper.append(values)
        return np.arange(first, self.columns)

    def add_rows(self, most: ArrayLike) -> Index:
        """Add rows whose sum is at most this; return their numbers."""
        values = np.atleast_1d(np.asarray(most, dtype=np.float64))
        first, self.rows = self.rows, self.rows + len(values)
        self._most.append(values)
        return np.arange(first, self.rows)

    def put(self, rows: ArrayLike, columns: ArrayLike, coefs: ArrayLike) -> None:
        """Add coefficients; those of one place add up."""
        r, c = np.atleast_1d(rows), np.atleast_1d(columns)
        v = np.atleast_1d(np.asarray(coefs, dtype=np.float64))
        n = max(len(r), len(c), len(v)) if len(r) and len(c) and len(v) else 0
        if n:
            r, c, v = (a if len(a) == n else np.repeat(a, n) for a in (r, c, v))
            self._entries.append((r.astype(np.int64), c.astype(np.int64), v))

    @property
    def upper(self) -> Real:
        if len(self._upper) != 1:
            self._upper = [np.concatenate([np.zeros(0), *self._upper])]
        return self._upper[0]

    @property
    def most(self) -> Real:
        return np.concatenate(self._most) if self._most else np.zeros(0)

    @property
    def entries(self) -> tuple[Index, Index, Real]:
        """Rows, columns and coefficients, as they were added."""
        if not self._entries:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        if len(self._entries) > 1:
            rows, columns, coefs = (np.concatenate(of) for of in zip(*self._entries, strict=True))
            some = coefs != 0
            self._entries = [(rows[some], columns[some], coefs[some])]
        return self._entries[0]
