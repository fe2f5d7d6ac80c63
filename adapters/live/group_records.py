"""Statuses of Volcano's PodGroups as values: as they were read, and as requests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..kubernetes.body_group import GroupConditionBody, GroupStatusBody
from ..kubernetes.meta import Thing
from .discovery import Resource
from .write import Write

PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a PodGroup."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    """When it was written, as a timestamp."""
    transition: str
    """Volcano's transitionID: by which cycle it was written."""

    @property
    def body(self) -> dict[str, str]:
        out = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since,
            "transitionID": self.transition,
        }
        return {k: v for k, v in out.items() if v}


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The status of a PodGroup."""

    phase: str
    running: int = 0
    """Pods with a node, those included that have not begun to run there."""
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


def status_writes(
    things: Iterable[Thing], statuses: Mapping[str, GroupStatus], resource: Resource
) -> list[Write]:
    """Return the requests that make the statuses so, for those that are not."""
    sub = "status" if "status" in resource.subresources else ""
    out: list[Write] = []
    for thing in things:
        status = statuses.get(thing.key)
        if status is None or status == read_status(thing):
            continue
        body: dict[str, Any] = {
            "phase": status.phase,
            "running": status.running,
            "succeeded": status.succeeded,
            "failed": status.failed,
            "conditions": [c.body for c in status.conditions],
        }
        head = {"uid": thing.uid} if thing.uid else {}
        path = resource.path(thing.namespace, thing.name, sub)
        out.append(Write("PATCH", path, {"metadata": head, "status": body}, thing.title))
    return out


def read_status(thing: Thing) -> GroupStatus:
    """Return the status as it was read; a phase that is not written is ""."""
    body: GroupStatusBody = thing.body.status or GroupStatusBody()
    return GroupStatus(
        body.phase or "",
        body.running or 0,
        body.succeeded or 0,
        body.failed or 0,
        tuple(_condition(c) for c in body.conditions or ()),
    )


def _condition(body: GroupConditionBody) -> Condition:
    return Condition(
        body.type or "", body.status or "", body.reason or "", body.message or "",
        body.last_transition_time or "", body.transition_id or "",
    )  # fmt: skip
