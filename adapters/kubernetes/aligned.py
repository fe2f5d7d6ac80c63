"""What a pod asks of NUMA cells, what it holds of them, and which kubelets have refused its kind.

A pod is of class Guaranteed where every container's cpu and memory have limits and requests that
are the same; its whole CPUs, memory and huge pages are then handed out by cell, devices always are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from ...models import AlignedAsk, Amounts, CellShare, PodSpec
from ...models.quantity import parse
from .body_pod import ContainerBody, PodBody, PodSpecBody, ResourcesBody
from .faults import Faults
from .meta import Thing
from .numa import POLICIES, NumaReports
from .resources import amounts
from .world import World

NUMA_POLICY = "volcano.sh/numa-topology-policy"
_OBSERVED = "kai.scheduler/numa-placement-observed"
_PREDICTED = "kai.scheduler/numa-placement-predicted"
_DECISION = "volcano.sh/topology-decision"
REFUSED = frozenset(("TopologyAffinityError", "Topology Affinity Error"))
_ZONE = re.compile(r"(node-?|numa-?)?[0-9]{1,6}")
REFUSALS = 3
"""After so many refusals no pod of the same owner is sent to the node,"""
WHILE_S = 600
"""as long as they are no older than this."""


class ZoneShare(msgspec.Struct):
    """One entry of KAI's annotation of where a pod lies."""

    zone: str
    amount: dict[str, str | int]


class Decision(msgspec.Struct):
    """Volcano's annotation of where a pod is to lie: cell to resource to CPUs."""

    numa: dict[str, dict[str, str]] = {}


def with_cells(spec: PodSpec, thing: Thing, world: World, faults: Faults) -> PodSpec:
    """Return the spec with what it asks of NUMA cells, as far as the input speaks of cells."""
    refused = world.refusals.get(_family(thing), ())
    if not world.numa.nodes and not refused:
        return spec
    body: PodSpecBody = thing.body.spec or PodSpecBody()
    return msgspec.structs.replace(
        spec,
        aligned=aligned_asks(body) if world.numa.nodes else (),
        numa_policy=_policy(thing, body, world),
        refused_by=tuple(refused),
    )


def marks_of(thing: Thing, world: World) -> tuple[object, ...]:
    """Return what, besides its spec, decides about cells; nothing where nobody speaks of them."""
    refused = world.refusals.get(_family(thing), ())
    if not world.numa.nodes:
        return tuple(refused)
    return (thing.annotations.get(NUMA_POLICY), *refused)


def aligned_asks(body: PodSpecBody) -> tuple[AlignedAsk, ...]:
    """Return what each container asks of cells, in order of start; some ask nothing."""
    containers = [
        *((c, c.restart_policy != "Always") for c in body.init_containers or ()),
        *((c, False) for c in body.containers or ()),
    ]
    exclusive = body.resources is None and all(_is_guaranteed(c) for c, _ in containers)
    out = []
    for c, init in containers:
        asked = {r: v for r, v in _requests(c).items() if _is_aligned(r, v, exclusive)}
        if asked:
            out.append(AlignedAsk(Amounts(asked), init))
    return tuple(out)


def _is_aligned(resource: str, amount: int, exclusive: bool) -> bool:
    if resource == "cpu":
        return exclusive and amount % 1000 == 0
    if resource == "memory" or resource.startswith("hugepages-"):
        return exclusive
    return "/" in resource and not resource.startswith("kubernetes.io/")


def _requests(c: ContainerBody) -> dict[str, int]:
    of = c.resources or ResourcesBody()
    asked = amounts(of.limits, "", Faults())
    asked.update(amounts(of.requests, "", Faults()))
    return {r: v for r, v in asked.items() if v}


def _is_guaranteed(c: ContainerBody) -> bool:
    limits = amounts((c.resources or ResourcesBody()).limits, "", Faults())
    asked = _requests(c)
    return all(limits.get(r) and limits[r] == asked[r] for r in ("cpu", "memory"))


def is_guaranteed(body: PodSpecBody) -> bool:
    """Say whether the kubelet gives the pod's containers exclusive CPUs."""
    both = [*(body.init_containers or ()), *(body.containers or ())]
    return body.resources is None and all(map(_is_guaranteed, both))


