"""Prey: what a group could evict by right, as the draft stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, QueueName
from ..policies.ledger import Matrix
from ..policies.rights import asks_of, cross_branches
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
    gone = draft.gone
    left, able = herd.running - gone, herd.able - gone
    surplus = np.minimum(np.maximum(left - herd.floor, 0), able)
    whole = (able == left) & (able > 0)
    free = able > 0
    free[[herd.at[g] for g in (*draft.growing, group) if g in herd.at]] = False
    size = len(herd.runners)
    single = np.zeros(size, dtype=np.int64)
    takes = np.zeros(size, dtype=np.bool_)
    own = np.zeros(size, dtype=np.bool_)
    asks, row = asks_of(scene, scene.roster[group]), draft.ask(pods)
    ways = _Ways(draft, g.queue, asks, row)
    alike: dict[tuple[tuple[Measure, QueueName], ...], list[int]] = {}
    for k, queue in enumerate(herd.queues):
        if queue != g.queue:
            alike.setdefault(ways.to(queue), []).append(k)
            continue
        own = free & (herd.queue == k) & (herd.priority < g.priority)
        if own.any():
            single = np.where(own, surplus, single)
            takes |= own & whole
    for branches, queues in alike.items():
        if not branches:
            continue
        mine = np.concatenate([herd.of_queue[k] for k in queues])
        mine = mine[free[mine]]
        for measure, branch in branches:
            first, elastic = draft.standings.beyond(branch, measure, asks)
            first, elastic = first[mine], elastic[mine]
            singles = np.minimum(np.maximum(elastic - gone[mine], 0), surplus[mine])
            single[mine] = np.maximum(single[mine], singles)
            goes = np.where(herd.has_minimum[mine], first, elastic >= herd.running[mine])
            takes[mine] |= whole[mine] & goes
    inside = np.zeros(size, dtype=np.bool_)
    chosen = takes | (single > 0)
    for k, queue in enumerate(herd.queues):
        mine = herd.of_queue[k][chosen[herd.of_queue[k]]]
        if len(mine) and not _all_return(draft, queue, row):
            inside[mine] = ~draft.standings.outside(queue)[mine]
    found = Preys(herd, single, takes, own, inside)
    return found if found else None


def _all_return(draft: Draft, queue: QueueName, row: Matrix) -> bool:
    """Say whether whatever goes comes back by right, if the queue gives all that is asked for.

    What remains then leaves room in the entitlement, whoever it is.
    """
    use, most = draft.use[queue], draft.table.floors["entitlement"][queue]
    return all(use[r] - row[r] <= most[r] for r in draft.table.columns if row[r])


class _Ways:
    """By which measures, and at which branch, a claimant could have a right to others' work."""

    def __init__(self, draft: Draft, queue: QueueName, asks: tuple[int, ...], row: Matrix) -> None:
        self._draft, self._queue, self._asks, self._row = draft, queue, asks, row
        self._within: dict[tuple[tuple[QueueName, ...], Measure], bool] = {}

    def to(self, victim: QueueName) -> tuple[tuple[Measure, QueueName], ...]:
        """Return what the right to work of a queue could rest on."""
        out: list[tuple[Measure, QueueName]] = []
        for measure in MEASURES:
            found = cross_branches(self._draft.scene, self._queue, victim, self._asks, measure)
            if found is not None and self._stays_within(found.claimant, measure):
                out.append((measure, found.victim))
        return tuple(out)

    def _stays_within(self, queues: tuple[QueueName, ...], measure: Measure) -> bool:
        key = (queues, measure)
        if key not in self._within:
            draft = self._draft
            self._within[key] = draft.table.holds_within(
                measure, draft.use, queues, self._asks, self._row
            )
        return self._within[key]
