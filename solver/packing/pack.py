"""Pack: the best packing that can be found in a given time, and a bound for every packing.

The aggregate is solved with a part of the nodes' room, spread over the nodes, filled up and traded;
how much room the spreading needs is found by trying.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..process import SolverProcess
from .aggregate import bound_of, classes_of, whole_numbers
from .fill import fill, trade
from .spread import spread
from .yard import Packing, Yard

PERCENTS = (94, 97, 92, 99, 95)
"""Of the nodes' room that whole numbers are found for, one attempt after the other."""
CLASSES = 120
"""With more classes of nodes than this the aggregate is too large to be solved in time."""
ENOUGH = 1 / 2000
"""A gap that no further attempt is made for."""


@dataclass(frozen=True)
class Packed:
    """The best packing, and what no packing could surpass (None: not known)."""

    packing: Packing
    bound: float | None
    attempts: int


def pack(
    yard: Yard,
    process: SolverProcess,
    limit_s: float,
    parameters: Mapping[str, Any],
    attempts: int = len(PERCENTS),
) -> Packed:
    """Pack as much worth as can be found in the time; what must be placed comes first."""
    until = time.monotonic() + limit_s
    best = by_size(yard)
    if len(classes_of(yard)) > CLASSES:
        return Packed(best, None, 0)
    bound = bound_of(yard, process)
    made = 0
    for percent in PERCENTS[:attempts]:
        left = until - time.monotonic()
        near = bound is not None and best.worth >= bound * (1 - ENOUGH) and not best.short
        if near or left < limit_s / 10:
            break
        whole = whole_numbers(yard, process, percent, min(left / 2, limit_s / 4), parameters)
        made += 1
        if whole is None:
            continue
        packing = Packing(yard)
        spread(packing, whole)
        settle(packing)
        if (-packing.short, packing.worth, packing.placed) > (-best.short, best.worth, best.placed):
            best = packing
    return Packed(best, bound, made)


def by_size(yard: Yard) -> Packing:
    """Return what filling and trading alone reach."""
    packing = Packing(yard)
    settle(packing)
    return packing


def settle(packing: Packing) -> None:
    """Fill and trade until nothing more fits."""
    fill(packing)
    while trade(packing):
        fill(packing)
