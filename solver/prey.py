"""Prey: what a group could evict by right, as the draft stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, QueueName
from ..policies.ledger import Matrix
from ..policies.rights import asks_of
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

    def __init__(self, herd: Herd, single: Numbers, whole: Mask, own: Mask, inside: Mask) -> None:
        self.herd = herd
        self.single, self.whole, self.own, self.inside = single, whole, own, inside
        self.chosen: Mask = whole | (single > 0)
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
    gone = draft.gone.of_runner
    left, able = herd.running - gone, herd.able - gone
    surplus = np.minimum(np.maximum(left - herd.floor, 0), able)
    free = able > 0
    free[[herd.at[g] for g in (*draft.growing, group) if g in herd.at]] = False
    whole = (able == left) & free
    size = len(herd.runners)
    single = np.zeros(size, dtype=np.int64)
    takes: Mask = np.zeros(size, dtype=np.bool_)
    asks, row = asks_of(scene, scene.roster[group]), draft.ask(pods)
    beyond = draft.ways.beyond(g.queue, asks, row)
    if beyond is not None:
        first, elastic = beyond
        single = np.where(free, np.minimum(np.maximum(elastic - gone, 0), surplus), 0)
        takes = whole & np.where(herd.has_minimum, first, elastic >= herd.running)
    own: Mask = np.zeros(size, dtype=np.bool_)
    if g.queue in herd.queues:
        own = free & (herd.queue == herd.queues.index(g.queue)) & (herd.priority < g.priority)
        single = np.where(own, surplus, single)
        takes |= own & whole
    spared = own if draft.spares == "own" else takes | (single > 0)
    inside: Mask = np.zeros(size, dtype=np.bool_)
    held = np.bincount(herd.queue[spared], minlength=len(herd.queues))
    for k in np.flatnonzero(held).tolist():
        if draft.spares == "own" or not _all_return(draft, herd.queues[k], row):
            mine = herd.of_queue[k]
            inside[mine] = spared[mine] & ~draft.standings.outside(herd.queues[k])[mine]
    found = Preys(herd, single, takes, own, inside)
    return found if found else None


def _all_return(draft: Draft, queue: QueueName, row: Matrix) -> bool:
    """Say whether whatever goes comes back by right, if the queue gives all that is asked for.

    What remains then leaves room in the entitlement, whoever it is.
    """
    use, most = draft.use[queue], draft.table.floors["entitlement"][queue]
    return all(use[r] - row[r] <= most[r] for r in draft.table.columns if row[r])
