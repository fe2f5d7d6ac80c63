"""Exact amounts as arrays: one column per resource, in canonical units."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..models import Amounts, PodSpec, Snapshot
from ..models.devices import GPU, SHARED_GPU, WHOLE_GPU
from ..models.mig import PREFIX
from .columns import Columns

Matrix = NDArray[np.int64]
"""Rows of amounts, or one row. Where sums could pass 2^62 the elements are Python's integers:
exact, slower."""

_BIG = 1 << 62


def copies_by_room(room: Matrix, row: Matrix, mask: NDArray[np.bool_], most: int = _BIG) -> Matrix:
    """Return how many of such a row each row of ``room`` holds, ``most`` at most.

    None where ``mask`` is not set. Something has to be asked for, as every pod asks for its slot.
    """
    out: Matrix = np.where(mask, most, 0)
    for r in np.flatnonzero(row).tolist():
        out = np.minimum(out, np.maximum(room[:, r], 0) // row[r])
    return out


class Ledger:
    """Turns amounts into rows of integers and back.

    ``parts``: resources that are counted as parts of another, and shared out as that alone.
    """

    def __init__(
        self,
        resources: Iterable[str],
        values: Iterable[Mapping[str, int]],
        parts: Iterable[str] = (),
    ) -> None:
        self._parts = tuple(parts)
        self.resources: tuple[str, ...] = tuple(sorted(resources))
        self.column: dict[str, int] = {r: i for i, r in enumerate(self.resources)}
        total = sum(abs(v) for value in values for r, v in value.items() if r in self.column)
        self.dtype: type = object if total >= _BIG else np.int64

    @property
    def pods(self) -> int:
        """Column of the pod slots."""
        return self.column["pods"]

    @cached_property
    def uncounted(self) -> frozenset[int]:
        """Columns of which nobody has a share: pod slots, and what other columns count already."""
        left_out = ("pods", WHOLE_GPU, *self._parts)
        return frozenset(self.column[r] for r in left_out if r in self.column)

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
    parts = _parts_of_gpus(snapshot, [columns.specs[k] for k in sorted(ours)])
    return Ledger(resources, values, parts)


def _parts_of_gpus(snapshot: Snapshot, specs: Iterable[PodSpec]) -> frozenset[str]:
    """Return slices and replicas that are charged as GPUs, and that no queue is due by name.

    Shared out by their own names as well, a queue could not claim its due of GPUs in slices.
    """
    parts: set[str] = set()
    for spec in specs:
        asks = spec.requests
        if spec.share is None and asks[GPU] > asks[WHOLE_GPU]:
            parts.update(r for r in asks if r == SHARED_GPU or r.startswith(PREFIX))
    for q in snapshot.queues if parts else ():
        parts.difference_update(q.deserved, q.guarantee)
    return frozenset(parts)
