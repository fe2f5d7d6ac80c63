"""Which running work is beyond what its queues may keep, whatever starts: what rights rest on.

An item is beyond a measure at a queue where the sum of the items up to it exceeds the measure. What
starts can only add to that sum. So items whose sum exceeds it already are always beyond; each
other one is only if enough starts before it, at least by what is missing (its gap).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...models import GroupKey, PodState, QueueName
from ...policies.items import AS_IT_IS, Item
from ...policies.ledger import Matrix
from ...policies.ranks import ranks_of
from ...policies.standing import MEASURES, Measure, StandingTable

Spot = tuple[QueueName, Measure]
"""A queue, and the measure that work is beyond there."""


@dataclass
class Beyond:
    """Of one queue and measure."""

    whole: set[GroupKey]
    """Groups whose running minimum is beyond."""
    single: dict[GroupKey, int]
    """How many of a group's running elastic members are beyond."""
    gaps: "dict[int, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]"
    """By column: what is missing for each item that is not beyond, and how the item is called."""
    items: list[tuple[GroupKey, bool]]
    """Items that are not beyond: the group, and whether it is the minimum."""


def beyond_of(table: StandingTable) -> Mapping[Spot, Beyond]:
    """Return what is beyond at every queue of the tree that has running work."""
    out: dict[Spot, Beyond] = {}
    for q, ranks in ranks_of(table).items():
        items, rows = _running(table, [(i, r) for i, r in ranks.ordered])
        if not items:
            continue
        sums = np.cumsum(rows, axis=0)
        for measure in MEASURES:
            most = np.array(
                [table.floors[measure][q].get(r, 0) for r in range(rows.shape[1])], dtype=np.int64
            )
            asked = rows > 0
            for r in range(rows.shape[1]):
                if r not in table.columns:
                    asked[:, r] = False
            over = np.asarray((asked & (sums > most)).any(axis=1), dtype=np.bool_)
            out[q, measure] = _sorted(items, asked, most - sums, over)
    return out


def growing(
    beyond: Mapping[Spot, Beyond], started: "Mapping[QueueName, Matrix]"
) -> Mapping[Spot, Collection[GroupKey]]:
    """Return who could become beyond there at all.

    ``started``: what could start in each queue, at most.
    """
    out: dict[Spot, Collection[GroupKey]] = {}
    for spot, of in beyond.items():
        most = started.get(spot[0])
        if most is not None:
            some = np.zeros(len(of.items), dtype=np.bool_)
            for r, gaps in of.gaps.items():
                some |= gaps < most[r]
            out[spot] = {of.items[n][0] for n in np.flatnonzero(some)}
    return out


def _sorted(
    items: "list[tuple[GroupKey, bool]]",
    asked: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]",
    left: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    over: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]",
) -> Beyond:
    whole: set[GroupKey] = set()
    single: dict[GroupKey, int] = {}
    for n in np.flatnonzero(over):
        key, minimum = items[n]
        if minimum:
            whole.add(key)
        else:
            single[key] = single.get(key, 0) + 1
    inside = np.flatnonzero(~over)
    gaps = {
        r: np.where(asked[inside, r], left[inside, r], np.iinfo(np.int64).max)
        for r in range(asked.shape[1])
        if asked[inside, r].any()
    }
    return Beyond(whole, single, gaps, [items[n] for n in inside])


def _running(
    table: StandingTable, ordered: "list[tuple[Item, tuple[int, ...]]]"
) -> "tuple[list[tuple[GroupKey, bool]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]":
    """Return the running items in order; a broken minimum where the first of its places is."""
    items: list[tuple[GroupKey, bool]] = []
    rows: list[tuple[int, ...]] = []
    seen: set[GroupKey] = set()
    for item, row in ordered:
        key = item.group.key
        if item.broken and item.kind == "minimum":
            if key in seen:
                continue
            seen.add(key)
            if item.position != AS_IT_IS:
                runs = [p for p in item.pods if p.state is PodState.RUNNING]
                row = tuple(int(v) for v in table.scene.rows(runs))
        elif item.pods[0].state is not PodState.RUNNING:
            continue
        items.append((key, item.kind == "minimum"))
        rows.append(row)
    width = len(table.scene.ledger.resources)
    return items, np.array(rows, dtype=np.int64).reshape(-1, width)
