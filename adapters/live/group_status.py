"""Statuses of Volcano's PodGroups, as their users expect them: phases, counts, conditions.

Only of groups that are ours. Volcano's job controller creates the pods of a job once its group is
past Pending, so that a group without pods goes to Inqueue when the plan lets it in; one with pods
is in the queue already. Nothing is written that is there.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from ...models import (
    Group,
    GroupKey,
    NodeName,
    Plan,
    Pod,
    PodKey,
    PodState,
    QueueName,
    QueueState,
    Snapshot,
)
from ...models.choice import are_met
from ..kubernetes.body_group import GroupStatusBody
from ..kubernetes.meta import Thing
from ..kubernetes.times import seconds_of, stamp
from .group_records import Condition, GroupStatus, read_status
from .verdicts import Verdict, cut, verdicts_of

READY = "tasks in gang are ready to be scheduled"
"""Reason of the condition Scheduled, in Volcano's words."""
REFRESH_S = 60
"""A condition of which only the message has changed is written again after this long."""


def group_statuses(
    things: Iterable[Thing],
    snapshot: Snapshot,
    plan: Plan,
    verdicts: Mapping[GroupKey, Verdict] | None = None,
    bound: Collection[PodKey] = (),
) -> dict[str, GroupStatus]:
    """Return the statuses by ``namespace/name`` that our PodGroups should have.

    ``things`` are Volcano's PodGroups as read; those of other schedulers are left out, and those
    that run whole and say so. ``verdicts`` are those of the plan, where they were made before.
    ``bound`` are pods that have been bound since the snapshot, as planned: a group of which that is
    all goes to Running at once, by one write and not two.
    """
    verdicts = verdicts_of(plan, snapshot) if verdicts is None else verdicts
    admitted = {a.group for a in plan.admissions}
    starting = {b.group for b in plan.binds}
    pods, places = snapshot.pods_by_group, _whole(plan, bound)
    groups = {str(g.key): g for g in snapshot.groups if g.source == "PodGroup"}
    cycle = plan.snapshot.removeprefix("sha256:")[:32] or str(snapshot.taken_at_s)
    out: dict[str, GroupStatus] = {}
    for thing in things:
        group = groups.get(thing.key)
        if group is None or thing.deleted_s is not None:
            continue
        mine: Sequence[Pod] = pods.get(group.key, ())
        if group.key in places:
            mine = [_bound(p, places[group.key]) for p in mine]
        if _is_steady(thing, group, mine):
            continue
        scene = _Scene(
            group, mine, read_status(thing), verdicts.get(group.key), snapshot.taken_at_s, cycle
        )
        if scene.pods:
            out[thing.key] = scene.with_pods(is_starting=group.key in starting)
        else:
            may = group.key in admitted or _asks_for_nothing(group, snapshot)
            out[thing.key] = scene.without_pods(is_let_in=may)
    return out


def _whole(plan: Plan, bound: Collection[PodKey]) -> Mapping[GroupKey, Mapping[PodKey, NodeName]]:
    """Return the nodes of pods that were bound, of groups that got all that the plan gave them."""
    left = {b.group for b in plan.binds if b.pod not in bound}
    out: dict[GroupKey, dict[PodKey, NodeName]] = defaultdict(dict)
    for b in plan.binds:
        if b.group not in left:
            out[b.group][b.pod] = b.node
    return out


def _bound(pod: Pod, places: Mapping[PodKey, NodeName]) -> Pod:
    """Return the pod as the watch will tell of it."""
    if pod.key not in places:
        return pod
    return with_fields(pod, state=PodState.RUNNING, node=places[pod.key], nominated=None)


def _is_steady(thing: Thing, group: Group, pods: Sequence[Pod]) -> bool:
    """Say whether all pods run and the status says so: of most groups there is nothing to tell."""
    status: GroupStatusBody | None = thing.body.status
    if status is None or status.phase != "Running" or status.running != len(pods):
        return False
    if status.succeeded or status.failed or len(pods) < group.effective_minimum:
        return False
    said = {c.type: c.status for c in status.conditions or ()}
    if said.get("Scheduled") != "True" or said.get("Unschedulable") == "True":
        return False
    plain = not group.role_minimum and not group.choices
    return plain and all(p.state is PodState.RUNNING for p in pods)


def _asks_for_nothing(group: Group, snapshot: Snapshot) -> bool:
    """Say whether a group without minResources may be let in: nothing has to be reserved for it."""
    return group.min_resources is None and not group.hold and _is_open(group.queue, snapshot)


