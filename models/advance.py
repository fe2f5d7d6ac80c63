"""The cluster one cycle on: a plan carried out, and all that leaves has left."""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from .budget import disruptions_allowed, is_met
from .edit_nodes import come_back
from .names import GroupKey, NodeName, PodKey
from .plan import Allocation
from .pod import Pod, PodState
from .resource_claim import Claim
from .selector import NodeSelectorTerm, Requirement
from .snapshot import Snapshot

CYCLE_S = 1


def advance(
    snapshot: Snapshot,
    bound: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
    promised: Mapping[PodKey, NodeName] | None = None,
    admitted: Collection[GroupKey] = (),
    devices: Mapping[PodKey, tuple[int, ...]] | None = None,
    allocations: Collection[Allocation] = (),
) -> Snapshot:
    """Return the snapshot of the next cycle.

    Bound pods run at once; evicted pods come back pending under their names, with a new start and
    their group's age; terminating pods are gone; promises are carried over; budgets are computed
    anew; claims have their devices from the moment that their pod runs until the last one is gone.
    """
    promised = promised if promised is not None else {}
    now = snapshot.taken_at_s + CYCLE_S
    evicted = frozenset(evicted)
    given = {(a.pod, a.claim): a for a in allocations if a.pod in bound}
    pods: list[Pod] = []
    for p in snapshot.pods:
        if p.state is PodState.TERMINATING:
            continue
        if p.key in bound:
            own = _own(p, given)
            p = replace(
                p, state=PodState.RUNNING, node=bound[p.key], nominated=None, started_s=now,
                devices=(devices or {}).get(p.key, ()), claimed=devices_of(own),
                draws=draws_of(own),
            )  # fmt: skip
        elif p.key in evicted:
            p = replace(come_back(p, now), nominated=promised.get(p.key))
        elif p.ours and (p.key in promised or p.nominated is not None):
            p = replace(p, nominated=promised.get(p.key))
        pods.append(p)
    groups = tuple(
        replace(g, admitted=True, asks_admission=False) if g.key in admitted else g
        for g in snapshot.groups
    )
    budgets = tuple(
        replace(b, allowed=disruptions_allowed(b, pods), met=is_met(b, pods))
        for b in snapshot.budgets
    )
    return replace(
        snapshot,
        taken_at_s=now,
        pods=tuple(pods),
        groups=groups,
        budgets=budgets,
        claims=claims_after(snapshot.claims, snapshot.pods, pods, given),
        nominations=tuple(sorted(promised.items())),
    )


_Given = Mapping[tuple[PodKey, str], Allocation]


def devices_of(allocations: Iterable[Allocation]) -> tuple[str, ...]:
    """Return the ids of the devices that allocations give; admin access takes none."""
    ids = {d.id for a in allocations for d in a.devices if not d.admin_access}
    return tuple(sorted(ids))


def draws_of(allocations: Iterable[Allocation]) -> dict[str, int]:
    """Return what allocations take of the capacity of devices, by ``driver/pool/name/capacity``."""
    out: dict[str, int] = {}
    for a in allocations:
        for d in a.devices:
            for name, n in d.consumed:
                out[f"{d.id}/{name}"] = out.get(f"{d.id}/{name}", 0) + n
    return out


def _own(pod: Pod, given: _Given) -> list[Allocation]:
    """Return what the pod's own claims get."""
    own = (given.get((pod.key, c.name)) for c in pod.spec.claims if not c.claim)
    return [a for a in own if a is not None]


def claims_after(
    claims: Collection[Claim], was: Collection[Pod], pods: Collection[Pod], given: _Given
) -> tuple[Claim, ...]:
    """Return the claims that are named: allocated with their first pod, free after their last."""

    def users(of: Collection[Pod]) -> set[str]:
        return {c.claim for p in of if p.holds for c in p.spec.claims if c.claim}

    before, after = users(was), users(pods)
    named = {
        c.claim: given[p.key, c.name]
        for p in pods
        for c in p.spec.claims
        if c.claim and (p.key, c.name) in given
    }
    out: list[Claim] = []
    for claim in claims:
        if claim.allocated and claim.key in before - after:
            claim = replace(claim, allocated=False, devices=(), draws={}, nodes=None)
        elif not claim.allocated and claim.key in named:
            a = named[claim.key]
            here = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (a.node,)),))
            claim = replace(
                claim, allocated=True, devices=devices_of((a,)), draws=draws_of((a,)), nodes=(here,)
            )
        out.append(claim)
    return tuple(out)
