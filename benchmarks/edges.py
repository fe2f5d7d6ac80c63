"""Edges: clusters that are simple to describe and hard on schedulers.

A cluster full of single-GPU pods and a gang that may not, or may, take their place; many single
pods onto empty nodes; one gang that fills a cluster and wants to be near itself.
"""

import random

from apportion.models import (
    Amounts,
    Budget,
    Group,
    LabelSelector,
    Level,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Requirement,
    Snapshot,
    Topology,
    TopologyRequest,
    snapshot_of,
)

from .instances import GIB, GPU, NOW_S

OLD, NEW = QueueName("old"), QueueName("new")
ONE = PodSpec(Amounts({"cpu": 4000, "memory": 32 * GIB, GPU: 1000}))
EIGHT = PodSpec(Amounts({"cpu": 32_000, "memory": 256 * GIB, GPU: 8000}))
PRIORITIES = (0, 10, 50, 100, 500)


def _nodes(n: int) -> list[Node]:
    amounts = Amounts({"cpu": 96_000, "memory": 768 * GIB, GPU: 8000, "pods": 110})
    return [
        Node(
            NodeName(f"node-{i:05d}"), amounts,
            {"kubernetes.io/hostname": f"node-{i}", "rack": f"rack-{i // 16}",
             "block": f"block-{i // 128}"},
        )
        for i in range(n)
    ]  # fmt: skip


def _pods(group: Group, count: int, spec: PodSpec) -> list[Pod]:
    return [
        Pod(
            group.namespace, f"{group.name}-{j}", spec, PodState.PENDING, group.key,
            priority=group.priority, created_s=group.created_s,
        )
        for j in range(count)
    ]  # fmt: skip


def _full(nodes: list[Node], mixed: bool, seed: int) -> tuple[list[Group], list[Pod], list[Budget]]:
    """Fill every GPU with a single-GPU pod of the old queue; mixed: all priorities and ages."""
    rng = random.Random(seed)
    groups: list[Group] = []
    pods: list[Pod] = []
    for i, node in enumerate(nodes):
        for k in range(8):
            age = rng.randrange(600, 90_000) if mixed else 3600
            priority = rng.choice(PRIORITIES) if mixed else 0
            guarded = mixed and rng.random() < 0.1
            g = Group("old", f"old-{i}-{k}", OLD, priority=priority, created_s=NOW_S - age)
            groups.append(g)
            pods.append(
                Pod(
                    "old", g.name, ONE, PodState.RUNNING, g.key, node=node.name,
                    labels={"guarded": f"b{i % 20}"} if guarded else {}, priority=priority,
                    created_s=g.created_s, started_s=g.created_s + 30,
                )
            )  # fmt: skip
    budgets = [
        Budget(
            "old", f"b{b}", LabelSelector((Requirement("guarded", "In", (f"b{b}",)),)),
            max(1, len(nodes) // 50),
        )
        for b in range(20)
    ] if mixed else []  # fmt: skip
    return groups, pods, budgets


def inside_their_due(nodes: int = 500, gang: int = 10) -> Snapshot:
    """Return a full cluster whose work is inside its due, and a gang that can get nothing."""
    of = _nodes(nodes)
    groups, pods, _ = _full(of, mixed=False, seed=1)
    g = Group("new", "gang", NEW, minimum=gang, priority=100, created_s=NOW_S - 60)
    whole = 8000 * nodes
    return snapshot_of(
        taken_at_s=NOW_S, nodes=of, groups=[*groups, g], pods=[*pods, *_pods(g, gang, EIGHT)],
        queues=[Queue(OLD, deserved={GPU: whole}), Queue(NEW, deserved={GPU: 0})],
    )  # fmt: skip


def reclaim(nodes: int = 500, gang: int = 250, seed: int = 1) -> Snapshot:
    """Return a full cluster of which nothing is due, and a gang that is due all of it.

    Victims of five priorities and mixed ages; a tenth of them under budgets that bear half of it.
    """
    of = _nodes(nodes)
    groups, pods, budgets = _full(of, mixed=True, seed=seed)
    g = Group("new", "gang", NEW, minimum=gang, priority=100, created_s=NOW_S - 60)
    return snapshot_of(
        taken_at_s=NOW_S, nodes=of, groups=[*groups, g], pods=[*pods, *_pods(g, gang, EIGHT)],
        budgets=budgets,
        queues=[
            Queue(OLD, deserved={GPU: 0}),
            Queue(NEW, deserved={GPU: 8000 * nodes}),
        ],
    )  # fmt: skip


def onto_empty(nodes: int = 500, pods: int = 4000) -> Snapshot:
    """Return empty nodes, and single-GPU pods that fill them."""
    groups = [Group("new", f"one-{k}", NEW, created_s=NOW_S - k % 600) for k in range(pods)]
    waiting = [p for g in groups for p in _pods(g, 1, ONE)]
    return snapshot_of(
        taken_at_s=NOW_S, nodes=_nodes(nodes), groups=groups, pods=waiting, queues=[Queue(NEW)]
    )


def near(nodes: int = 512, gang: int = 512) -> Snapshot:
    """Return empty nodes, and one gang with a pod for each, which would like to be in one rack."""
    of = _nodes(nodes)
    levels = []
    for label in ("block", "rack"):
        domains: dict[str, list[str]] = {}
        for n in of:
            name = n.labels[label] if label == "block" else f"{n.labels['block']}/{n.labels[label]}"
            domains.setdefault(name, []).append(n.name)
        levels.append(Level(label, {d: tuple(names) for d, names in domains.items()}))
    g = Group(
        "new", "gang", NEW, minimum=gang, created_s=NOW_S - 60,
        topology=TopologyRequest("fabric", preferred="rack"),
    )  # fmt: skip
    return snapshot_of(
        taken_at_s=NOW_S, nodes=of, groups=[g], pods=_pods(g, gang, EIGHT), queues=[Queue(NEW)],
        topologies=[Topology("fabric", tuple(levels))],
    )  # fmt: skip
