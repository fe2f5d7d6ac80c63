"""What has been asked of the cluster and is not seen in it yet: laid over what the watches say.

A bind that the server has accepted counts from that moment, not from the event that tells of it;
else the next cycle would give the same room away again. Nothing of this survives the process:
whoever starts anew lists the cluster first, and finds it there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...models import (
    Claim,
    Group,
    GroupKey,
    NodeName,
    NodeSelectorTerm,
    Pod,
    PodKey,
    PodState,
    Reason,
    Requirement,
    Snapshot,
)
from ...models.snapshot import with_pods as replaced


@dataclass(frozen=True, slots=True)
class Bound:
    """A bind that was sent, and not refused."""

    uid: str
    node: NodeName
    devices: tuple[int, ...] = ()
    claimed: tuple[str, ...] = ()
    """Devices that its own claims get."""
    draws: Mapping[str, int] = field(default_factory=dict)
    """What they take of the capacity of devices that may be allocated several times."""
    shared: tuple[tuple[str, tuple[str, ...], Mapping[str, int]], ...] = ()
    """Claims that it has with others and that get their devices with it, by key, with the same."""


@dataclass
class Assumed:
    """Binds, evictions and promises on their way into what the watches say."""

    bound: dict[PodKey, Bound] = field(default_factory=dict)
    leaving: dict[PodKey, str] = field(default_factory=dict)
    """Uid of each pod whose eviction was accepted."""
    promised: dict[PodKey, tuple[str, NodeName | None]] = field(default_factory=dict)
    """Uid, and the node that was nominated for the pod, or None where that was taken back."""

    def over(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with all of it; what it shows already is forgotten."""
        if self.is_empty:
            return snapshot
        seen = snapshot.pods_by_key
        changed: dict[PodKey, Pod] = {}
        given: dict[str, _Given] = {}
        for key, bound in list(self.bound.items()):
            pod = seen.get(key)
            if pod is None or pod.uid != bound.uid or pod.state is not PodState.PENDING:
                del self.bound[key]
            else:
                changed[key] = _running(pod, bound, snapshot.taken_at_s)
                given.update(
                    (claim, (bound.node, ids, drawn)) for claim, ids, drawn in bound.shared
                )
        for key, uid in list(self.leaving.items()):
            pod = seen.get(key)
            if pod is None or pod.uid != uid or pod.state is not PodState.RUNNING:
                del self.leaving[key]
            else:
                changed[key] = replace(pod, state=PodState.TERMINATING)
        for key, (uid, node) in list(self.promised.items()):
            pod = seen.get(key)
            if pod is None or pod.uid != uid or not _waits(pod) or pod.nominated == node:
                del self.promised[key]
            elif key not in changed:
                changed[key] = replace(pod, nominated=node)
        if given:
            snapshot = _with_claims(snapshot, given)
        return with_pods(snapshot, changed) if changed else snapshot

    def clear(self) -> None:
        """Forget all of it."""
        for of in (self.bound, self.leaving, self.promised):
            of.clear()

    @property
    def is_empty(self) -> bool:
        return not (self.bound or self.leaving or self.promised)


def _waits(pod: Pod) -> bool:
    return pod.state in (PodState.PENDING, PodState.GATED)


def _running(pod: Pod, bound: Bound, now_s: int) -> Pod:
    return replace(
        pod,
        state=PodState.RUNNING,
        node=bound.node,
        nominated=None,
        started_s=now_s,
        devices=bound.devices,
        claimed=bound.claimed,
        draws=bound.draws,
        ready=False,
        protected_until_s=now_s + 1,  # evicting a pod before it is bound would delete it
    )


_Given = tuple[NodeName, tuple[str, ...], Mapping[str, int]]
"""Where a claim has its devices, which, and what it takes of capacities."""


def _with_claims(snapshot: Snapshot, given: Mapping[str, _Given]) -> Snapshot:
    """Return the snapshot with claims that have devices on a node, unless they are seen to have."""

    def with_devices(claim: Claim) -> Claim:
        if claim.allocated or claim.key not in given:
            return claim
        node, ids, draws = given[claim.key]
        here = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (node,)),))
        return replace(claim, allocated=True, devices=ids, draws=draws, nodes=(here,))

    return replace(snapshot, claims=tuple(map(with_devices, snapshot.claims)))


def with_pods(snapshot: Snapshot, changed: Mapping[PodKey, Pod]) -> Snapshot:
    """Return the snapshot with some pods replaced; promises follow the pods."""
    nodes = snapshot.nodes_by_name
    promises = {k: n for k, n in snapshot.nominations if k not in changed}
    for p in changed.values():
        if p.ours and p.state is PodState.PENDING and p.nominated in nodes and p.nominated:
            promises[p.key] = p.nominated
    return replaced(snapshot, changed, promises)


def with_groups(snapshot: Snapshot, changed: Mapping[GroupKey, Group]) -> Snapshot:
    """Return the snapshot with some groups replaced."""
    return replace(snapshot, groups=tuple(changed.get(g.key, g) for g in snapshot.groups))


def held_back(group: Group, message: str) -> Group:
    """Return the group as one that is not planned now, with the reason."""
    reason = Reason("cluster", f"group {group.key}", message)
    return replace(group, hold=tuple(sorted({*group.hold, reason})))
