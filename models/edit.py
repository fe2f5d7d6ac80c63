"""Editing: the snapshot that a cluster would give after some edits, the moment being the same."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from .advance import claims_after
from .amounts import Amounts
from .budget import Budget, disruptions_allowed, is_met
from .edit_groups import (
    copied,
    given_minimum,
    given_priority,
    given_requests,
    relaxed,
    resized,
    submitted,
    tolerating,
    without_group,
    without_selector,
)
from .edit_nodes import cordoned, drained, removed, uncordoned, with_nodes
from .edit_wait import waited
from .edits import (
    AddNodes,
    CopyGroup,
    Cordon,
    Drain,
    DropSelector,
    Edit,
    Relax,
    RemoveGroup,
    RemoveNode,
    Resize,
    SetMinimum,
    SetPriority,
    SetQueue,
    SetQueuePriority,
    SetRequests,
    SetWeight,
    Submit,
    Tolerate,
    Uncordon,
    Wait,
)
from .errors import InputError
from .pod import Pod, PodState
from .queue import Queue
from .snapshot import Snapshot, snapshot_of
from .unknown import unknown


def edited(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """Return the snapshot after the edits, one after the other.

    Pods that lose their node come back pending, as new as this moment; budgets whose pods changed
    are computed anew; a gang that an edit breaks is broken since now.

    Raises
    ------
    InputError
        For a node, group or queue that there is not, or a number that cannot be.
    """
    out = snapshot
    for edit in edits:
        out = _settled(out, _BY_KIND[type(edit)](out, edit))
    return out


def _settled(before: Snapshot, after: Snapshot) -> Snapshot:
    """Return the edited snapshot in canonical order, with what follows from its pods."""
    if after.pods is not before.pods:
        after = replace(
            after,
            budgets=tuple(_budget(b, before.pods, after.pods) for b in after.budgets),
            claims=claims_after(after.claims, before.pods, after.pods, {}),
            groups=tuple(_breaking(before, after)),
        )
    return snapshot_of(**{f: getattr(after, f) for f in after.__struct_fields__})


def _budget(budget: Budget, before: Collection[Pod], after: Collection[Pod]) -> Budget:
    def health(pods: Collection[Pod]) -> set[tuple[str, bool]]:
        return {(p.key, p.state is PodState.RUNNING and p.ready) for p in pods if budget.selects(p)}

    if health(before) == health(after):
        return budget
    return replace(budget, allowed=disruptions_allowed(budget, after), met=is_met(budget, after))


def _breaking(before: Snapshot, after: Snapshot) -> Iterable[Any]:
    """Yield the groups; one that lost running pods is broken since now, if it was not before."""

    def running(snapshot: Snapshot, key: Any) -> int:
        pods = snapshot.pods_by_group.get(key, ())
        return sum(p.state is PodState.RUNNING for p in pods)

    for g in after.groups:
        lost = running(after, g.key) < running(before, g.key)
        if lost and g.broken_since_s is None:
            yield replace(g, broken_since_s=after.taken_at_s)
        else:
            yield g


# Queues


def _with_queue(
    snapshot: Snapshot, name: str, changes: Callable[[Queue], Mapping[str, Any]]
) -> Snapshot:
    found = next((q for q in snapshot.queues if q.name == name), None)
    if found is None:
        raise unknown("queue", name, (q.name for q in snapshot.queues))
    new = replace(found, **changes(found))
    return replace(snapshot, queues=tuple(new if q is found else q for q in snapshot.queues))


def _set_queue(snapshot: Snapshot, edit: SetQueue) -> Snapshot:
    field = {"limit": "capability", "due": "deserved", "guarantee": "guarantee"}[edit.setting]

    def changes(queue: Queue) -> Mapping[str, Any]:
        values = dict(getattr(queue, field).items())
        values.pop(edit.resource, None)
        if edit.amount is not None:
            values[edit.resource] = edit.amount
        return {field: Amounts(values) if field == "guarantee" else values}

    return _with_queue(snapshot, edit.queue, changes)


def _set_weight(snapshot: Snapshot, edit: SetWeight) -> Snapshot:
    if edit.weight < 0:
        raise InputError(f"queue {edit.queue}: a weight is at least 0, got {edit.weight}")
    return _with_queue(snapshot, edit.queue, lambda _: {"weight": edit.weight})


def _set_queue_priority(snapshot: Snapshot, edit: SetQueuePriority) -> Snapshot:
    return _with_queue(snapshot, edit.queue, lambda _: {"priority": edit.priority})


_BY_KIND: Mapping[type, Callable[[Snapshot, Any], Snapshot]] = {
    AddNodes: with_nodes,
    RemoveNode: removed,
    Drain: drained,
    Cordon: cordoned,
    Uncordon: uncordoned,
    CopyGroup: copied,
    Submit: submitted,
    RemoveGroup: without_group,
    Wait: waited,
    SetPriority: given_priority,
    Resize: resized,
    SetMinimum: given_minimum,
    SetRequests: given_requests,
    SetQueue: _set_queue,
    SetWeight: _set_weight,
    SetQueuePriority: _set_queue_priority,
    Relax: relaxed,
    Tolerate: tolerating,
    DropSelector: without_selector,
}
