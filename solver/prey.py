"""Prey: what a group could evict by right, as the draft stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, QueueName
from ..models.queue import ROOT
from ..policies.ledger import Matrix
from ..policies.rights import asks_of, limit_of
from ..policies.tracker import Mask
from .draft import Draft
from .herd import Herd

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Prey:
    """A running group of which something may be evicted for a claimant."""

    group: GroupKey
    right: str
    pods: tuple[Pod, ...]
    single: int
    """How many single pods may go while it stays whole."""
    whole: bool
    priority: int
    inside: bool
    """It comes back by right, as far as can be seen."""


class Preys:
    """What one claimant could evict: for each runner whether, whole, and how many single pods."""

    def __init__(
        self, herd: Herd, at: Numbers, single: Numbers, whole: Mask, own: Mask, inside: Mask
    ) -> None:
        """``at``: the runners that the other arrays speak of; nothing of others may go."""
        self.herd = herd

        def spread(values: NDArray[Any]) -> NDArray[Any]:
            out: NDArray[Any] = np.zeros(len(herd.runners), dtype=values.dtype)
            out[at] = values
            return out

        self.single, self.whole, self.own, self.inside = map(spread, (single, whole, own, inside))
        self.chosen: Mask = spread(whole | (single > 0))
        self._made: dict[int, Prey] = {}

    def __bool__(self) -> bool:
        return bool(self.chosen.any())

    def __iter__(self) -> Iterator[Prey]:
        return map(self.of, map(int, np.flatnonzero(self.chosen)))

    def of(self, runner: int) -> Prey:
        """Return the prey that a runner is."""
        if runner not in self._made:
            r, n = self.herd.runners[runner], runner
            self._made[runner] = Prey(
                r.members.key, "own" if self.own[n] else "cross", r.able,
                int(self.single[n]), bool(self.whole[n]), r.priority, bool(self.inside[n]),
            )  # fmt: skip
        return self._made[runner]

    def of_group(self, group: GroupKey) -> Prey:
        return self.of(self.herd.at[group])


def prey_of(draft: Draft, group: GroupKey, pods: Sequence[Pod]) -> Preys | None:
    """Return what the group could evict, were it to start these pods now; None: nothing."""
    scene, herd = draft.scene, draft.herd
    g = scene.snapshot.group(group)
    if not g.may_preempt or not herd.runners or scene.config.evictions == "none":
        return None
    asks, row = asks_of(scene, scene.roster[group]), draft.ask(pods)
    beyond = draft.ways.beyond(g.queue, asks, row)
    touched: Mask = np.zeros(len(herd.runners), dtype=np.bool_)
    if beyond is not None:
        touched = beyond[0] | (beyond[1] > 0)
    mine = herd.of_queue[herd.number[g.queue]] if g.queue in herd.number else herd.nobody
    lower = limit_of(scene, g.queue, g.queue, g.priority)
    assert lower is not None  # inside a queue there always is one
    touched[mine[herd.priority[mine] < lower]] = True
    if (elsewhere := limit_of(scene, g.queue, ROOT, g.priority)) is not None:
        touched &= (herd.queue == herd.number.get(g.queue, -1)) | (herd.priority < elsewhere)
    at = np.flatnonzero(touched)
    """Nothing of the other runners may go, as long as they have no place in here."""
    if not len(at):
        return None
    gone, running, queue = draft.gone.of_runner[at], herd.running[at], herd.queue[at]
    left, able = running - gone, herd.able[at] - gone
    surplus = np.minimum(np.maximum(left - herd.floor[at], 0), able)
    busy = [herd.at[g] for g in (*draft.growing, group) if g in herd.at]
    free = (able > 0) & ~np.isin(at, busy)
    whole = (able == left) & free
    single = np.zeros(len(at), dtype=np.int64)
    takes: Mask = np.zeros(len(at), dtype=np.bool_)
    if beyond is not None:
        first, elastic = beyond[0][at], beyond[1][at]
        single = np.where(free, np.minimum(np.maximum(elastic - gone, 0), surplus), 0)
        takes = whole & np.where(herd.has_minimum[at], first, elastic >= running)
    own = free & (queue == herd.number.get(g.queue, -1)) & (herd.priority[at] < lower)
    single = np.where(own, surplus, single)
    takes |= own & whole
    if (soon := herd.yet_to_run(g.queue)) is not None:
        takes &= ~soon[at]
        single = np.where(soon[at], np.minimum(single, np.maximum(left - 1, 0)), single)
    spared = own if draft.spares == "own" else takes | (single > 0)
    inside: Mask = np.zeros(len(at), dtype=np.bool_)
    for k in np.unique(queue[spared]).tolist():
        if draft.spares == "own" or not _all_return(draft, herd.queues[k], row):
            there = np.flatnonzero(spared & (queue == k))
            inside[there] = ~draft.standings.outside(herd.queues[k])[at[there]]
    found = Preys(herd, at, single, takes, own, inside)
    return found if found else None


def _all_return(draft: Draft, queue: QueueName, row: Matrix) -> bool:
    """Say whether whatever goes comes back by right, if the queue gives all that is asked for.

    What remains then leaves room in the entitlement, whoever it is.
    """
    use, most = draft.use[queue], draft.table.floors["entitlement"][queue]
    return all(use[r] - row[r] <= most[r] for r in draft.table.columns if row[r])
