"""Columns: what is asked of every pod of a snapshot, as arrays; equal specs have one number.

Sums over tens of thousands of pods are sums over a few hundred specs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import PodSpec, PodState, Snapshot

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Columns:
    """One entry a pod, in the order of the snapshot."""

    def __init__(self, snapshot: Snapshot, index: Mapping[str, int]) -> None:
        pods = snapshot.pods
        at: Mapping[Any, int] = index
        number: dict[int, int] = {}
        numbers = [number.setdefault(id(p.spec), len(number)) for p in pods]
        self.number: Mapping[int, int] = number
        """The number of a spec, by its identity."""
        self.spec: Numbers = np.array(numbers, dtype=np.int64)
        first = np.unique(self.spec, return_index=True)[1]
        self.specs: tuple[PodSpec, ...] = tuple(pods[int(k)].spec for k in first)
        """Every spec once, by number."""
        self.node: Numbers = np.array([at.get(p.node, -1) for p in pods], dtype=np.int64)
        """Index of the pod's node; −1 for none, or one that the snapshot does not know."""
        states = [p.state for p in pods]
        running, ending = PodState.RUNNING, PodState.TERMINATING
        self.running: Flags = np.array([s is running for s in states], dtype=np.bool_)
        self.terminating: Flags = np.array([s is ending for s in states], dtype=np.bool_)
        self.ours: Flags = np.array([p.group is not None for p in pods], dtype=np.bool_)

    @property
    def holding(self) -> Flags:
        """Which pods hold room on a node that the snapshot knows."""
        return (self.running | self.terminating) & (self.node >= 0)


def sums_by(keys: Numbers, rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Return for each key from 0 to size − 1 the exact sum of its rows."""
    out = np.zeros((size, rows.shape[1]), dtype=rows.dtype)
    if len(keys):
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        out[found] = np.add.reduceat(rows[order], starts, axis=0)
    return out


def numbered(values: Sequence[Any]) -> tuple[Numbers, list[Any]]:
    """Return a number for each value, equal ones the same, and the values by number."""
    seen: dict[Any, int] = {}
    numbers = [seen.setdefault(v, len(seen)) for v in values]
    return np.array(numbers, dtype=np.int64), list(seen)