def _policy(thing: Thing, body: PodSpecBody, world: World) -> str:
    """Return the policy that Volcano's annotation asks of the node; none if it does not count."""
    written = thing.annotations.get(NUMA_POLICY) or "none"
    if written not in POLICIES:
        world.ledger.warn(
            thing.title,
            f'metadata.annotations["{NUMA_POLICY}"]',
            f"{written[:40]!r} is no policy, so any node will do; write {', '.join(POLICIES)}",
        )
        return "none"
    return written if world.numa.nodes and is_guaranteed(body) else "none"


# What running pods hold


def cells_of(thing: Thing, world: World) -> tuple[CellShare, ...]:
    """Return what the pod is said to hold of cells: observed, given, decided or foreseen."""
    reports: NumaReports = world.numa
    if not reports.nodes:
        return ()
    found = _zones(thing, _OBSERVED, world)
    if not found:
        found = reports.pods.get(thing.uid or "") or reports.pods.get(thing.key) or ()
    found = found or _decided(thing, world) or _zones(thing, _PREDICTED, world)
    return found or _noted(thing)


def _zones(thing: Thing, key: str, world: World) -> tuple[CellShare, ...]:
    written = thing.annotations.get(key)
    if not written or written == "null":
        return ()
    try:
        shares = msgspec.json.decode(written, type=list[ZoneShare])
        out = [
            CellShare(_number(s.zone), Amounts({r: parse(v, r) for r, v in s.amount.items()}))
            for s in shares
        ]
    except ValueError as e:
        _odd(thing, key, e, world)
        return ()
    return tuple(sorted(out, key=lambda s: s.cell))


def _noted(thing: Thing) -> tuple[CellShare, ...]:
    """Return the cell of an annotation ``numa``, under whatever prefix."""
    for key, written in sorted(thing.annotations.items()):
        if key.rpartition("/")[2] == "numa" and _ZONE.fullmatch(written):
            return (CellShare(_number(written), Amounts()),)
    return ()


def _decided(thing: Thing, world: World) -> tuple[CellShare, ...]:
    written = thing.annotations.get(_DECISION)
    if not written:
        return ()
    try:
        decision = msgspec.json.decode(written, type=Decision)
        out = []
        for cell, sets in decision.numa.items():
            amounts_ = {"cpu": 1000 * _count(sets["cpu"])} if "cpu" in sets else {}
            out.append(CellShare(_number(cell), Amounts(amounts_)))
    except ValueError as e:
        _odd(thing, _DECISION, e, world)
        return ()
    return tuple(sorted(out, key=lambda s: s.cell))


def _number(zone: str) -> int:
    found = re.search(r"(?<![0-9])([0-9]{1,6})$", zone)
    if found is None:
        raise ValueError(f"{zone[:40]!r} is no cell such as node-0")
    return int(found[1])


def _count(cpus: str) -> int:
    """Return how many CPUs a list such as 0-3,8 names."""
    n = 0
    for part in cpus.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and len(first + last) < 13):
            raise ValueError(f"{part[:40]!r} is no CPU or range of CPUs")
        n += max(0, int(last or first) - int(first) + 1)
    return n


def _odd(thing: Thing, key: str, error: ValueError, world: World) -> None:
    world.ledger.warn(
        thing.title,
        f'metadata.annotations["{key}"]',
        f"cannot be read ({error}), so where the pod lies is not known",
    )


# Refusals


def refusals(pods: Iterable[Thing], now_s: int) -> Mapping[str, tuple[str, ...]]:
    """Return, by owner, the nodes whose kubelets refused three of its pods within ten minutes."""
    counts: Counter[tuple[str, str]] = Counter()
    for thing in pods:
        body: PodBody = thing.body
        status, spec = body.status, body.spec
        if status is None or spec is None or status.reason not in REFUSED:
            continue
        family = _family(thing)
        recent = thing.created_s is None or now_s - thing.created_s <= WHILE_S
        if status.phase == "Failed" and family and spec.node_name and recent:
            counts[family, spec.node_name] += 1
    out: dict[str, list[str]] = {}
    for (family, node), n in sorted(counts.items()):
        if n >= REFUSALS:
            out.setdefault(family, []).append(node)
    return {family: tuple(nodes) for family, nodes in out.items()}


def _family(thing: Thing) -> str:
    o = thing.owner
    return f"{thing.namespace}/{o.kind}/{o.name}" if o is not None else ""
