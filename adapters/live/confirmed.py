"""What the cluster only confirms: pods are where they were bound, run, and get ready.

Where the plan before has left nothing that waits, none of that gives anything to plan.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from ...models import Group, NodeName, Pod, PodKey, PodState, Snapshot


def confirms(before: Snapshot, now: Snapshot, places: Mapping[PodKey, NodeName]) -> bool:
    """Say whether nothing has changed but that pods run: those that did, and these at their places.

    Disruption budgets may have changed: they matter only where somebody would have to leave. It
    costs a look at every pod and group.
    """
    if len(before.pods) != len(now.pods) or len(before.groups) != len(now.groups):
        return False
    groups = [(a, b) for a, b in zip(before.groups, now.groups, strict=True) if a is not b]
    if not all(a == b or _was_let_in(a, b, now) for a, b in groups):
        return False
    moved = [(a, b) for a, b in zip(before.pods, now.pods, strict=True) if a is not b]
    if not all(_runs_on(a, b, places) for a, b in moved):
        return False
    if before.nodes is not now.nodes and before.nodes != now.nodes:
        return False
    return _rest_of(before) == _rest_of(now)


def _was_let_in(before: Group, now: Group, seen: Snapshot) -> bool:
    """Say whether nothing has changed but that its status lets the group in, which has pods."""
    same = replace(before, admitted=now.admitted, asks_admission=now.asks_admission)
    return same == now and not now.asks_admission and now.key in seen.pods_by_group


def _runs_on(before: Pod, now: Pod, places: Mapping[PodKey, NodeName]) -> bool:
    """Say whether the pod runs, and is what it was in all that does not follow from that."""
    expected = before
    if before.state is PodState.PENDING and before.key in places:
        expected = replace(
            before, state=PodState.RUNNING, node=places[before.key], devices=now.devices
        )
    if now.state is not PodState.RUNNING or expected.state is not PodState.RUNNING:
        return False
    return now == replace(
        expected,
        started_s=now.started_s,
        protected_until_s=now.protected_until_s,
        ready=now.ready,
    )


def _rest_of(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, taken_at_s=0, nodes=(), pods=(), groups=(), budgets=())
