"""Edits of nodes: added, gone, drained, cordoned."""

from collections.abc import Callable, Collection, Mapping

from msgspec.structs import replace

from .edits import AddNodes, Cordon, Drain, RemoveNode, Uncordon
from .errors import InputError
from .names import NodeName
from .node import Node
from .numa import Numa
from .pod import Pod, PodState
from .snapshot import Snapshot
from .topology import Level, Topology
from .unknown import unknown

HOSTNAME = "kubernetes.io/hostname"
_PASSING = "node.kubernetes.io/"
"""Taints that say what state a node is in, not what it is."""


def with_nodes(snapshot: Snapshot, edit: AddNodes) -> Snapshot:
    """Return the snapshot with nodes like one of its own, without anybody on them."""
    if edit.count < 1:
        raise InputError(f"nodes like {edit.like}: add at least 1, got {edit.count}")
    like = node_named(snapshot, edit.like)
    taken = set(snapshot.nodes_by_name)
    new: list[Node] = []
    number = 0
    while len(new) < edit.count:
        number += 1
        name = f"{like.name}-new-{number}"
        if name not in taken:
            new.append(_copy(like, NodeName(name), edit.labels, snapshot.taken_at_s))
    topologies = tuple(_joined(t, like, new) for t in snapshot.topologies)
    return replace(snapshot, nodes=(*snapshot.nodes, *new), topologies=topologies)


def _copy(like: Node, name: NodeName, labels: Mapping[str, str], now_s: int) -> Node:
    own = {HOSTNAME: name} if HOSTNAME in like.labels else {}

    def pooled(path: str, at: int) -> str:
        # A pool of a node has its name, as a rule; that of another node must be another one.
        parts = path.split("/")
        parts[at] = f"{parts[at]} of {name}" if parts[at] != like.name else name
        return "/".join(parts)

    return replace(
        like,
        name=name,
        labels={**like.labels, **own, **labels},
        taints=tuple(t for t in like.taints if not t.key.startswith(_PASSING)),
        unschedulable=False,
        ready=True,
        created_s=now_s,
        devices=tuple(replace(d, uuid="") for d in like.devices),
        blocks=tuple(replace(b, free=None) for b in like.blocks),
        numa=None if like.numa is None else _idle(like.numa),
        pool_devices=tuple(
            replace(
                d, id=pooled(d.id, 1), taken=False,
                counters={pooled(k, 1): v for k, v in d.counters.items()},
            )
            for d in like.pool_devices
        ),
        counters={pooled(k, 1): v for k, v in like.counters.items()},
    )  # fmt: skip


def _idle(numa: Numa) -> Numa:
    return replace(numa, cells=tuple(replace(c, free=None) for c in numa.cells))


def _joined(topology: Topology, like: Node, new: Collection[Node]) -> Topology:
    """Return the topology with the new nodes: where labels name the domain, by their own."""
    levels: list[Level] = []
    keys: list[str] = []
    for level in topology.levels:
        keys.append(level.name)
        domains = {d: list(names) for d, names in level.domains.items()}
        mine = next((d for d, names in level.domains.items() if like.name in names), None)
        by_labels = mine is None or mine == _path(like, keys)
        for n in new:
            domain = _path(n, keys) if by_labels else mine
            if domain is not None:
                domains.setdefault(domain, []).append(n.name)
        whole = {d: tuple(sorted(names)) for d, names in domains.items()}
        levels.append(replace(level, domains=whole))
    return replace(topology, levels=tuple(levels))


def _path(node: Node, keys: Collection[str]) -> str | None:
    values = [node.labels[k] for k in keys if k in node.labels]
    return "/".join(values) if len(values) == len(keys) else None


def node_named(snapshot: Snapshot, name: str) -> Node:
    """Return the node; InputError where there is none of that name."""
    found = snapshot.nodes_by_name.get(name)
    if found is None:
        raise unknown("node", name, snapshot.nodes_by_name)
    return found


def removed(snapshot: Snapshot, edit: RemoveNode) -> Snapshot:
    """Return the snapshot without the node and whatever was only there."""
    node = node_named(snapshot, edit.node)
    stays = _emptied(snapshot, node.name, lambda p: not p.ours)
    return replace(
        stays,
        nodes=tuple(n for n in snapshot.nodes if n.name != node.name),
        topologies=tuple(
            replace(t, levels=tuple(_without(x, node.name) for x in t.levels))
            for t in snapshot.topologies
        ),
    )


def _without(level: Level, name: str) -> Level:
    left = {d: tuple(n for n in names if n != name) for d, names in level.domains.items()}
    return replace(level, domains={d: names for d, names in left.items() if names})


def drained(snapshot: Snapshot, edit: Drain) -> Snapshot:
    """Return the snapshot with the node cordoned and our pods there pending again."""
    stays = _emptied(snapshot, node_named(snapshot, edit.node).name, lambda _: False)
    return cordoned(stays, Cordon(edit.node))


def _emptied(snapshot: Snapshot, node: NodeName, goes: Callable[[Pod], bool]) -> Snapshot:
    pods: list[Pod] = []
    for p in snapshot.pods:
        if p.node == node and p.holds:
            if goes(p):
                continue
            if p.ours and p.state is PodState.RUNNING:
                p = come_back(p, snapshot.taken_at_s)
        elif p.nominated == node:
            p = replace(p, nominated=None)
        pods.append(p)
    nominations = tuple(of for of in snapshot.nominations if of[1] != node)
    return replace(snapshot, pods=tuple(pods), nominations=nominations)


def come_back(pod: Pod, now_s: int) -> Pod:
    """Return the pod as its controller makes it again: pending, without a node."""
    return replace(
        pod, state=PodState.PENDING, node=None, nominated=None, started_s=None, created_s=now_s,
        protected_until_s=None, end=None, uid="", devices=(), cells=(), claimed=(), draws={},
        ready=True,
    )  # fmt: skip


def cordoned(snapshot: Snapshot, edit: Cordon) -> Snapshot:
    return _set(snapshot, edit.node, True)


def uncordoned(snapshot: Snapshot, edit: Uncordon) -> Snapshot:
    return _set(snapshot, edit.node, False)


def _set(snapshot: Snapshot, name: str, closed: bool) -> Snapshot:
    node = node_named(snapshot, name)
    taints = tuple(t for t in node.taints if t.key != _PASSING + "unschedulable")
    new = replace(node, unschedulable=closed, taints=node.taints if closed else taints)
    return replace(snapshot, nodes=tuple(new if n is node else n for n in snapshot.nodes))
