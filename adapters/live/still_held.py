"""Still held: what a full plan has held, and nothing since lets start.

Whoever comes then is planned as if the held groups were not there: no plan starts one of them, so
none lacks what newcomers take. docs/design/live.md says when that is so, and why.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ...models import (
    Config,
    GroupKey,
    Node,
    Plan,
    Pod,
    PodState,
    QueueName,
    Snapshot,
)
from ...policies.min_runtime import is_said, running_since_s, runtime_said_s
from ...policies.tree import Tree
from .held_group import HeldGroup, held_group, is_shut, preempts
from .reclaiming import nobody_reclaims
from .takings import Takings

FRESH_S = 25
"""After so many seconds what is held is planned again in any case, and told with new numbers."""
_SAME = ("nodes", "queues", "namespaces", "quotas", "topologies", "claims", "nominations")
"""What has to be as it was, besides pods and groups."""


@dataclass(slots=True)
class _Verdict:
    """What a full plan has held, and what has changed since."""

    seen: Snapshot
    config: Config
    made: Plan
    tree: Tree
    waiting: tuple[HeldGroup, ...]
    keys: frozenset[GroupKey]
    takings: Takings
    protection_ends_s: int | None
    """When the first protected pod that a held group has a right to is so no more."""


class StillHeld:
    """Keeps the verdict of the last full plan, and says whether it still holds."""

    def __init__(self) -> None:
        self._verdict: _Verdict | None = None
        self._answer: tuple[Snapshot, Snapshot | None] | None = None

    def note(self, seen: Snapshot, config: Config, made: Plan) -> None:
        """Take up what a full plan has held; what it cannot be told of later is forgotten."""
        self._answer = None
        lasts = _is_lasting(seen, made) and not config.moves  # others' restarts may start it
        self._verdict = _verdict(seen, config, made) if lasts else None

    def beside(self, now: Snapshot, config: Config) -> Snapshot | None:
        """Return the snapshot without what is still held; None where that may have changed."""
        if self._answer is None or self._answer[0] is not now:
            verdict = self._verdict
            holds = verdict is not None and config == verdict.config and _holds(verdict, now)
            if not holds:
                self._verdict = None
            self._answer = (now, _without(verdict, now) if holds and verdict else None)
        return self._answer[1]

    def complete(self, made: Plan) -> Plan:
        """Return a plan that was made beside what is held with that, as the full plan told it."""
        verdict = self._verdict
        assert verdict is not None, "nothing is held"
        told = {row.name: row.entitlement for row in verdict.made.queues}
        rows = tuple(replace(q, entitlement=told.get(q.name, q.entitlement)) for q in made.queues)
        return replace(made, held=verdict.made.held, queues=rows)


def _is_lasting(seen: Snapshot, made: Plan) -> bool:
    """Say whether the plan's verdicts are such that it can be told later whether they hold."""
    if not made.held or made.evictions or made.nominations or made.admissions:
        return False
    if made.solver.status == "fallback" or seen.nominations or seen.quotas:
        return False
    pods = seen.pods_by_group
    return not any(
        g.broken_since_s is not None or ((g.asks_admission or g.admitted) and g.key not in pods)
        for g in seen.groups
    )


def _verdict(seen: Snapshot, config: Config, made: Plan) -> _Verdict | None:
    tree, placed = Tree(seen.queues), frozenset(made.places)
    waiting = tuple(held_group(seen, h.group, placed) for h in made.held)
    waiting = tuple(w for w in waiting if w.pods and not is_shut(w.group, tree))
    if any(p.spec.sees_pods for w in waiting for p in w.pods):
        return None
    keys = frozenset(h.group for h in made.held)
    ends = _protection_ends_s(seen, config, tree, waiting)
    return _Verdict(seen, config, made, tree, waiting, keys, Takings(seen, made), ends)


def _protection_ends_s(
    seen: Snapshot, config: Config, tree: Tree, waiting: Sequence[HeldGroup]
) -> int | None:
    """Return when something protected that a held group has a right to is so no more."""
    tops: dict[QueueName, int] = {}
    for w in waiting:
        if preempts(w.group, config, tree):
            queue = w.group.queue
            tops[queue] = max(w.group.priority, tops.get(queue, w.group.priority))
    ends: list[int] = []
    for p in seen.pods if tops else ():
        at = p.protected_until_s
        if at is not None and at > seen.taken_at_s and p.group is not None:
            group = seen.groups_by_key.get(p.group)
            if group is not None and max(group.priority, p.priority) < tops.get(group.queue, 0):
                ends.append(at)
    if tops and is_said(tree):
        ends += _runtimes_end_s(seen, tree, tops)
    return min(ends, default=None)


