"""Who waits, as far as it decides who could have a right to running work in some plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...models import QueueName, Reclaims
from ...models.queue import ROOT
from ...policies.evictable import given_up
from ...policies.items import nominated_pods
from ...policies.members import Standing
from ...policies.rights import asks_of, nothing_is_due
from ...policies.scene import Scene
from ...policies.standing import MEASURES, Measure, StandingTable
from .beyond import Spot
from .work import Type

ANY = 1 << 62
"""Above every priority."""


@dataclass(frozen=True)
class Claims:
    """Who could take what from whom."""

    own: Mapping[QueueName, int]
    """The highest priority of work that waits in a leaf and may evict."""
    across: Mapping[tuple[QueueName, Measure], tuple[QueueName, ...]]
    """Below which queues a leaf's work could have a right to other branches, by a measure."""
    spots: frozenset[Spot]
    """Queues of whose work somebody elsewhere may take what is beyond the measure."""
    grown: Mapping[Spot, int]
    """Work of lower priority than this could become beyond there, by what starts before it."""


def claims_of(table: StandingTable, types: Sequence[Type]) -> Claims:
    """Return what those that wait could claim."""
    scene = table.scene
    allowed = scene.config.evictions
    able = [t for t in types if t.sample.group.may_preempt] if allowed != "none" else []
    own: dict[QueueName, int] = {}
    for t in able:
        g = t.sample.group
        if not scene.tree.queues[g.queue].preempts:
            continue
        own[g.queue] = max(own.get(g.queue, g.priority), g.priority)
    across: dict[tuple[QueueName, Measure], tuple[QueueName, ...]] = {}
    if allowed == "all":
        asks = {
            (queue, asks_of(scene, t.sample))
            for t in able
            if scene.tree.queues[queue := t.sample.group.queue].reclaims is not Reclaims.NEVER
        }
        for measure in MEASURES:
            for q, asked in sorted(asks):
                below = _below(scene, q, asked, measure)
                known = across.get((q, measure), ())
                across[q, measure] = (*known, *(p for p in below if p not in known))
    spots = _spots(scene, across)
    return Claims(own, across, spots, _grown(scene, types, spots))


def _below(
    scene: Scene, queue: QueueName, asks: tuple[int, ...], measure: Measure
) -> list[QueueName]:
    """Return the common ancestors below which work of the queue could take from other branches."""
    queues, out = scene.tree.queues, []
    path = scene.tree.path(queue)
    for mine, above in zip(path, (*path[1:], ROOT), strict=True):
        others = [q for q in scene.tree.children.get(above, ()) if q != mine]
        if measure == "entitlement" and nothing_is_due(scene, mine, asks):
            others = [q for q in others if queues[q].priority < queues[mine].priority]
        if others:
            out.append(above)
    return out


def _spots(
    scene: Scene, across: Mapping[tuple[QueueName, Measure], tuple[QueueName, ...]]
) -> frozenset[Spot]:
    out: set[Spot] = set()
    for (q, measure), below in across.items():
        for above in below:
            mine = set(scene.tree.path(q))
            out |= {(b, measure) for b in scene.tree.children[above] if b not in mine}
    return frozenset(out)


def _grown(scene: Scene, types: Sequence[Type], spots: frozenset[Spot]) -> dict[Spot, int]:
    """Say before what work something could start: at a leaf it has to come first in its order."""
    promised = nominated_pods(scene)
    tops: dict[QueueName, int] = {}
    for t in types:
        g = t.sample.group
        first = t.sample.standing is Standing.BROKEN or given_up(scene, t.sample)
        leaf, *above = scene.tree.path(g.queue)
        most = ANY if first or promised else g.priority
        tops[leaf] = max(tops.get(leaf, most), most)
        tops |= dict.fromkeys(above, ANY)
    return {s: tops[s[0]] for s in spots if s[0] in tops}
