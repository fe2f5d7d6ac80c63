"""Small crowded clusters in which pods claim devices: of their own, together, all, alternatives."""

from itertools import combinations
from random import Random

from msgspec.structs import replace

from apportion.models import (
    Claim,
    ClaimSpec,
    DeviceMatch,
    DeviceRequest,
    Node,
    NodeSelectorTerm,
    Pod,
    PodClaim,
    PodState,
    PoolDevice,
    Requirement,
    Snapshot,
)
from oracle.worlds import Size, world

ROOT, MEMORY = "dev.example.com/root", "dev.example.com/{}/card/memory"


CARDS = "dev.example.com/cards"
"""An extended resource that claims serve on nodes whose plug-in has none."""


def claiming(seed: int, size: Size) -> Snapshot:
    """Return the world of this seed with devices and claims."""
    return with_claims(world(seed, size), Random(f"claiming {size} {seed}"))


def with_claims(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with devices and claims."""
    nodes: dict[str, Node] = {n.name: _with_devices(rng, n) for n in base.nodes}
    claims = {key: Claim("a", key[2:], _spec(rng)) for key in ("a/s1", "a/s2")}
    free: dict[str, list[PoolDevice]] = {
        n.name: [d for d in n.pool_devices if not d.taken] for n in nodes.values()
    }
    specs: dict[str, tuple[PodClaim, ...]] = {}
    pods = []
    for p in base.pods:
        p = _pod(rng, p, specs)
        if p.holds and p.node not in nodes:
            p = replace(p, spec=replace(p.spec, claims=()))
        elif p.holds:
            p = _holding(p, nodes, free, claims)
        pods.append(p)
    return replace(
        base, nodes=tuple(nodes.values()), pods=tuple(pods), claims=tuple(claims.values())
    )


def _with_devices(rng: Random, node: Node) -> Node:
    parted = rng.random() < 0.3
    memory = MEMORY.format(node.name)
    devices = [
        PoolDevice(
            f"dev.example.com/{node.name}/d{n}",
            ("any", "big") if rng.random() < 0.5 else ("any",),
            {ROOT: rng.choice("xy")} if rng.random() < 0.9 else {},
            {memory: rng.choice((1, 1, 2))} if parted else {},
            taken=rng.random() < 0.1,
        )
        for n in range(rng.choice((0, 1, 2, 2, 3, 3)))
    ]
    counters = {memory: rng.choice((2, 3))} if parted else {}
    if rng.random() < 0.4:
        devices = [_in_parts(rng, d, counters) if rng.random() < 0.5 else d for d in devices]
    plugged = {CARDS: 1000} if rng.random() < 0.2 else {}
    return replace(node, pool_devices=tuple(devices), counters=counters, plugged=plugged)


def _in_parts(rng: Random, device: PoolDevice, counters: dict[str, int]) -> PoolDevice:
    """Return the device as one that may be allocated several times; its capacity is noted."""
    room = f"{device.id}/room"
    counters[room] = rng.choice((1, 2, 3))
    parts = {s: {room: rng.choice((1, 1, 2))} for s in device.selections}
    return replace(device, multiple=True, parts=parts)


def _request(rng: Random, name: str) -> tuple[DeviceRequest, ...]:
    kind = rng.choice(("any", "any", "big"))
    roll = rng.random()
    if roll < 0.1:
        return (DeviceRequest(name, kind, 0, all=True),)
    if roll < 0.2:
        return (DeviceRequest(name, kind, 1, admin=True),)
    if roll < 0.35:
        two = DeviceRequest(f"{name}/two", "big", 2)
        return two, DeviceRequest(f"{name}/one", "any", 1)
    resource = CARDS if rng.random() < 0.25 else ""
    return (DeviceRequest(name, kind, rng.choice((1, 1, 1, 2)), resource=resource),)


def _spec(rng: Random) -> ClaimSpec:
    requests = tuple(_request(rng, f"r{n}") for n in range(rng.choice((1, 1, 1, 2))))
    roll = rng.random()
    if roll < 0.25:
        return ClaimSpec(requests, (DeviceMatch(ROOT, distinct=roll < 0.05),))
    return ClaimSpec(requests)


def _pod(rng: Random, pod: Pod, specs: dict[str, tuple[PodClaim, ...]]) -> Pod:
    """Pods of one group mostly claim the same, so that some stay interchangeable."""
    name = str(pod.group)
    if name not in specs or rng.random() < 0.2:
        claims = [PodClaim("own", "", _spec(rng))] if rng.random() < 0.5 else []
        if rng.random() < 0.25:
            claims.append(PodClaim("shared", rng.choice(("a/s1", "a/s2"))))
        specs[name] = tuple(claims)
    return replace(pod, spec=replace(pod.spec, claims=specs[name]))


def _holding(
    pod: Pod, nodes: dict[str, Node], free: dict[str, list[PoolDevice]], claims: dict[str, Claim]
) -> Pod:
    """Give a running pod devices; where it gets none it has no claims."""
    assert pod.node is not None
    kept: list[PodClaim] = []
    devices: list[str] = []
    draws: dict[str, int] = {}
    for c in pod.spec.claims:
        if not c.claim:
            taken = _some(nodes[pod.node], free[pod.node], c.spec)
            if taken is not None:
                kept.append(c)
                devices += taken[0]
                draws |= {k: draws.get(k, 0) + n for k, n in taken[1].items()}
            continue
        claim = claims[c.claim]
        if not claim.allocated:
            taken = _some(nodes[pod.node], free[pod.node], claim.spec)
            if taken is None:
                continue
            term = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", (pod.node,)),))
            claims[c.claim] = replace(
                claim,
                allocated=True,
                devices=tuple(sorted(taken[0])),
                draws=taken[1],
                nodes=(term,),
            )
            kept.append(c)
        elif claim.nodes is not None and claim.nodes[0].matches({}, pod.node):
            kept.append(c)
    on = pod.state in (PodState.RUNNING, PodState.TERMINATING)
    spec = replace(pod.spec, claims=tuple(kept))
    ids = tuple(sorted(set(devices))) if on else ()
    return replace(pod, spec=spec, claimed=ids, draws=draws if on else {})


def _some(
    node: Node, free: list[PoolDevice], spec: ClaimSpec
) -> tuple[list[str], dict[str, int]] | None:
    """Take devices for the first alternative of each request, without a look at what they share.

    Of one that may be allocated several times: a part, and it stays as free as it was.
    """
    taken: list[PoolDevice] = []
    draws: dict[str, int] = {}
    for of in spec.requests:
        r = of[0]
        if r.admin:
            continue
        able = [d for d in free if r.selection in d.selections and d not in taken]
        need = sum(r.selection in d.selections for d in node.pool_devices) if r.all else r.count
        if len(able) < max(1, need):
            return None
        chosen = next(iter(combinations(able, max(1, need))))
        taken += chosen
        for d in chosen:
            draws |= {k: draws.get(k, 0) + n for k, n in d.parts.get(r.selection, {}).items()}
    for d in taken:
        if not d.multiple:
            free.remove(d)
    return [d.id for d in taken], draws
