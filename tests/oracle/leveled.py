"""Random clusters with levels: racks and blocks, groups and subgroups that ask for them."""

from random import Random

from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Group,
    Level,
    Node,
    NodeName,
    Pod,
    Snapshot,
    Subgroup,
    Topology,
    TopologyRequest,
)
from oracle.worlds import Size, world

NET = "net"


def leveled(seed: int, size: Size) -> Snapshot:
    """Return the world of this seed, with more nodes, levels over them, and requests."""
    return with_levels(world(seed, size), Random(f"levels {size} {seed}"))


def with_levels(base: Snapshot, rng: Random) -> Snapshot:
    """Return the cluster with more nodes, levels over them, and requests."""
    nodes = [*base.nodes, *(_twin(rng, base.nodes[0], i) for i in range(rng.choice((0, 1, 1))))]
    topology = _topology(rng, nodes)
    groups = []
    pods = list(base.pods)
    for g in base.groups:
        groups.append(_asking(rng, g, pods))
    return replace(
        base, nodes=tuple(nodes), groups=tuple(groups), pods=tuple(pods), topologies=(topology,)
    )


def _twin(rng: Random, node: Node, i: int) -> Node:
    cpu = rng.choice((1, 2, 3))
    labels = {**node.labels, "kubernetes.io/hostname": f"x{i}"}
    return Node(NodeName(f"x{i}"), Amounts({"cpu": cpu * 1000, "pods": 20}), labels)


def _topology(rng: Random, nodes: list[Node]) -> Topology:
    racks: dict[str, list[str]] = {}
    blocks: dict[str, list[str]] = {}
    for n in nodes:
        if rng.randrange(8) == 0:
            continue
        rack = rng.choice("abc")
        racks.setdefault(rack, []).append(n.name)
        block = "left" if rack == "a" else "right"
        blocks.setdefault(block, []).append(n.name)
    return Topology(
        NET,
        (
            Level("block", {k: tuple(v) for k, v in blocks.items()}),
            Level("rack", {k: tuple(v) for k, v in racks.items()}),
        ),
    )


def _asking(rng: Random, g: Group, pods: list[Pod]) -> Group:
    mine = [i for i, p in enumerate(pods) if p.group == g.key]
    whole = _request(rng) if rng.randrange(3) else None
    subgroups: dict[str, Subgroup] = {}
    if len(mine) > 1 and rng.randrange(3) == 0:
        for i in mine:
            name = rng.choice(("s", "s", "t", ""))
            if name:
                subgroups.setdefault(name, Subgroup(name, _request(rng)))
                pods[i] = replace(pods[i], subgroups=(name,))
    return replace(g, topology=whole, subgroups=tuple(subgroups[n] for n in sorted(subgroups)))


def _request(rng: Random) -> TopologyRequest:
    required = rng.choice(("rack", "rack", "rack", "block", ""))
    preferred = rng.choice(("rack", "rack", ""))
    return TopologyRequest(NET, required, preferred)
