"""Takings: what runs takes of nodes and queues, and how that has changed since a plan.

Kept up to date at a cost that follows what changed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from ...models import Group, GroupKey, Plan, Pod, PodState, QueueName, Snapshot
from .gathered import differing, tells_pods_apart

_ENDED = (PodState.TERMINATING, PodState.SUCCEEDED, PodState.FAILED)
_TAKES = PodState.RUNNING


class Takings:
    """What pods that run take, from the snapshot of a plan on; the plan's binds are expected to.

    ``strange`` is set once something has changed but that pods come, run, get ready, and go.
    """

    def __init__(self, seen: Snapshot, made: Plan) -> None:
        self.strange = False
        self.left = False
        """A pod that ran has ended, or is leaving."""
        self.opened = False
        """One of these has kept others from places by more than the amounts that it took."""
        self.unready = False
        """A pod that was ready is not, or the other way round."""
        self.touched: set[GroupKey] = set()
        """Groups that have got or lost pods, or of which some run that the plan did not bind."""
        self._places = made.places
        self._pods = seen.pods
        self._groups = seen.groups
        self._group_of = dict(seen.groups_by_key)
        self.used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By node, pod slots included."""
        self.more: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The same, less what was to be taken once the plan is carried out."""
        self.more_of_queue: defaultdict[QueueName, Counter[str]] = defaultdict(Counter)
        self.fixed_of_queue: defaultdict[QueueName, Counter[str]] = defaultdict(Counter)
        """The same of groups that may not be preempted: these have a limit of their own."""
        self.heaps: defaultdict[tuple[QueueName | None, bool], Counter[str]] = defaultdict(Counter)
        """By queue (None: of other schedulers) and whether the nodes take pods, slots included."""
        self._open = frozenset(n.name for n in seen.nodes if n.takes_pods)
        self._special = frozenset(n.name for n in seen.nodes if tells_pods_apart(n))
        self.lowest: dict[QueueName, int] = {}
        """By queue with work that may be preempted, the lowest priority of it so far."""
        for p in seen.pods:
            if (seat := _seat(p)) is not None:
                self._take(p, seat)
        self.more.clear()
        self.more_of_queue.clear()
        self.fixed_of_queue.clear()
        pods = seen.pods_by_key
        for b in made.binds:
            pod = pods[b.pod]
            _add(self.more[b.node], pod, -1)
            self._count(pod, -1)

    def follow(self, now: Snapshot) -> None:
        """Bring everything up to date."""
        self._follow_groups(now.groups)
        gone, come = differing(self._pods, now.pods)
        self._pods = now.pods
        new = {p.key: p for p in come}
        for old in gone:
            self._change(old, new.pop(old.key, None))
        for pod in new.values():
            self._come(pod)

    def _come(self, pod: Pod) -> None:
        self._touch(pod)
        if (seat := _seat(pod)) is not None:
            self._take(pod, seat)

    def _follow_groups(self, groups: tuple[Group, ...]) -> None:
        ended, begun = differing(self._groups, groups)
        self._groups = groups
        old = {g.key: g for g in ended}
        for g in begun:
            before = old.pop(g.key, None)
            if before is not None and not _is_same_but_let_in(before, g):
                self.strange = True
            self._group_of[g.key] = g
            self.strange |= g.broken_since_s is not None
        self.touched.update(old)

    def _change(self, old: Pod, new: Pod | None) -> None:
        if new is None or new.uid != old.uid:
            self._go(old, PodState.TERMINATING)
            if new is not None:
                self._come(new)
            return
        if not _is_same_elsewhere(old, new):
            self.strange = True
            return
        before, seat = _seat(old), _seat(new)
        if before is not None and seat is not None:
            self.strange |= before != seat
            self.unready |= new.ready != old.ready
        elif before is not None:
            self._go(old, new.state)
        elif seat is not None:
            if new.node != self._places.get(new.key):
                self._touch(new)
            self._take(new, seat)
        elif new.state is not old.state:
            self._touch(new)

    def _go(self, pod: Pod, state: PodState) -> None:
        """Note that the pod takes nothing any more."""
        self._touch(pod)
        seat = _seat(pod)
        if seat is None:
            return
        # A gang that loses a member may be broken, and nothing comes before its repair.
        group = self._group(pod.group)
        is_gang = group is not None and group.effective_minimum > 1
        self.strange |= state not in _ENDED or (is_gang and state is not PodState.SUCCEEDED)
        self.left = True
        self.opened |= bool(pod.spec.anti_affinity) or seat in self._special
        _add(self.used[seat], pod, -1)
        _add(self.more[seat], pod, -1)
        self._count(pod, -1)
        self._heap(pod, seat, -1)

    def _touch(self, pod: Pod) -> None:
        if pod.group is not None:
            self.touched.add(pod.group)

    def _take(self, pod: Pod, seat: str) -> None:
        _add(self.used[seat], pod, 1)
        _add(self.more[seat], pod, 1)
        self._count(pod, 1)
        self._heap(pod, seat, 1)

    def _count(self, pod: Pod, times: int) -> None:
        group = self._group(pod.group)
        if group is None:
            return
        _add(self.more_of_queue[group.queue], pod, times)
        if not group.preemptable:
            _add(self.fixed_of_queue[group.queue], pod, times)
        if times > 0 and group.preemptable and pod.preemptable:
            mine = max(group.priority, pod.priority)
            self.lowest[group.queue] = min(mine, self.lowest.get(group.queue, mine))

    def _heap(self, pod: Pod, seat: str, times: int) -> None:
        group = self._group(pod.group)
        queue = None if group is None else group.queue
        _add(self.heaps[queue, seat in self._open], pod, times)

    def _group(self, key: GroupKey | None) -> Group | None:
        return None if key is None else self._group_of.get(key)

    def has_lower(self, group: Group) -> bool:
        """Say whether the group's queue has work that may be preempted, of lower priority."""
        return self.lowest.get(group.queue, group.priority) < group.priority

    def roomier(self) -> list[str]:
        """Return the nodes that have more room of something than the plan would have left."""
        return [n for n, of in self.more.items() if any(v < 0 for v in of.values())]

    def gave_back(self, queues: Iterable[QueueName], resources: Iterable[str]) -> bool:
        """Say whether one of the queues uses less of one of these than after the plan."""
        asked = list(resources)
        both = (self.more_of_queue, self.fixed_of_queue)
        found = (counts.get(q) for q in queues for counts in both)
        return any(of[r] < 0 for of in found if of is not None for r in asked)


def _seat(pod: Pod) -> str | None:
    """Return the node on which the pod takes room: it runs there, or its scheduler says it will.

    A pod that is leaving takes nothing: what waits may be promised its room.
    """
    if pod.state is _TAKES:
        return pod.node
    is_promised = pod.state is PodState.PENDING and not pod.ours
    return pod.nominated if is_promised else None


def _add(to: Counter[str], pod: Pod, times: int) -> None:
    for r, v in pod.spec.requests.entries.items():
        to[r] += times * v
    to["pods"] += times


def _is_same_elsewhere(old: Pod, new: Pod) -> bool:
    """Say whether nothing is different but where the pod is, and how it does there."""
    return new == replace(
        old, state=new.state, node=new.node, nominated=new.nominated, devices=new.devices,
        cells=new.cells, claimed=new.claimed, claim_names=new.claim_names, ready=new.ready,
        started_s=new.started_s, protected_until_s=new.protected_until_s, end=new.end,
    )  # fmt: skip


def _is_same_but_let_in(old: Group, new: Group) -> bool:
    return new == replace(old, admitted=new.admitted, asks_admission=new.asks_admission)
