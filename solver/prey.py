"""Prey: what a group could evict by right, as the draft stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, QueueName
from ..policies.ledger import Matrix
from ..policies.rights import Branches, asks_of, cross_branches
from ..policies.standing import MEASURES, Measure
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
    left, able = herd.running.copy(), herd.able.copy()
    for key, n in draft.losing.items():
        at = herd.at.get(key)
        if at is not None:
            left[at] -= n
            able[at] -= n
    surplus = np.minimum(np.maximum(left - herd.floor, 0), able)
    whole = (able == left) & (able > 0)
    free = able > 0
    for key in draft.growing:
        at = herd.at.get(key)
        if at is not None:
            free[at] = False
    at = herd.at.get(group)
    if at is not None:
        free[at] = False
    size = len(herd.runners)
    single = np.zeros(size, dtype=np.int64)
    takes = np.zeros(size, dtype=np.bool_)
    own = inside = np.zeros(size, dtype=np.bool_)
    asks, row = asks_of(scene, scene.roster[group]), draft.ask(pods)
    for k, queue in enumerate(herd.queues):
        mine = free & (herd.queue == k)
        if queue == g.queue:
            own = mine & (herd.priority < g.priority)
            if own.any():
                single = np.where(own, surplus, single)
                takes |= own & whole
                inside = own & ~draft.standings.outside(queue)
            continue
        ways = _ways(draft, g.queue, queue, asks, row)
        if not ways or not mine.any():
            continue
        for measure, branches in ways:
            first, elastic = draft.standings.beyond(branches.victim, measure, asks)
            gone = herd.running - left
            singles = np.clip(elastic - gone, 0, surplus)
            single = np.where(mine, np.maximum(single, singles), single)
            goes = np.where(herd.has_minimum, first, elastic >= herd.running)
            takes |= mine & whole & goes
    found = Preys(herd, single, takes, own, inside)
    return found if found else None


def _ways(
    draft: Draft, queue: QueueName, victim: QueueName, asks: Sequence[int], row: Matrix
) -> list[tuple[Measure, Branches]]:
    """Return by which measures a claimant could have a right to work of the other queue."""
    out: list[tuple[Measure, Branches]] = []
    for measure in MEASURES:
        branches = cross_branches(draft.scene, queue, victim, asks, measure)
        if branches is None:
            continue
        most = draft.table.floors[measure]
        if not any(
            draft.use[q][r] + row[r] > most[q][r]
            for q in branches.claimant
            for r in asks
            if r in draft.table.columns
        ):
            out.append((measure, branches))
    return out
