"""Kubernetes events, one for a group and reason: why it waits, where it started, why it left.

An event is about the PodGroup where there is one, else about the first of the pods. Each is told
once until the reason changes, and once more when it is known what would start the group; a bucket
bounds how many are sent. What finds no room in it is told by a later cycle, as long as it is still
so.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...models import Bind, Eviction, GroupKey, Pod, PodKey, Snapshot
from ..kubernetes.meta import Thing
from ..kubernetes.times import stamp
from .token_bucket import TokenBucket
from .unready import Unready
from .verdicts import Verdict, cut
from .write import Write

API = "events.k8s.io/v1"
FAILED = "FailedScheduling"
SCHEDULED = "Scheduled"
PREEMPTED = "Preempted"
EVICTED = "Evicted"
UNREADY = "Unready"
REASONS: Mapping[str, str] = {
    FAILED: "Warning: a group waits, and why",
    SCHEDULED: "Normal: pods of a group were bound, and where",
    PREEMPTED: "Warning: pods of a group were evicted, for whom and why",
    EVICTED: "Warning: pods of a group were evicted for nobody, and why",
    UNREADY: "Warning: a gang was started, and has not got ready in the time that is set",
}
"""Every reason, with its type and what it tells."""
PER_S = 10.0
BURST = 100
_SHOWN = 8
"""Nodes or groups that are named; of more, the number."""


@dataclass(frozen=True, slots=True)
class Event:
    """What is told of a group."""

    group: GroupKey
    reason: str
    action: str
    """What was done or tried: Scheduling, Binding, Preempting."""
    note: str
    pod: PodKey
    """The first of the pods; "" for a group without any."""

    @property
    def type(self) -> str:
        return "Normal" if self.reason == SCHEDULED else "Warning"


def waiting_events(verdicts: Mapping[GroupKey, Verdict]) -> list[Event]:
    """Return one event for every group that waits."""
    return [
        Event(g, FAILED, "Scheduling", v.message, v.pods[0] if v.pods else PodKey(""))
        for g, v in sorted(verdicts.items())
    ]


def bound_events(bound: Iterable[Bind]) -> list[Event]:
    """Return one event for every group of which pods were bound."""
    by_group: dict[GroupKey, list[Bind]] = defaultdict(list)
    for b in bound:
        by_group[b.group].append(b)
    out: list[Event] = []
    for group, binds in sorted(by_group.items()):
        where = _counted(Counter(b.node for b in binds))
        note = f"bound {_pods(len(binds))} to {where}"
        out.append(Event(group, SCHEDULED, "Binding", cut(note), min(b.pod for b in binds)))
    return out


def evicted_events(evictions: Sequence[Eviction], evicted: Collection[PodKey]) -> list[Event]:
    """Return one event for every group, and those for whom its pods had to leave."""
    together: dict[tuple[GroupKey, tuple[GroupKey, ...], str], list[Eviction]] = defaultdict(list)
    for e in evictions:
        if e.pod in evicted:
            together[e.group, e.beneficiaries, e.reason].append(e)
    out: list[Event] = []
    for (group, mine, why), gone in sorted(together.items()):
        left = f"evicted {_pods(len(gone))} from {_counted(Counter(e.node for e in gone))}"
        names = ", ".join(mine[:_SHOWN]) + (
            f" and {len(mine) - _SHOWN} more" * (len(mine) > _SHOWN)
        )
        note = f"{left}, for {names}" if mine else left
        note = f"{note}: {why}" if why else note
        reason = PREEMPTED if mine else EVICTED
        out.append(Event(group, reason, "Preempting", cut(note), min(e.pod for e in gone)))
    return out


def unready_events(late: Sequence[Unready]) -> list[Event]:
    """Return one event for every gang that has not got ready in time."""
    return [
        Event(
            one.group, UNREADY, "Scheduling",
            f"{one.message}{'; it is let go' if one.release else ''}",
            min((e.pod for e in one.release), default=PodKey("")),
        )
        for one in late
    ]  # fmt: skip


def _pods(n: int) -> str:
    return f"{n} pod{'s' if n > 1 else ''}"


def _counted(nodes: Counter[Any]) -> str:
    named = [f"{node} ×{n}" if n > 1 else node for node, n in sorted(nodes.items())]
    if len(named) > _SHOWN:
        return f"{len(named)} nodes"
    return ", ".join(named)


@dataclass(slots=True)
class Teller:
    """Turns events into requests: what is new, and as much of it as the bucket bears."""

    scheduler: str
    instance: str
    """Which replica reports."""
    bucket: TokenBucket
    suppressed: int = 0
    """Events that had to be put off, or were never told."""
    _waiting: dict[GroupKey, tuple[object, bool]] = field(default_factory=dict)
    """By group, the key of the verdict that was told last, and whether with what would start it."""
    _count: int = 0

    def told(
        self,
        verdicts: Mapping[GroupKey, Verdict],
        happened: Sequence[Event],
        snapshot: Snapshot,
        groups: Mapping[str, Thing],
        now_s: float,
    ) -> list[Write]:
        """Return the requests for what has happened, and for groups that wait for a new reason.

        ``groups`` are PodGroups by ``namespace/name``; ``now_s`` is in seconds since 1970.
        """
        out: list[Write] = []
        for event in happened:
            self._tell(event, snapshot, groups, now_s, out)
        waiting: dict[GroupKey, tuple[object, bool]] = {}
        for event in waiting_events(verdicts):
            verdict, before = verdicts[event.group], self._waiting.get(event.group)
            wanted = (verdict.key, bool(verdict.advice))
            if before is not None and before in (wanted, (verdict.key, True)):
                waiting[event.group] = before
            elif self._tell(event, snapshot, groups, now_s, out):
                waiting[event.group] = wanted
            elif before is not None:
                waiting[event.group] = before
        self._waiting = waiting
        return out

    def _tell(
        self,
        event: Event,
        snapshot: Snapshot,
        groups: Mapping[str, Thing],
        now_s: float,
        out: list[Write],
    ) -> bool:
        if not self.bucket.take():
            self.suppressed += 1
            return False
        pod = snapshot.pods_by_key.get(event.pod)
        if pod is None:
            pod = next(iter(snapshot.pods_by_group.get(event.group, ())), None)
        about = _reference(groups.get(event.group), pod)
        if about is not None:
            self._count += 1
            out.append(self._write(event, about, now_s))
        return True

    def _write(self, event: Event, about: Mapping[str, str], now_s: float) -> Write:
        namespace = about["namespace"]
        body = {
            "apiVersion": API,
            "kind": "Event",
            "metadata": {
                "name": f"{about['name'][:200]}.{int(now_s * 1e6):x}.{self._count:x}",
                "namespace": namespace,
            },
            "eventTime": stamp(now_s, fine=True),
            "reportingController": self.scheduler,
            "reportingInstance": self.instance[:128],
            "type": event.type,
            "reason": event.reason,
            "action": event.action,
            "note": event.note,
            "regarding": about,
        }
        path = f"/apis/{API}/namespaces/{namespace}/events"
        return Write("POST", path, body, f"Event of group {event.group}")


def _reference(group: Thing | None, pod: Pod | None) -> dict[str, str] | None:
    """Return what the event is about; None where neither group nor pod is there."""
    if group is not None:
        api, kind, uid = "scheduling.volcano.sh/v1beta1", "PodGroup", group.uid
        namespace, name = group.namespace, group.name
    elif pod is not None:
        api, kind, uid = "v1", "Pod", pod.uid
        namespace, name = pod.namespace, pod.name
    else:
        return None
    out = {"apiVersion": api, "kind": kind, "namespace": namespace, "name": name}
    return {**out, "uid": uid} if uid else out