def _is_open(name: QueueName, snapshot: Snapshot) -> bool:
    """Say whether the queue and all above it are there and open."""
    seen: set[str] = set()
    at: QueueName | None = name
    while at is not None and at not in seen:
        seen.add(at)
        queue = snapshot.queues_by_name.get(at)
        if queue is None or queue.state is not QueueState.OPEN or queue.hold:
            return False
        at = queue.parent
    return True


@dataclass(frozen=True, slots=True)
class _Scene:
    """A PodGroup, its pods, and what the plan says of it."""

    group: Group
    pods: Sequence[Pod]
    old: GroupStatus
    verdict: Verdict | None
    now_s: int
    cycle: str

    def with_pods(self, is_starting: bool) -> GroupStatus:
        running, gone = self._count(PodState.RUNNING), self._count(PodState.TERMINATING)
        succeeded, failed = self._count(PodState.SUCCEEDED), self._count(PodState.FAILED)
        over = succeeded + failed
        waits = self._count(PodState.PENDING) + self._count(PodState.GATED)
        need = self.group.effective_minimum
        ready = self._is_ready()
        if running and waits and not ready:
            phase = "Unknown"
        elif running + gone + over >= need:
            phase = "Completed" if not (running or gone or waits) else "Running"
        else:
            phase = "Inqueue"
        conditions = self.old.conditions
        if ready:
            conditions = self._turned("Scheduled", "Unschedulable", READY, "")
        elif waits and not is_starting:
            conditions = self._turned("Unschedulable", "Scheduled", *self._lack(waits))
        return GroupStatus(phase, running, succeeded, failed, conditions)

    def without_pods(self, is_let_in: bool) -> GroupStatus:
        if is_let_in or self.old.phase == "Inqueue":
            return replace(self.old, phase="Inqueue", running=0, succeeded=0, failed=0)
        conditions = self.old.conditions
        if self.verdict is not None:
            said = cut(f"not let in yet: {self.verdict.message}")
            conditions = self._turned("Unschedulable", "Scheduled", "NotEnoughResources", said)
        return GroupStatus("Pending", conditions=conditions)

    def _count(self, state: PodState) -> int:
        return sum(p.state is state for p in self.pods)

    def _is_ready(self) -> bool:
        """Say whether the gang has what it needs, in total and of each role."""
        roles = Counter(
            p.role
            for p in self.pods
            if p.state is PodState.RUNNING or p.state is PodState.SUCCEEDED
        )
        group = self.group
        enough = roles.total() >= group.effective_minimum and are_met(group.choices, roles)
        return enough and all(roles[r] >= n for r, n in group.role_minimum.items())

    def _lack(self, waits: int) -> tuple[str, str]:
        """Return reason and message of a gang that is not ready, in Volcano's form."""
        need = self.group.effective_minimum
        exist = sum(p.state is not PodState.FAILED for p in self.pods)
        reason = "NotEnoughTasks" if exist < need else "NotEnoughResources"
        running = sum(p.state is PodState.RUNNING for p in self.pods)
        counts = f"{waits} Pending, {running} Running" if running else f"{waits} Pending"
        said = (
            f"{waits}/{len(self.pods)} tasks in gang unschedulable: pod group is not ready, "
            f"{counts}, {need} minAvailable."
        )
        origin = f" Origin reason is {self.verdict.message}" if self.verdict is not None else ""
        return reason, cut(said + origin)

    def _turned(self, on: str, off: str, reason: str, message: str) -> tuple[Condition, ...]:
        """Return the conditions with one that holds and one that does not; others stay."""
        out = {c.type: c for c in self.old.conditions}
        there = out.get(on)
        wanted = Condition(on, "True", reason, message, self._now, self.cycle)
        if there is None or not self._says(there, wanted):
            out[on] = wanted
        if off in out and out[off].status != "False":
            out[off] = Condition(off, "False", reason, "", self._now, self.cycle)
        return tuple(out.values())

    def _says(self, there: Condition, wanted: Condition) -> bool:
        """Say whether a condition need not be written again."""
        if (there.status, there.reason) != (wanted.status, wanted.reason):
            return False
        return there.message == wanted.message or self.now_s - _written_s(there) < REFRESH_S

    @property
    def _now(self) -> str:
        return stamp(self.now_s)


def _written_s(condition: Condition) -> int:
    try:
        return seconds_of(condition.since)
    except ValueError:
        return 0
