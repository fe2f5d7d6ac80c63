"""Several families of rules at once: shares, slices, claims, cells, levels, volumes.

A family concerns some of the groups only: if everybody asked for everything, nobody would start.
"""

from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from apportion.models import Amounts, Device, DeviceShare, GroupKey, Node, Pod, PodSpec, Snapshot
from oracle.cell_worlds import with_cells
from oracle.claiming import with_claims
from oracle.leveled import with_levels
from oracle.share_worlds import charged_by_memory, with_shares
from oracle.stored import with_volumes
from oracle.worlds import CPU, GPU

WHOLE_GPU = "nvidia.com/gpu (whole)"
"""What a pod asks for of whole GPUs, where it asks for slices too."""
DCU = "hygon.com/dcunum"
SLICES = ("nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb")
MIXED = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/mig.strategy": "mixed"}
Family = Callable[[Snapshot, Random], Snapshot]


def mixed(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with two families at least."""
    chosen = [f for f in FAMILIES if rng.random() < 0.5]
    while len(chosen) < 2:
        chosen = [f for f in FAMILIES if f in chosen or rng.random() < 0.3]
    if rng.random() < 0.6:
        base = _with_many_cores(base)
    for family in chosen:
        spared = {g.key for g in base.groups if rng.random() < 0.35}
        base = _sparing(base, family(base, rng), spared)
    return base


def _with_many_cores(base: Snapshot) -> Snapshot:
    """Double the cores, so that other things are what is short."""
    nodes = tuple(_offering(n, {CPU: n.allocatable[CPU]}) for n in base.nodes)
    return replace(base, nodes=nodes)


def _sparing(before: Snapshot, after: Snapshot, spared: set[GroupKey]) -> Snapshot:
    """Return the second cluster with the groups of these keys as they were."""
    pods, groups = before.pods_by_key, before.groups_by_key
    return replace(
        after,
        pods=tuple(pods[p.key] if p.group in spared else p for p in after.pods),
        groups=tuple(groups[g.key] if g.key in spared else g for g in after.groups),
    )


def _with_shares(base: Snapshot, rng: Random) -> Snapshot:
    """Give every node devices, and shares of the dialects."""
    if not any(n.allocatable[GPU] for n in base.nodes):
        nodes = [_offering(n, {GPU: rng.choice((1, 2, 2, 3)) * 1000}) for n in base.nodes]
        base = replace(base, nodes=tuple(nodes))
    base = with_shares(base, rng)
    by = rng.choice(("hami", "hami", "volcano", "gpushare"))
    specs: dict[PodSpec, PodSpec] = {}
    for p in base.pods:
        if p.spec not in specs:
            share = None if p.spec.share is None else _of_dialect(p.spec.share, by, rng)
            specs[p.spec] = replace(p.spec, share=share)
    base = replace(
        base,
        nodes=tuple(_speaking(n, by, rng) for n in base.nodes),
        pods=tuple(replace(p, spec=specs[p.spec]) for p in base.pods),
    )
    return _with_dcus(base, rng) if by == "hami" and rng.random() < 0.4 else base


def _with_dcus(base: Snapshot, rng: Random) -> Snapshot:
    """Give some nodes devices of another vendor; some of the shares that wait ask for those."""
    busy = {p.node for p in base.pods if p.holds and (p.spec.share or p.spec.requests[GPU])}
    nodes = [
        _of_dcus(n) if n.name not in busy and n.devices and rng.random() < 0.6 else n
        for n in base.nodes
    ]
    wanting = {g.key for g in base.groups if rng.random() < 0.6}
    pods: list[Pod] = []
    for p in base.pods:
        share = p.spec.share
        if share is not None and share.by == "hami" and not p.holds and p.group in wanting:
            asks = dict(p.spec.requests)
            asks[DCU] = asks.pop(GPU)
            of = replace(share, resource=DCU, models=(), mode="")
            p = replace(p, spec=replace(p.spec, share=of, requests=Amounts(asks)))
        pods.append(p)
    return _charged(replace(base, nodes=tuple(nodes), pods=tuple(pods)))


def _charged(base: Snapshot) -> Snapshot:
    """Charge shares by memory anew: the smallest device may be of another resource by now."""
    gpus = [n for n in base.nodes if n.device_resource == GPU]
    sizes = [d.memory_mib for n in gpus for d in n.devices if d.memory_mib]
    pods = [
        replace(p, spec=charged_by_memory(p.spec, min(sizes)))
        if sizes and p.spec.share is not None and p.spec.share.memory_mib
        else p
        for p in base.pods
    ]
    return replace(base, pods=tuple(pods))


def _of_dcus(node: Node) -> Node:
    offers = dict(node.allocatable)
    offers[DCU] = offers.pop(GPU)
    return replace(node, allocatable=Amounts(offers), hands_out=("hami",), device_resource=DCU)


def _of_dialect(share: DeviceShare, by: str, rng: Random) -> DeviceShare:
    if share.by != "hami":
        return share
    mode = "hami-core" if by != "gpushare" and rng.random() < 0.2 else ""
    models = ("a100",) if by == "hami" and rng.random() < 0.1 else ()
    return replace(share, by=by, mode=mode, models=models)


def _speaking(node: Node, by: str, rng: Random) -> Node:
    ways = tuple(sorted(by if w == "hami" else w for w in node.hands_out))
    model = rng.choice(("", "NVIDIA-A100", "NVIDIA-H100"))
    devices = tuple(_odd(d, rng) for d in node.devices)
    return replace(node, hands_out=ways, devices=tuple(replace(d, model=model) for d in devices))


def _odd(device: Device, rng: Random) -> Device:
    odd = rng.random()
    return replace(device, mode="mig") if odd < 0.05 else replace(device, healthy=odd < 0.95)


def _with_slices(base: Snapshot, rng: Random) -> Snapshot:
    """Give nodes MIG slices; pods ask for one."""
    specs: dict[PodSpec, PodSpec] = {}
    pods: list[Pod] = []
    for p in base.pods:
        if p.spec not in specs:
            asks = {} if rng.random() < 0.5 else {rng.choice(SLICES): 1000}
            if asks and p.spec.share is None:
                asks[WHOLE_GPU] = p.spec.requests[GPU]
            specs[p.spec] = replace(p.spec, requests=p.spec.requests.plus(asks))
        pods.append(replace(p, spec=specs[p.spec]))
    nodes = []
    for n in base.nodes:
        held = Amounts().plus({r: sum(p.spec.requests[r] for p in pods if p.node == n.name)
                               for r in SLICES})  # fmt: skip
        offer = {SLICES[0]: rng.choice((0, 1, 2, 2)), SLICES[1]: rng.choice((0, 0, 1, 1))}
        n = _offering(n, {r: max(1000 * k, held[r]) for r, k in offer.items()})
        n = _offering(n, {WHOLE_GPU: n.allocatable[GPU]})
        nodes.append(replace(n, labels={**n.labels, **MIXED}) if rng.random() < 0.5 else n)
    return replace(base, nodes=tuple(nodes), pods=tuple(pods))


def _offering(node: Node, more: dict[str, int]) -> Node:
    return replace(node, allocatable=node.allocatable.plus(more))


FAMILIES: tuple[Family, ...] = (
    with_levels,
    _with_shares,
    _with_slices,
    with_volumes,
    with_claims,
    with_cells,
)
"""In this order: cells are laid over all that a pod asks for."""