def _runtimes_end_s(seen: Snapshot, tree: Tree, tops: Mapping[QueueName, int]) -> Iterator[int]:
    """Yield when groups of lower priority have run for as long as their own queue says."""
    for g in seen.groups:
        if g.queue in tops and g.priority < tops[g.queue]:
            running = [p for p in seen.pods_by_group.get(g.key, ()) if p.holds]
            since_s = running_since_s(running)
            if since_s is None:
                continue
            end_s = since_s + runtime_said_s(tree, g.queue, g.queue)
            if end_s > seen.taken_at_s:
                yield end_s


def _holds(verdict: _Verdict, now: Snapshot) -> bool:
    """Say whether no plan for the cluster as it is now starts a group that was held."""
    seen, takings = verdict.seen, verdict.takings
    if not 0 <= now.taken_at_s - seen.taken_at_s < FRESH_S:
        return False
    if any(getattr(seen, name) != getattr(now, name) for name in _SAME):
        return False
    takings.follow(now)
    if takings.strange or not takings.touched.isdisjoint(verdict.keys):
        return False
    roomier = [now.nodes_by_name.get(n) for n in takings.roomier()]
    if not all(_waits_on(verdict, w, now, roomier) for w in verdict.waiting):
        return False
    return nobody_reclaims(
        now, verdict.config, verdict.tree, takings, verdict.waiting, verdict.keys
    )  # fmt: skip


def _waits_on(
    verdict: _Verdict, w: HeldGroup, now: Snapshot, roomier: Sequence[Node | None]
) -> bool:
    """Say whether the group still cannot start; some nodes have more room than after the plan."""
    config, tree, takings = verdict.config, verdict.tree, verdict.takings
    gives = _limits_give(verdict, w)
    if takings.has_lower(w.group) and preempts(w.group, config, tree):
        return not roomier and not gives and _nothing_is_better(verdict, now)
    if not roomier and not takings.left and not gives:
        return True
    if w.is_plain and _is_short(w, now.nodes, takings):
        return True
    if not w.is_plain or takings.opened or gives:
        return False
    return not any(node is not None and _copies(w, node, takings) for node in roomier)


def _nothing_is_better(verdict: _Verdict, now: Snapshot) -> bool:
    """Say whether nothing has left, and nobody may be evicted who might not have been then."""
    takings, ends_s = verdict.takings, verdict.protection_ends_s
    if takings.left:
        return False
    if ends_s is not None and ends_s <= now.taken_at_s:
        return False
    budgets = verdict.seen.budgets or now.budgets
    return not (budgets and (takings.unready or verdict.seen.budgets != now.budgets))


def _is_short(w: HeldGroup, nodes: Sequence[Node], takings: Takings) -> bool:
    """Say whether fewer pods fit than have to start, were all the room there is for the group."""
    fit = 0
    for node in nodes:
        fit += _copies(w, node, takings)
        if fit >= w.need:
            return False
    return True


def _copies(w: HeldGroup, node: Node, takings: Takings) -> int:
    """Return how many of the smallest pod there could be would fit on the node besides."""
    used = takings.used[node.name]
    return max(0, min((node.allocatable[r] - used[r]) // v for r, v in w.least.items()))


def _limits_give(verdict: _Verdict, w: HeldGroup) -> bool:
    """Say whether some limit of a queue of the group may have more left than after the plan."""
    tree, takings = verdict.tree, verdict.takings
    path = tree.path(w.group.queue)
    queues = [tree.queues[q] for q in path]
    kept = any(q.guarantee for q in tree.queues.values())
    bounded = bool(verdict.config.queues) or any(q.capability for q in queues)
    if not kept and not bounded and w.group.preemptable:
        return False
    if kept and takings.left:
        return True
    peers = [q for q in tree.queues if tree.path(q)[-1:] == path[-1:]]
    return takings.gave_back(peers, w.least)


def _without(verdict: _Verdict, now: Snapshot) -> Snapshot:
    """Return the snapshot without the waiting pods of held groups."""
    keys, left = verdict.keys, set[GroupKey | None]()
    pods: list[Pod] = []
    for p in now.pods:
        if p.group in keys:
            if p.state is PodState.PENDING:
                continue
            left.add(p.group)
        pods.append(p)
    groups = tuple(g for g in now.groups if g.key not in keys or g.key in left)
    return replace(now, pods=tuple(pods), groups=groups)
