"""Footing: whether what a hunt did stands, judged by what it touches alone.

The checker judges whole plans, which takes long where they are large. The rights that evictions
rest on are pledges: the claimant's queues have to stay within what they were measured by.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..models import GroupKey, Pod, QueueName
from ..policies.ledger import Matrix
from ..policies.limits import limits_of
from ..policies.min_runtime import goes_too_soon
from ..policies.rights import asks_of, cross_branches, limit_of
from ..policies.standing import MEASURES, Measure

if TYPE_CHECKING:
    from .draft import Draft

Footing = tuple[tuple[QueueName, ...], tuple[int, ...], Measure]
"""Queues that stay within a measure in these columns."""
Pledge = tuple[Footing, ...]
"""What a right rests on: one of these is enough."""


class Pledges:
    """What has to stay true for the evictions so far to be by right."""

    def __init__(self) -> None:
        self._by_queue: dict[QueueName, dict[Pledge, None]] = {}

    def add(self, pledges: Iterable[Pledge]) -> None:
        for p in pledges:
            for q in {q for queues, _, _ in p for q in queues}:
                self._by_queue.setdefault(q, {})[p] = None

    def bear(self, draft: "Draft", path: Sequence[QueueName], row: Matrix) -> bool:
        """Say whether so much more in the queues of a path breaks none of them."""
        open_: dict[Footing, bool] = {}

        def holds(footing: Footing) -> bool:
            if footing not in open_:
                queues, asks, measure = footing
                open_[footing] = all(
                    draft.use[q][r] + (row[r] if q in path else 0)
                    <= draft.table.floors[measure][q][r]
                    for q in queues
                    for r in asks
                    if r in draft.table.columns
                )
            return open_[footing]

        return all(any(map(holds, p)) for q in path for p in self._by_queue.get(q, ()))


def rights_to(
    draft: "Draft", group: GroupKey, taken: Mapping[GroupKey, Sequence[Pod]]
) -> list[Pledge] | None:
    """Return what the group's rights to all that it takes rest on; None if it lacks one."""
    scene, herd = draft.scene, draft.herd
    g = scene.snapshot.group(group)
    asks = asks_of(scene, scene.roster[group])
    out: dict[Pledge, None] = {}
    for victim in taken:
        runner = herd.at[victim]
        queue = scene.snapshot.group(victim).queue
        limit = limit_of(scene, g.queue, queue, g.priority)
        if limit is not None and herd.priority[runner] >= limit:
            return None
        lost = int(draft.gone.of_runner[runner])
        if goes_too_soon(scene, g.queue, scene.roster[victim], lost):
            return None
        if queue == g.queue:
            continue
        pledge = _cross(draft, g.queue, queue, asks, runner, lost)
        if not pledge:
            return None
        out[pledge] = None
    return list(out)


def _cross(
    draft: "Draft",
    claimant: QueueName,
    victim: QueueName,
    asks: tuple[int, ...],
    runner: int,
    lost: int,
) -> Pledge:
    """Return what a right could rest on as things are."""
    herd = draft.herd
    out: list[Footing] = []
    for measure in MEASURES:
        branches = cross_branches(draft.scene, claimant, victim, asks, measure)
        if branches is None or not draft.table.holds_within(
            measure, draft.use, branches.claimant, asks
        ):
            continue
        minimum, elastic = draft.standings.beyond(branches.victim, measure, asks)
        whole = lost >= herd.running[runner] and herd.has_minimum[runner]
        if minimum[runner] if whole else lost <= elastic[runner]:
            out.append((branches.claimant, asks, measure))
    return tuple(out)


def above_guarantees(draft: "Draft", group: GroupKey, taken: Iterable[GroupKey]) -> bool:
    """Say whether the queues of victims from elsewhere keep what they are guaranteed."""
    scene, limits = draft.scene, limits_of(draft.scene)
    mine = scene.snapshot.group(group).queue
    queues = {
        q
        for v in taken
        if (queue := scene.snapshot.group(v).queue) != mine
        for q in scene.tree.path(queue)
    }
    return all(
        draft.use[q][r] >= min(kept, limits.use[q][r])
        for q in queues
        for r, kept in enumerate(limits.guarantee[q])
        if kept
    )


def may_stay(draft: "Draft", group: GroupKey, pods: Sequence[Pod]) -> bool:
    """Say whether pods that the group takes could stay after all; room is there, or is not."""
    scene = draft.scene
    first = pods[0]
    assert first.group is not None
    queue = scene.snapshot.group(first.group).queue
    row = draft.ask(pods)
    if draft.quota_gap(first.group, row):
        return False
    if not draft.pledges.bear(draft, scene.tree.path(queue), row):
        return False
    if not draft.bears_back(group, pods):
        return False
    back: dict[int, Matrix] = {}
    for p in pods:
        node = draft.evicted[p.key]
        if node >= 0:
            if not draft.field.takes(p, node):
                return False
            back[node] = back[node] + scene.row(p) if node in back else scene.row(p)
    return all(
        (draft.open_room_on(group, node)[more > 0] >= more[more > 0]).all()
        for node, more in back.items()
    )
