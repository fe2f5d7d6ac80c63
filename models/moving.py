"""A cluster in which running pods are on their way elsewhere: leaving, and waiting at once.

A plan with moves is a plan of this cluster (docs/design/moves.md).
"""

from collections.abc import Collection

from msgspec.structs import replace

from .edit_nodes import come_back
from .names import GroupKey, PodKey
from .pod import Pod, PodState
from .snapshot import Snapshot

LEAVING = "~leaving"
"""What the name of a moved pod ends with where it still stands; no pod can be called so."""


def moving(snapshot: Snapshot, moved: Collection[PodKey]) -> Snapshot:
    """Return the cluster with the moved pods terminating on their nodes and pending elsewhere.

    Each waits under its own name, promised a place, so that it ranks as running work; its group has
    lacked it only since now. Pods that do not run are left as they are.
    """
    pods: list[Pod] = []
    promised = dict(snapshot.nominations)
    groups: set[GroupKey | None] = set()
    for p in snapshot.pods:
        if p.key not in moved or p.state is not PodState.RUNNING or p.node is None:
            pods.append(p)
            continue
        pods.append(replace(p, name=p.name + LEAVING, state=PodState.TERMINATING))
        pods.append(come_back(p, snapshot.taken_at_s))
        promised[p.key] = p.node
        groups.add(p.group)
    return replace(
        snapshot,
        pods=tuple(sorted(pods, key=lambda p: p.key)),
        groups=tuple(
            replace(g, broken_since_s=snapshot.taken_at_s) if g.key in groups else g
            for g in snapshot.groups
        ),
        nominations=tuple(sorted(promised.items())),
    )
