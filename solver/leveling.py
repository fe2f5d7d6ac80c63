"""Leveling: to which level of the order the work belongs that the greedy engine looked at."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..models import GroupKey, Pod, QueueName
from ..policies.items import nominated_pods
from ..policies.levels import Level, Levels, Worth, scale_of, worth
from ..policies.members import Members, Standing
from ..policies.ranks import ranks_of
from ..policies.scene import Scene
from ..policies.standing import StandingTable, standing_of

if TYPE_CHECKING:
    from .greedy import Ranking


def _keep_order(table: StandingTable, ranking: "Ranking") -> None:
    """Let no item of a queue come before one that ranks higher in it, were that tried or not."""
    tried = {group for group, _ in ranking.tier}
    for q, ranked in ranks_of(table).items():
        if not table.scene.tree.is_leaf(q):
            continue
        least = 0
        for item in [i for i, _ in ranked.ordered if i.group.key in tried]:
            key = (item.group.key, item.kind)
            tier, part = ranking.tier.get(key, (-1, 0))
            if tier == 1:
                least = max(least, part)
                ranking.tier[key] = (1, least)


def queue_priority(scene: Scene, queue: QueueName) -> int:
    """Return the priority of the queue's branch below the root."""
    path = scene.tree.path(queue)
    return scene.tree.queues[path[-1]].priority if path else 0


def levels_of(scene: Scene, ranking: "Ranking") -> Levels:
    """Return the levels of all items, with their worth."""
    table = standing_of(scene)
    waiting = [m for m in scene.roster.waiting if table.could_run[m.key]]
    firsts = {m.key: f for m in waiting if (f := first_of(table, m))}
    singles = {m.key: e for m in waiting if (e := _elastic(m, firsts.get(m.key, ())))}
    parts: list[Sequence[Pod]] = [*firsts.values(), *(e[:1] for e in singles.values())]
    scale = scale_of(table, parts)
    everywhere = scene.config.priority_everywhere
    minimum: dict[GroupKey, Worth] = {}
    elastic: dict[GroupKey, Worth] = {}
    promised = nominated_pods(scene)
    last = (2, max((s for t, s in ranking.tier.values() if t == 2), default=0))

    def level_of(key: GroupKey, kind: str) -> Level:
        tier, part = ranking.tier.get((key, kind), last)
        pods_of = firsts.get(key, ()) if kind == "minimum" else singles.get(key, ())
        if promised and any(p.key in promised for p in pods_of):
            part = -1  # what others made room for comes first among its like
        g = scene.snapshot.group(key)
        single = kind == "elastic"
        if everywhere:
            return Level(tier, 0, 0, -g.priority, single)
        queue = -queue_priority(scene, g.queue) if tier == 1 else 0
        return Level(tier, part, queue, -g.priority, single)

    _keep_order(table, ranking)
    for key, pods in firsts.items():
        level = level_of(key, "minimum")
        minimum[key] = Worth(level, worth(table, pods, scale))
    for key, pods in singles.items():
        level = level_of(key, "elastic")
        elastic[key] = Worth(level, max(1, worth(table, pods, scale) // len(pods)))
    return Levels(minimum, elastic)


def first_of(table: StandingTable, m: Members) -> tuple[Pod, ...]:
    """Return the pending pods that would complete the minimum, out of those that could run."""
    if m.standing is Standing.WHOLE:
        return ()
    usable = table.usable[m.key]
    if m.standing is Standing.NEW:
        return m.split(usable)[0]
    keys = {p.key for p in usable}
    return tuple(p for p in m.split([*m.running, *usable])[0] if p.key in keys)


def _elastic(m: Members, first: Sequence[Pod]) -> tuple[Pod, ...]:
    if len(first) == len(m.pending):
        return ()
    keys = {p.key for p in first}
    return tuple(p for p in m.pending if p.key not in keys)
