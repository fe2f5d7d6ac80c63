"""Exact amounts as arrays: one column per resource, each divided by what all its values share."""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ..models import Amounts, Snapshot

Matrix = NDArray[np.int64]
"""Rows of amounts, or one row. Where values pass 2^60 the element type is ``object``: exact, slow."""

_BIG = 1 << 60


class Ledger:
    """Turns amounts into rows of integers and back; division is exact for all registered values."""

    def __init__(self, resources: Iterable[str], values: Iterable[Mapping[str, int]]) -> None:
        self.resources: tuple[str, ...] = tuple(sorted(resources))
        self.column: dict[str, int] = {r: i for i, r in enumerate(self.resources)}
        divisor = [0] * len(self.resources)
        largest = 0
        for value in values:
            for r, v in value.items():
                i = self.column.get(r)
                if i is not None:
                    divisor[i] = gcd(divisor[i], v)
                    largest = max(largest, abs(v) // max(1, divisor[i]))
        self.divisor: tuple[int, ...] = tuple(d or 1 for d in divisor)
        self.dtype: type = object if largest >= _BIG else np.int64

    @property
    def pods(self) -> int:
        """Column of the pod slots."""
        return self.column["pods"]

    def row(self, amounts: Mapping[str, int]) -> Matrix:
        """Return the amounts as a row; resources without a column are left out."""
        out = [0] * len(self.resources)
        for r, v in amounts.items():
            i = self.column.get(r)
            if i is not None:
                out[i] = v // self.divisor[i]
        return np.array(out, dtype=self.dtype)

    def rows(self, many: Sequence[Mapping[str, int]]) -> Matrix:
        if not many:
            return np.zeros((0, len(self.resources)), dtype=self.dtype)
        return np.stack([self.row(a) for a in many])

    def amounts(self, row: Sequence[int] | Matrix) -> Amounts:
        """Return a row as amounts in canonical units."""
        return Amounts({r: int(v) * d for r, v, d in zip(self.resources, row, self.divisor)})


def ledger_of(snapshot: Snapshot) -> Ledger:
    """Return the ledger of everything that a plan for the snapshot can add up."""
    resources = {"pods"}
    values: list[Mapping[str, int]] = []
    for spec in {id(p.spec): p.spec for p in snapshot.pods if p.ours}.values():
        resources.update(spec.requests)
    for spec in {id(p.spec): p.spec for p in snapshot.pods}.values():
        values.append(spec.requests)
    values.append({"pods": 1})
    for g in snapshot.groups:
        if g.min_resources is not None:
            values.append(g.min_resources)
            resources.update(g.min_resources)
    values.extend(n.allocatable for n in snapshot.nodes)
    return Ledger(resources, values)
