"""Still held: what a full plan has held, and nothing since lets start.

Whoever comes then is planned as if the held groups were not there: no plan starts one of them, so
none lacks what newcomers take. docs/design/live.md says when that is so, and why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ...models import (
    Config,
    Group,
    GroupKey,
    Node,
    Plan,
    Pod,
    PodKey,
    PodState,
    QueueName,
    QueueState,
    Reclaims,
    Snapshot,
)
from ...policies.tree import Tree
from .single import asks_only_for_room
from .takings import Takings

FRESH_S = 25
"""After so many seconds what is held is planned again in any case, and told with new numbers."""
_SAME = ("nodes", "queues", "namespaces", "quotas", "topologies", "claims", "nominations")
"""What has to be as it was, besides pods and groups."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A held group, as far as it matters to what could let it start."""

    group: Group
    pods: tuple[Pod, ...]
    least: Mapping[str, int]
    """What each of its pods asks for at least, slot included."""
    need: int
    """How many of them have to start together, at least."""
    is_plain: bool
    """Whether nothing but amounts and rules about nodes keeps its pods from places."""


@dataclass(slots=True)
class _Verdict:
    """What a full plan has held, and what has changed since."""

    seen: Snapshot
    config: Config
    made: Plan
    tree: Tree
    waiting: tuple[_Waiting, ...]
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
        self._verdict = _verdict(seen, config, made) if _is_lasting(seen, made) else None

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
    waiting = tuple(_waiting(seen, h.group, placed) for h in made.held)
    waiting = tuple(w for w in waiting if w.pods and not _is_shut(w.group, tree))
    if any(p.spec.sees_pods for w in waiting for p in w.pods):
        return None
    keys = frozenset(h.group for h in made.held)
    ends = _protection_ends_s(seen, config, tree, waiting)
    return _Verdict(seen, config, made, tree, waiting, keys, Takings(seen, made), ends)


def _waiting(seen: Snapshot, key: GroupKey, placed: frozenset[PodKey]) -> _Waiting:
    group, members = seen.group(key), seen.pods_by_group.get(key, ())
    pods = tuple(p for p in members if p.state is PodState.PENDING and p.key not in placed)
    begun = any(p.state is PodState.RUNNING or p.key in placed for p in members)
    ended = sum(p.state is PodState.SUCCEEDED for p in members)
    asked = [p.footprint for p in pods]
    named = {r for a in asked for r in a}
    return _Waiting(
        group,
        pods,
        least={r: min(a[r] for a in asked) for r in named},
        need=1 if begun else max(1, group.effective_minimum - ended),
        is_plain=all(asks_only_for_room(p.spec) for p in pods),
    )


def _is_shut(group: Group, tree: Tree) -> bool:
    """Say whether the group cannot start before an object that is compared has changed."""
    queue = tree.queues.get(group.queue)
    shut = queue is None or queue.hold or queue.state is not QueueState.OPEN
    return bool(group.hold or shut)


def _protection_ends_s(
    seen: Snapshot, config: Config, tree: Tree, waiting: Sequence[_Waiting]
) -> int | None:
    """Return when the first protected pod that a held group has a right to is so no more."""
    tops: dict[QueueName, int] = {}
    for w in waiting:
        if _preempts(w.group, config, tree):
            queue = w.group.queue
            tops[queue] = max(w.group.priority, tops.get(queue, w.group.priority))
    ends: list[int] = []
    for p in seen.pods if tops else ():
        at = p.protected_until_s
        if at is not None and at > seen.taken_at_s and p.group is not None:
            group = seen.groups_by_key.get(p.group)
            if group is not None and max(group.priority, p.priority) < tops.get(group.queue, 0):
                ends.append(at)
    return min(ends, default=None)


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
    return all(_waits_on(verdict, w, now) for w in verdict.waiting)


def _waits_on(verdict: _Verdict, w: _Waiting, now: Snapshot) -> bool:
    """Say whether the group still cannot start."""
    config, tree, takings = verdict.config, verdict.tree, verdict.takings
    if _reclaims(w.group, config, tree, takings):
        return False
    lowest = takings.lowest.get(w.group.queue)
    has_right = lowest is not None and lowest < w.group.priority
    if has_right and _preempts(w.group, config, tree):
        return _nothing_is_better(verdict, now)
    roomier = {n: now.nodes_by_name.get(n) for n in takings.roomier()}
    if not roomier and not takings.left:
        return True
    if w.is_plain and _is_short(w, now.nodes, takings):
        return True
    if _limits_give(verdict, w):
        return False
    return not any(
        node is not None and (not w.is_plain or _copies(w, node, takings))
        for node in roomier.values()
    )


def _preempts(group: Group, config: Config, tree: Tree) -> bool:
    """Say whether the group may evict work of its own queue, if that is of lower priority."""
    queue = tree.queues.get(group.queue)
    able = config.evictions != "none" and group.may_preempt
    return able and (queue is None or queue.preempts)


def _reclaims(group: Group, config: Config, tree: Tree, takings: Takings) -> bool:
    """Say whether the group might have a right to work of other queues, whatever their shares."""
    queue = tree.queues.get(group.queue)
    if config.evictions != "all" or not group.may_preempt or queue is None:
        return False
    if queue.reclaims is Reclaims.NEVER:
        return False
    others = (tree.apart(queue.name, q) for q in takings.lowest if q in tree)
    return any(
        mine and other and all(tree.queues[q].reclaimable for q in other) for mine, other in others
    )


def _nothing_is_better(verdict: _Verdict, now: Snapshot) -> bool:
    """Say whether nothing has left, and nobody may be evicted who might not have been then."""
    takings, ends_s = verdict.takings, verdict.protection_ends_s
    if takings.left or takings.roomier():
        return False
    if ends_s is not None and ends_s <= now.taken_at_s:
        return False
    budgets = verdict.seen.budgets or now.budgets
    return not (budgets and (takings.unready or verdict.seen.budgets != now.budgets))


def _is_short(w: _Waiting, nodes: Sequence[Node], takings: Takings) -> bool:
    """Say whether fewer pods fit than have to start, were all the room there is for the group."""
    fit = 0
    for node in nodes:
        fit += _copies(w, node, takings)
        if fit >= w.need:
            return False
    return True


def _copies(w: _Waiting, node: Node, takings: Takings) -> int:
    """Return how many of the smallest pod there could be would fit on the node besides."""
    used = takings.used[node.name]
    return max(0, min((node.allocatable[r] - used[r]) // v for r, v in w.least.items()))


def _limits_give(verdict: _Verdict, w: _Waiting) -> bool:
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
