"""Exact amounts as arrays: one column per resource, in canonical units."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..models import Amounts, Snapshot
from ..models.devices import WHOLE_GPU
from .columns import Columns

Matrix = NDArray[np.int64]
"""Rows of amounts, or one row. Where sums could pass 2^62 the elements are Python's integers:
exact, slower."""

_BIG = 1 << 62


class Ledger:
    """Turns amounts into rows of integers and back."""

    def __init__(self, resources: Iterable[str], values: Iterable[Mapping[str, int]]) -> None:
        self.resources: tuple[str, ...] = tuple(sorted(resources))
        self.column: dict[str, int] = {r: i for i, r in enumerate(self.resources)}
        total = sum(abs(v) for value in values for r, v in value.items() if r in self.column)
        self.dtype: type = object if total >= _BIG else np.int64

    @property
    def pods(self) -> int:
        """Column of the pod slots."""
        return self.column["pods"]

    @property
    def uncounted(self) -> frozenset[int]:
        """Columns of which nobody has a share: pod slots, and what other columns count already."""
        return frozenset((self.pods, self.column.get(WHOLE_GPU, self.pods)))

    def row(self, amounts: Mapping[str, int]) -> Matrix:
        """Return the amounts as a row; resources without a column are left out."""
        out = [0] * len(self.resources)
        for r, v in amounts.items():
            i = self.column.get(r)
            if i is not None:
                out[i] = v
        return np.array(out, dtype=self.dtype)

    def zero(self) -> Matrix:
        """Return a row of nothing."""
        return self.row({})

    def rows(self, many: Sequence[Mapping[str, int]]) -> Matrix:
        if not many:
            return np.zeros((0, len(self.resources)), dtype=self.dtype)
        return np.array([[a.get(r, 0) for r in self.resources] for a in many], dtype=self.dtype)

    def amounts(self, row: Sequence[int] | Matrix) -> Amounts:
        """Return a row as amounts."""
        return Amounts({r: int(v) for r, v in zip(self.resources, row, strict=True)})


def ledger_of(snapshot: Snapshot, columns: Columns) -> Ledger:
    """Return the ledger of everything that a plan for the snapshot can add up."""
    resources = {"pods"}
    counts = np.bincount(columns.spec, minlength=len(columns.specs)).tolist()
    ours = set(columns.spec[columns.ours].tolist())
    values: list[Mapping[str, int]] = [{"pods": len(snapshot.pods)}]
    for k, spec in enumerate(columns.specs):
        values.append(spec.requests.times(counts[k]))
        if k in ours:
            resources.update(spec.requests)
    for g in snapshot.groups:
        if g.min_resources is not None:
            values.append(g.min_resources)
            resources.update(g.min_resources)
    values.extend(n.allocatable for n in snapshot.nodes)
    return Ledger(resources, values)
