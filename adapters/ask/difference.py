"""What differs between two plans: who starts, who is displaced, who waits, shares, use, holes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from ...models import Amounts, GroupKey, Plan, PodKey, PodState, Reason, Snapshot
from ...models.amounts import total
from ...models.value import Value

State = Literal["absent", "runs", "starts", "promised", "waits"]


class GroupState(Value, frozen=True, omit_defaults=False):
    """How a group stands after a plan, in pods."""

    state: State = "absent"
    running: int = 0
    """Pods that ran before the plan and go on."""
    starting: int = 0
    promised: int = 0
    waiting: int = 0

    @property
    def has(self) -> int:
        """How many pods run, start or are promised a place."""
        return self.running + self.starting + self.promised

    @property
    def lacks(self) -> tuple[int, int]:
        """How many pods have no place, then how many wait until others have left theirs."""
        return self.waiting, self.promised


class GroupChange(Value, frozen=True, omit_defaults=False):
    """A group that stands differently."""

    group: GroupKey
    queue: str
    before: GroupState
    after: GroupState
    displaced: tuple[PodKey, ...] = ()
    """Pods that would go on running, and do not any more."""
    why: tuple[Reason, ...] = ()
    """Why the changed plan holds it, where it does."""


class QueueChange(Value, frozen=True, omit_defaults=False):
    """A queue that uses or is entitled to something else; amounts in canonical units."""

    queue: str
    used_before: Amounts
    used_after: Amounts
    share_before: float
    share_after: float


class UseChange(Value, frozen=True, omit_defaults=False):
    """One resource: what is used of the nodes that take pods, and how what is idle lies there.

    ``hole`` is the largest idle amount on one node; ``whole`` is what is idle on nodes of which
    nothing of the resource is used.
    """

    resource: str
    used_before: int
    used_after: int
    capacity_before: int
    capacity_after: int
    hole_before: int
    hole_after: int
    whole_before: int
    whole_after: int


class Difference(Value, frozen=True, omit_defaults=False):
    """What a plan of another cluster, or by other settings, makes different."""

    groups: tuple[GroupChange, ...] = ()
    starts_more: tuple[GroupKey, ...] = ()
    starts_less: tuple[GroupKey, ...] = ()
    displaced: tuple[GroupKey, ...] = ()
    waits_less: tuple[GroupKey, ...] = ()
    waits_more: tuple[GroupKey, ...] = ()
    queues: tuple[QueueChange, ...] = ()
    use: tuple[UseChange, ...] = ()

    @property
    def is_none(self) -> bool:
        return not self.groups and not self.queues and not self.use


def difference(before: tuple[Snapshot, Plan], after: tuple[Snapshot, Plan]) -> Difference:
    """Return what is different in the second plan."""
    groups = tuple(_groups(before, after))

    def those(kind: Iterable[GroupChange]) -> tuple[GroupKey, ...]:
        return tuple(c.group for c in kind)

    there = before[0].groups_by_key.keys() & after[0].groups_by_key.keys()
    both = [c for c in groups if c.group in there]
    return Difference(
        groups,
        those(c for c in groups if c.after.has > c.before.has),
        those(c for c in groups if c.after.has < c.before.has),
        those(c for c in groups if c.displaced),
        those(c for c in both if c.after.lacks < c.before.lacks),
        those(c for c in both if c.after.lacks > c.before.lacks),
        tuple(_queues(before[1], after[1])),
        tuple(_use(before, after)),
    )


def states_of(snapshot: Snapshot, plan: Plan) -> dict[GroupKey, GroupState]:
    """Return how every group stands after the plan."""
    gone = {e.pod for e in plan.evictions}
    now = Counter(b.group for b in plan.binds)
    later = Counter([n.group for n in plan.nominations] + [m.group for m in plan.moves])
    out: dict[GroupKey, GroupState] = {}
    for g in snapshot.groups:
        pods = snapshot.pods_by_group.get(g.key, ())
        kept = sum(p.state is PodState.RUNNING and p.key not in gone for p in pods)
        wish = sum(p.state in (PodState.PENDING, PodState.GATED) for p in pods)
        starts, promised = now[g.key], later[g.key]
        waiting = wish - starts - promised + sum(p.key in gone for p in pods)
        state: State = "waits"
        if starts or (kept and not waiting and not promised):
            state = "starts" if starts else "runs"
        elif promised:
            state = "promised"
        elif kept and kept >= g.effective_minimum:
            state = "runs"
        elif not waiting:
            state = "runs" if kept else "absent"
        out[g.key] = GroupState(state, kept, starts, promised, waiting)
    return out


def _groups(before: tuple[Snapshot, Plan], after: tuple[Snapshot, Plan]) -> Iterable[GroupChange]:
    old, new = states_of(*before), states_of(*after)
    went_on, goes_on = _going_on(*before), _going_on(*after)
    nothing = GroupState()
    known = {**after[0].groups_by_key, **before[0].groups_by_key}
    why = {h.group: h.reasons for h in after[1].held}
    for key in sorted({*old, *new}):
        a, b = old.get(key, nothing), new.get(key, nothing)
        lost = sorted(went_on.get(key, set()) - goes_on.get(key, set()))
        if a != b or lost:
            yield GroupChange(key, known[key].queue, a, b, tuple(lost), why.get(key, ()))


def _going_on(snapshot: Snapshot, plan: Plan) -> Mapping[GroupKey, set[PodKey]]:
    """Return the pods of each group that run and go on, or have a place again at once or later."""
    gone = {e.pod for e in plan.evictions}
    places = {**plan.places, **plan.moved}
    out: dict[GroupKey, set[PodKey]] = {}
    for p in snapshot.pods:
        runs = p.state is PodState.RUNNING and p.key not in gone
        if p.group is not None and (runs or p.key in places):
            out.setdefault(p.group, set()).add(p.key)
    return out


def _queues(before: Plan, after: Plan) -> Iterable[QueueChange]:
    old, new = {q.name: q for q in before.queues}, {q.name: q for q in after.queues}
    for name in sorted({*old, *new}):
        a, b = old.get(name), new.get(name)
        used = tuple(Amounts() if x is None else x.allocated for x in (a, b))
        share = tuple(0.0 if x is None else x.dominant_share for x in (a, b))
        if used[0] != used[1] or share[0] != share[1]:
            yield QueueChange(name, used[0], used[1], share[0], share[1])


class _Room:
    """What there is and what is used on the nodes that take pods, once the plan is carried out."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        gone = {e.pod for e in plan.evictions}
        places = {**plan.places, **plan.moved}
        used: dict[str, list[Amounts]] = {}
        for p in snapshot.pods:
            node: str | None = places.get(p.key)
            if node is None and p.state is PodState.RUNNING and p.key not in gone:
                node = p.node
            if node is not None:
                used.setdefault(node, []).append(p.footprint)
        nodes = [n for n in snapshot.nodes if n.takes_pods]
        self._offers = [n.allocatable for n in nodes]
        self._used = [total(used.get(n.name, ())) for n in nodes]
        self.capacity, self.used = total(self._offers), total(self._used)

    def hole(self, resource: str) -> int:
        pairs = zip(self._offers, self._used, strict=True)
        return max((max(0, o[resource] - u[resource]) for o, u in pairs), default=0)

    def whole(self, resource: str) -> int:
        pairs = zip(self._offers, self._used, strict=True)
        return sum(o[resource] for o, u in pairs if not u[resource])


def _use(before: tuple[Snapshot, Plan], after: tuple[Snapshot, Plan]) -> Iterable[UseChange]:
    a, b = _Room(*before), _Room(*after)
    for r in sorted({*a.capacity, *b.capacity}):
        row = UseChange(
            r, a.used[r], b.used[r], a.capacity[r], b.capacity[r],
            a.hole(r), b.hole(r), a.whole(r), b.whole(r),
        )  # fmt: skip
        if (a.used[r], a.capacity[r], a.hole(r), a.whole(r)) != (
            b.used[r], b.capacity[r], b.hole(r), b.whole(r)
        ):  # fmt: skip
            yield row
