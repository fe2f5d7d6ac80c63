"""Devices that claims get (resource.k8s.io), one by one: who has which after the plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...models import Node, Plan, PodKey, Snapshot
from .occupancy import ORDER, WHOLE, Holder, Row, Stay

NAME = "claimed devices"


@dataclass(frozen=True)
class Claimed:
    """Ids of the devices of every claim and of every allocation of the plan."""

    by_claim: Mapping[str, tuple[str, ...]]
    by_start: Mapping[PodKey, tuple[str, ...]]

    def row(self, node: Node, here: Iterable[Stay]) -> Row | None:
        """Return a cell for each device of the node that shares nothing with others."""
        ids = [d.id for d in node.pool_devices if not d.counters]
        if not ids:
            return None
        holder_of = {d.id: Holder(None, "runs", 1.0) for d in node.pool_devices if d.taken}
        for s in sorted(here, key=lambda s: ORDER[s.state]):
            for device in self._devices(s):
                holder_of.setdefault(device, Holder(s.pod.group, s.state, 1.0))
        held = [holder_of.get(i) for i in ids]
        used = sum(h is not None and h.state != "leaving" for h in held)
        cells = tuple((h,) if h is not None else () for h in held)
        return Row(NAME, len(ids) * WHOLE, used * WHOLE, cells)

    def _devices(self, stay: Stay) -> tuple[str, ...]:
        named = (d for c in stay.pod.spec.claims for d in self.by_claim.get(c.claim, ()))
        own = stay.pod.claimed if stay.pod.holds else self.by_start.get(stay.pod.key, ())
        return (*own, *named)


def claimed_of(plan: Plan, snapshot: Snapshot) -> Claimed:
    """Return what claims have, and what the plan gives them."""
    starts: dict[PodKey, list[str]] = {}
    for a in plan.allocations:
        ids = [d.id for d in a.devices if not d.admin_access]
        starts.setdefault(a.pod, []).extend(ids)
    return Claimed(
        {c.key: c.devices for c in snapshot.claims if c.allocated},
        {pod: tuple(ids) for pod, ids in starts.items()},
    )
