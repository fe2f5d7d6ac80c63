"""Random worlds in which some pods ask for shares of devices; small enough to try every plan."""

from random import Random
from typing import Any

from msgspec.structs import replace

from apportion.models import Amounts, Device, DeviceShare, Node, Pod, PodSpec, Snapshot
from oracle.build import Members, node, queue, snapshot
from oracle.devices import can_be_on
from oracle.worlds import CPU, GPU, Size, world

PARTS = (200_000, 250_000, 300_000, 400_000, 500_000, 500_000, 600_000, 700_000, 1_000_000)
SIZES = (10, 30, 40, 50, 70, 100, 150)


def sharing(seed: int, size: Size) -> Snapshot:
    """Return a world with shares; equal seeds give equal worlds."""
    rng = Random(f"shares {seed}")
    return with_shares(_with_devices(seed, size), rng)


def with_shares(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with devices one by one, and shares of them."""
    by_memory = rng.random() < 0.4
    nodes = tuple(_node(n, by_memory, rng) for n in base.nodes)
    least = min((d.memory_mib for n in nodes for d in n.devices), default=100)
    specs: dict[PodSpec, PodSpec] = {}
    pods: list[Pod] = []
    for p in base.pods:
        if p.spec not in specs:
            specs[p.spec] = _shared(p.spec, by_memory, least, rng)
        pods.append(replace(p, spec=specs[p.spec]))
    of: dict[str, Node] = {n.name: n for n in nodes}
    for k, p in enumerate(pods):
        if p.holds and p.node in of and rng.random() < 0.6:
            pods[k] = _on_devices(p, of[p.node], [q for q in pods if q.node == p.node], rng)
    return replace(base, nodes=nodes, pods=tuple(pods))


def crowded(seed: int) -> Snapshot:
    """Return one or two nodes, shares that run there, and single pods of higher priority."""
    rng = Random(f"crowded {seed}")
    nodes = [
        _node(node(f"n{k}", 30, rng.choice((1, 2, 2, 3))), False, rng)
        for k in range(rng.choice((1, 1, 2)))
    ]
    made: list[Members] = []
    there: dict[str, list[Pod]] = {n.name: [] for n in nodes}
    for k in range(rng.randint(0, 5)):
        on = rng.choice(nodes)
        group = _single(f"r{k}", rng, on=[on.name])
        if can_be_on(on, [*there[on.name], *group.pods]):
            group.pods = [_on_devices(group.pods[0], on, there[on.name], rng)]
            there[on.name] += group.pods
            made.append(group)
    made += [_single(f"p{k}", rng, waiting=1, priority=5) for k in range(rng.randint(2, 6))]
    return snapshot(queue("q"), *nodes, *made)


def instances(seed: int) -> Snapshot:
    """Return one node with cards cut into instances, and pods that want some of several cards."""
    rng = Random(f"instances {seed}")
    cards = [rng.choice((1, 2, 2, 3)) for _ in range(rng.randint(1, 3))]
    devices = tuple(
        Device(rng.choice((10, 20)), 1, card=k) for k, n in enumerate(cards, 1) for _ in range(n)
    )
    on = replace(node("n", 30, len(devices)), devices=devices, hands_out=("volcano",))
    made: list[Members] = []
    for k in range(rng.randint(0, 2)):
        group = _of_cards(f"r{k}", rng, on=["n"])
        if can_be_on(on, [p for m in (*made, group) for p in m.pods]):
            there = [p for m in made for p in m.pods]
            group.pods = [_on_devices(group.pods[0], on, there, rng)]
            if can_be_on(on, [*there, *group.pods]):
                made.append(group)
    made += [_of_cards(f"p{k}", rng, waiting=1, priority=5) for k in range(rng.randint(2, 4))]
    return snapshot(queue("q"), on, *made)


def _of_cards(name: str, rng: Random, **more: Any) -> Members:
    group = Members(name, "q", **more)
    n, most = rng.choice((1, 2, 2, 3)), rng.choice((0, 1, 1, 2))
    share = DeviceShare("volcano", n, memory_mib=rng.choice((10, 10, 20)), per_card=most)
    asks = Amounts({CPU: 1000, GPU: n * 1000})
    group.pods = [replace(p, spec=PodSpec(asks, share=share)) for p in group.pods]
    return group


def _single(name: str, rng: Random, **more: Any) -> Members:
    group = Members(name, "q", gpus=1, **more)
    spec = group.pods[0].spec
    if rng.random() < 0.8:
        spec = _shared(spec, False, 100, rng)
    group.pods = [replace(p, spec=spec) for p in group.pods]
    return group


def _with_devices(seed: int, size: Size) -> Snapshot:
    """Return the next world in which all nodes have devices and some pod asks for one."""
    at = 1000 * seed
    while True:
        base = world(at, size)
        every = all(n.allocatable[GPU] for n in base.nodes)
        if every and any(p.spec.requests[GPU] for p in base.pods):
            return base
        at += 1


def _node(node: Node, by_memory: bool, rng: Random) -> Node:
    n = node.allocatable[GPU] // 1000
    mib = rng.choice((100, 100, 150, 200)) if by_memory else 100
    slots = rng.choice((0, 0, 0, 2))
    ways = ("whole",) if rng.random() < 0.05 else ("hami", "reservation", "whole")
    # Cores are plenty, so that devices are what is short.
    offers = node.allocatable.plus({CPU: node.allocatable[CPU]})
    return replace(node, allocatable=offers, devices=(Device(mib, slots),) * n, hands_out=ways)


def _shared(spec: PodSpec, by_memory: bool, least: int, rng: Random) -> PodSpec:
    if rng.random() < (0.2 if spec.requests[GPU] else 0.4):
        return spec
    devices = 2 if rng.random() < 0.1 else 1
    if by_memory and rng.random() < 0.7:
        share = DeviceShare("reservation", devices, memory_mib=rng.choice(SIZES))
        return charged_by_memory(replace(spec, share=share), least)
    if rng.random() < 0.25:
        cores, ppm = rng.choice((0, 30, 50, 100)), rng.choice(PARTS)
        share = DeviceShare("hami", devices, memory_ppm=ppm, cores_percent=cores)
        each = max(ppm // 1000, cores * 10)
    else:
        ppm = rng.choice(PARTS)
        share = DeviceShare("reservation", devices, memory_ppm=ppm)
        each = ppm // 1000
    requests = Amounts({**spec.requests, GPU: each * devices})
    return replace(spec, share=share, requests=requests)


def charged_by_memory(spec: PodSpec, least: int) -> PodSpec:
    """Return the spec of a share by memory, charged as its part of the smallest device."""
    assert spec.share is not None
    each = min(1000, spec.share.memory_mib * 1000 // least)
    return replace(spec, requests=Amounts({**spec.requests, GPU: each * spec.share.devices}))


def _on_devices(pod: Pod, node: Node, there: list[Pod], rng: Random) -> Pod:
    """Say on which devices a running pod is, where that is possible beside the others."""
    share = pod.spec.share
    wanted = share.devices if share is not None else pod.spec.requests[GPU] // 1000
    n = len(node.devices)
    for _ in range(6):
        if not 0 < wanted <= n:
            break
        at = replace(pod, devices=tuple(sorted(rng.sample(range(n), wanted))))
        if can_be_on(node, [at, *(q for q in there if q.key != pod.key)]):
            return at
    return pod
