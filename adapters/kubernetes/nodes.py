"""Nodes: what they offer, their taints, and whether they are ready."""

from collections.abc import Mapping

from msgspec.structs import replace

from ...models import Amounts, Node, NodeName, Taint
from .body_node import NodeBody, NodeSpecBody, NodeStatusBody
from .faults import Faults, Ledger
from .meta import Thing
from .npus import npu_blocks
from .resources import amounts

USUAL_PODS = 110
"""What a kubelet takes by default; for manifests that do not say it."""

_ATTACHABLE = "attachable-volumes-csi-"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_of(thing: Thing, ledger: Ledger) -> Node | None:
    """Return the node; None if it is bad (then rejected)."""
    body: NodeBody = thing.body
    spec, status = body.spec or NodeSpecBody(), body.status or NodeStatusBody()
    faults = Faults()
    part = "allocatable" if status.allocatable else "capacity"
    raw = status.allocatable or status.capacity
    offered = amounts(raw, f"status.{part}", faults)
    taints = _taints(spec, faults)
    if faults:
        ledger.reject(thing.title, faults)
        return None
    if not offered:
        ledger.warn(
            thing.title, "status.allocatable", "is missing, so nothing that asks for anything fits"
        )
    offered.setdefault("pods", USUAL_PODS)
    node = Node(
        name=NodeName(thing.name),
        allocatable=Amounts(offered),
        labels=thing.labels,
        taints=taints,
        unschedulable=bool(spec.unschedulable) or thing.deleted_s is not None,
        ready=_is_ready(status),
        created_s=thing.created_s or 0,
        drivers=_attachable(offered),
    )
    blocks = npu_blocks(node, thing)
    return replace(node, blocks=blocks) if blocks else node


def _attachable(offered: Mapping[str, int]) -> dict[str, int | None]:
    """Return the limits that nodes published before there were CSINodes."""
    return {
        r.removeprefix(_ATTACHABLE): n // 1000
        for r, n in offered.items()
        if r.startswith(_ATTACHABLE)
    }


def _taints(spec: NodeSpecBody, faults: Faults) -> tuple[Taint, ...]:
    out = []
    for i, t in enumerate(spec.taints or ()):
        if not t.key:
            faults.add(f"spec.taints[{i}].key", "is missing; write the taint's key")
        if t.effect not in _EFFECTS:
            faults.add(
                f"spec.taints[{i}].effect",
                f"{t.effect!r} is no effect; write {', '.join(_EFFECTS)}",
            )
        out.append(Taint(t.key or "", t.effect or "", t.value or ""))
    return tuple(sorted(out))


def _is_ready(status: NodeStatusBody) -> bool:
    """Say whether the node is ready; one without that condition (hand-written) counts as ready."""
    return all(c.status == "True" for c in status.conditions or () if c.type == "Ready")
