"""Pack: the best packing that can be found in a given time, and a bound for every packing.

The aggregate is solved with a part of the nodes' room, spread over the nodes, filled up and traded;
how much room the spreading needs is found by trying.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..process import SolverProcess
from .aggregate import bound_of, classes_of, whole_numbers
from .displace import insist, press
from .fill import fill, trade
from .spread import spread
from .yard import Packing, Yard

PERCENTS = (93, 94, 97, 92, 99)
"""Of the nodes' room that whole numbers are found for, one attempt after the other."""
CLASSES = 120
"""With more classes of nodes than this the aggregate is too large to be solved in time."""
LARGE = 1_000_000
"""Pods times nodes from which filling alone is too slow to be tried beside the aggregate."""
LAST = 0.5
"""Of the time, for the last step: single pods that displace others."""
EACH = 1 / 9
"""Of the time, for the whole numbers of one attempt."""
ENOUGH = 1 / 10_000
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
    limit_s: float | None,
    parameters: Mapping[str, Any],
    attempts: int = len(PERCENTS),
    known: int = 0,
) -> Packed:
    """Pack as much worth as can be found in the time; what must be placed comes first.

    Without a limit the parameters have to end each attempt. ``known``: what is reached already;
    where no packing can be much better, none is looked for.
    """
    until = None if limit_s is None else time.monotonic() + limit_s
    large = len(yard.free) * int(yard.kinds.wanted.sum()) > LARGE
    best = None if large else by_size(yard)
    if len(classes_of(yard)) > CLASSES:
        return Packed(best or by_size(yard), None, 0)
    bound = bound_of(yard, process)
    enough = math.inf if bound is None else bound * (1 - ENOUGH)
    made = 0
    for percent in PERCENTS[:attempts]:
        reached = known if best is None or best.short else max(known, best.worth)
        if reached >= enough:
            break
        most = None
        if until is not None and limit_s is not None:
            left = until - time.monotonic()
            if left < limit_s * LAST:
                break
            most = min(left / 2, limit_s * EACH)
        whole = whole_numbers(yard, process, percent, most, parameters)
        made += 1
        if whole is None:
            continue
        packing = Packing(yard)
        spread(packing, whole)
        settle(packing)
        if packing.short:
            packing = insist(packing)
        if best is None or _value(packing) > _value(best):
            best = packing
    if best is None:
        best = by_size(yard)
    if known < enough and not best.short:
        best = press(best, enough, until)
    return Packed(best, bound, made)


def _value(packing: Packing) -> tuple[int, int, int]:
    return (-packing.short, packing.worth, packing.placed)


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
