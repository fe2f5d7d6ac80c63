"""The cluster one cycle on: a plan carried out, and all that leaves has left."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from .budget import disruptions_allowed
from .names import GroupKey, NodeName, PodKey
from .pod import Pod, PodState
from .snapshot import Snapshot

CYCLE_S = 1


def advance(
    snapshot: Snapshot,
    bound: Mapping[PodKey, NodeName],
    evicted: Collection[PodKey],
    promised: Mapping[PodKey, NodeName] | None = None,
    admitted: Collection[GroupKey] = (),
    devices: Mapping[PodKey, tuple[int, ...]] | None = None,
) -> Snapshot:
    """Return the snapshot of the next cycle.

    Bound pods run at once; evicted pods come back pending under their names, with a new start and
    their group's age; terminating pods are gone; promises are carried over; budgets are computed
    anew.
    """
    promised = promised if promised is not None else {}
    now = snapshot.taken_at_s + CYCLE_S
    evicted = frozenset(evicted)
    pods: list[Pod] = []
    for p in snapshot.pods:
        if p.state is PodState.TERMINATING:
            continue
        if p.key in bound:
            p = replace(
                p, state=PodState.RUNNING, node=bound[p.key], nominated=None, started_s=now,
                devices=(devices or {}).get(p.key, ()),
            )  # fmt: skip
        elif p.key in evicted:
            p = replace(
                p, state=PodState.PENDING, node=None, nominated=None, started_s=None,
                created_s=now, protected_until_s=None, uid="", devices=(),
            )  # fmt: skip
        elif p.ours and (p.key in promised or p.nominated is not None):
            p = replace(p, nominated=promised.get(p.key))
        pods.append(p)
    groups = tuple(
        replace(g, admitted=True, asks_admission=False) if g.key in admitted else g
        for g in snapshot.groups
    )
    budgets = tuple(replace(b, allowed=disruptions_allowed(b, pods)) for b in snapshot.budgets)
    return replace(
        snapshot,
        taken_at_s=now,
        pods=tuple(pods),
        groups=groups,
        budgets=budgets,
        nominations=tuple(sorted(promised.items())),
    )
