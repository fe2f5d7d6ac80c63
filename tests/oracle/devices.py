"""Shares of devices, tried one by one: which pods may be on a node's devices together.

Parts of a device are exact fractions of its memory and of its cores. A share whose pod says where
it is stays there; the others may be anywhere. Whole devices are devices that no share is on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import combinations

from apportion.models import Device, DeviceShare, Node, Pod, Snapshot
from oracle.cluster import Cluster

GPU = "nvidia.com/gpu"


def hands_out(pod: Pod, node: Node) -> bool:
    """Say whether the node's devices get to the pod at all, one by one."""
    share = pod.spec.share
    if share is None:
        whole = pod.spec.requests[GPU] >= 1000
        return not (whole and node.devices) or "whole" in node.hands_out
    able = sum(suits(share, d) and memory_of(share, d) <= 1 for d in node.devices)
    alike = share.resource == node.device_resource
    return alike and share.by in node.hands_out and able >= share.devices


def suits(share: DeviceShare, device: Device) -> bool:
    model = device.model.lower()
    return (
        device.healthy
        and (share.mode == device.mode or "" in (share.mode, device.mode))
        and (not share.models or any(w in model for w in share.models))
        and not any(w in model for w in share.not_models)
        and (not share.uuids or device.uuid in share.uuids)
        and device.uuid not in share.not_uuids
    )


def memory_of(share: DeviceShare, device: Device) -> Fraction:
    """Return the part of the device's memory; above 1 where that is not enough or not known."""
    part = Fraction(share.memory_ppm, 1_000_000)
    if share.memory_mib:
        known = device.memory_mib or Fraction(1, 1_000_000_000)
        part = max(part, Fraction(share.memory_mib) / known)
    return Fraction(1) if share.cores_percent == 100 else part


def device_problems(c: Cluster, places: Mapping[int, int], gone: AbstractSet[int]) -> Iterator[str]:
    for n in sorted(set(places.values())):
        node = c.nodes[n]
        coming = [c.pods[i] for i, m in places.items() if m == n]
        if not node.devices or not any(_uses(p) for p in coming):
            continue
        here = [c.pods[i] for i in c.sitting if c.node_of[i] == n and i not in gone]
        if not can_be_on(node, [*here, *coming]):
            yield f"devices: {node.name}"


def _uses(pod: Pod) -> bool:
    return pod.spec.share is not None or pod.spec.requests[GPU] >= 1000


def can_be_on(node: Node, pods: Iterable[Pod]) -> bool:
    """Say whether some way to give devices to the pods keeps within each device."""
    pods = [p for p in pods if _uses(p)]
    shares = [(p, p.spec.share) for p in pods if p.spec.share is not None]
    wholes = [p for p in pods if p.spec.share is None]
    whole = sum(p.spec.requests[GPU] // 1000 for p in wholes)
    held = {d for p in wholes for d in p.devices}
    on: list[list[DeviceShare]] = [[] for _ in node.devices]
    for p, share in shares:
        for d in p.devices:
            on[d].append(share)
    loose = [share for p, share in shares if not p.devices]
    overfull = [d for d, _ in enumerate(on) if not _within(node.devices[d], on[d])]
    healthy = sum(d.healthy for d in node.devices)

    def place(k: int) -> bool:
        used = {d for d, some in enumerate(on) if some}
        if sum(node.devices[d].healthy for d in used) + whole > healthy or used & held:
            return False
        if k == len(loose):
            return True
        free = [
            d
            for d, device in enumerate(node.devices)
            if d not in held
            and d not in overfull
            and suits(loose[k], device)
            and _within(device, [*on[d], loose[k]])
        ]
        for some in combinations(free, loose[k].devices):
            parts = [c for d in some if (c := node.devices[d].card)]
            most = loose[k].per_card
            if most and any(parts.count(c) > most for c in parts):
                continue
            for d in some:
                on[d].append(loose[k])
            done = place(k + 1)
            for d in some:
                on[d].pop()
            if done:
                return True
        return False

    return place(0)


def _within(device: Device, shares: Sequence[DeviceShare]) -> bool:
    if device.slots and len(shares) > device.slots:
        return False
    cores = sum(s.cores_percent for s in shares)
    counted = [s for s in shares if s.by in ("hami", "volcano")]
    if cores > 100 or (cores == 100 and any(not s.cores_percent for s in counted)):
        return False
    return sum(memory_of(s, device) for s in shares) <= 1


def beyond_charges(snapshot: Snapshot) -> list[int]:
    """Return, by node, how much more could be charged on its devices than they count as.

    A share of so many MiB is charged by the smallest device of its resource.
    """
    gpus = [n.devices if n.device_resource == GPU else () for n in snapshot.nodes]
    sizes = [d.memory_mib for some in gpus for d in some if d.memory_mib]
    if not sizes or not any(p.spec.share and p.spec.share.memory_mib for p in snapshot.pods):
        return [0] * len(snapshot.nodes)
    least = min(sizes)
    return [
        sum(-(-1000 * d.memory_mib // least) - 1000 for d in some if d.memory_mib) for some in gpus
    ]
