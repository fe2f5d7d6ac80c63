"""Statuses of Volcano's Queues: state, PodGroups by phase, what is allocated; and queue default.

A queue is closed by ``state: Closed`` in its status (or its spec, as long as its status has none).
While unfinished groups are in it, it is Closing. Commands of Volcano's command line are carried out
by Volcano's controllers, which alone bring that kind along.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models import Plan
from ...models.quantity import parse, show
from ..kubernetes.body_group import GroupSpecBody
from ..kubernetes.body_queue import VolcanoQueue, VolcanoQueueSpec, VolcanoQueueStatus
from ..kubernetes.drafts import FINISHED
from ..kubernetes.meta import Thing
from ..kubernetes.queue_names import DEFAULT
from .discovery import Resource
from .group_records import PHASES, GroupStatus
from .write import Write

_CLOSED = ("Closed", "Closing")


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The status of a Queue."""

    state: str
    groups: Mapping[str, int] = field(default_factory=dict)
    """PodGroups by phase, of all schedulers."""
    allocated: Mapping[str, int] = field(default_factory=dict)
    """Requests of its pods and those of the queues below it, in canonical units."""


def queue_statuses(
    queues: Iterable[Thing],
    groups: Iterable[Thing],
    statuses: Mapping[str, GroupStatus],
    plan: Plan,
) -> dict[str, QueueStatus]:
    """Return the status that each queue should have.

    ``groups`` are all PodGroups of Volcano as read, ``statuses`` those that are being written.
    """
    counts: dict[str, Counter[str]] = {}
    for thing in groups:
        spec: GroupSpecBody = thing.body.spec or GroupSpecBody()
        status, read = statuses.get(thing.key), thing.body.status
        phase = status.phase if status is not None else read.phase if read is not None else ""
        counts.setdefault(spec.queue or DEFAULT, Counter())[phase or PHASES[0]] += 1
    rows = {row.name: row for row in plan.queues}
    out: dict[str, QueueStatus] = {}
    for thing in queues:
        there = counts.get(thing.name, Counter())
        row = rows.get(thing.name)
        allocated = read_queue(thing).allocated if row is None else dict(row.allocated)
        live = sum(n for phase, n in there.items() if phase not in FINISHED)
        out[thing.name] = QueueStatus(
            next_state(thing, live),
            {phase: there[phase] for phase in PHASES},
            {r: v for r, v in allocated.items() if v},
        )
    return out


def next_state(queue: Thing, groups: int) -> str:
    """Return the state of a queue with so many unfinished groups; no state means Open."""
    body: VolcanoQueue = queue.body
    spec, status = body.spec or VolcanoQueueSpec(), body.status or VolcanoQueueStatus()
    if (status.state or spec.state) not in _CLOSED:
        return "Open"
    return "Closing" if groups else "Closed"


def queue_writes(
    queues: Iterable[Thing], statuses: Mapping[str, QueueStatus], resource: Resource
) -> list[Write]:
    """Return the requests that make the statuses so, for those that are not."""
    sub = "status" if "status" in resource.subresources else ""
    out: list[Write] = []
    for thing in queues:
        status, old = statuses.get(thing.name), read_queue(thing)
        if status is None or status == old or thing.deleted_s is not None:
            continue
        allocated: dict[str, str | None] = dict.fromkeys(old.allocated)
        allocated |= {r: show(v, r) for r, v in sorted(status.allocated.items())}
        body: dict[str, Any] = {"state": status.state, "allocated": allocated}
        body |= {phase.lower(): n for phase, n in status.groups.items()}
        path = resource.path("", thing.name, sub)
        out.append(Write("PATCH", path, {"status": body}, thing.title))
    return out


def read_queue(thing: Thing) -> QueueStatus:
    """Return the status as it was read; a state that is not written is ""."""
    body: VolcanoQueueStatus = thing.body.status or VolcanoQueueStatus()
    counts = (body.pending, body.inqueue, body.running, body.unknown, body.completed)
    return QueueStatus(
        body.state or "",
        {phase: n or 0 for phase, n in zip(PHASES, counts, strict=True)},
        {r: v for r, q in (body.allocated or {}).items() if (v := parse(q, r))},
    )


def default_queue(names: Collection[str], resource: Resource) -> Write | None:
    """Return the request that creates the queue default, if no queue is called so.

    ``names`` are those of all queues, bad ones included.
    """
    if DEFAULT in names:
        return None
    body = {
        "apiVersion": f"{resource.group}/{resource.version}",
        "kind": resource.kind,
        "metadata": {"name": str(DEFAULT)},
        "spec": {"weight": 1, "reclaimable": True},
    }
    return Write("POST", resource.root, body, f"Queue {DEFAULT}")
