"""The same cluster in other words: objects in another order, or under names of the same order."""

from collections.abc import Mapping
from random import Random
from typing import Any

from msgspec.structs import replace

from apportion.models import (
    Claim,
    Config,
    GroupKey,
    Node,
    NodeName,
    NodeSelectorTerm,
    Pod,
    PodKey,
    PodSpec,
    PodTerm,
    Queue,
    QueueName,
    Requirement,
    Snapshot,
    Topology,
    Volume,
    snapshot_of,
)

PARTS = (
    "nodes", "pods", "groups", "queues", "budgets", "nominations", "quotas", "topologies", "claims"
)  # fmt: skip


def shuffled(snapshot: Snapshot, seed: int) -> Snapshot:
    """Return the snapshot of the same objects, given in another order, mappings too."""
    rng = Random(seed)

    def mixed(of: Mapping[str, Any]) -> dict[str, Any]:
        items = list(of.items())
        rng.shuffle(items)
        return dict(items)

    parts: dict[str, list[Any]] = {name: list(getattr(snapshot, name)) for name in PARTS}
    parts["nodes"] = [
        replace(n, labels=mixed(n.labels), counters=mixed(n.counters)) for n in parts["nodes"]
    ]
    parts["pods"] = [replace(p, labels=mixed(p.labels)) for p in parts["pods"]]
    parts["groups"] = [replace(g, role_minimum=mixed(g.role_minimum)) for g in parts["groups"]]
    parts["queues"] = [
        replace(q, capability=mixed(q.capability), deserved=mixed(q.deserved))
        for q in parts["queues"]
    ]
    parts["quotas"] = [replace(q, hard=mixed(q.hard), used=mixed(q.used)) for q in parts["quotas"]]
    parts["topologies"] = [
        replace(t, levels=tuple(replace(x, domains=mixed(x.domains)) for x in t.levels))
        for t in parts["topologies"]
    ]
    for of in parts.values():
        rng.shuffle(of)
    return snapshot_of(taken_at_s=snapshot.taken_at_s, **{k: tuple(v) for k, v in parts.items()})


def longer(name: str | None) -> str:
    """Return another name; of two names the one that sorts first still does."""
    return f"x{name}"


def longer_key(key: str) -> str:
    namespace, name = key.split("/")
    return f"{longer(namespace)}/{longer(name)}"


def renamed(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with every node, pod, group, queue and namespace renamed."""
    specs = {id(p.spec): _spec(p.spec) for p in snapshot.pods}
    return snapshot_of(
        taken_at_s=snapshot.taken_at_s,
        nodes=tuple(_node(n) for n in snapshot.nodes),
        pods=tuple(_pod(p, specs[id(p.spec)]) for p in snapshot.pods),
        groups=tuple(
            replace(
                g, namespace=longer(g.namespace), name=longer(g.name),
                queue=QueueName(longer(g.queue)),
            )
            for g in snapshot.groups
        ),
        queues=tuple(_queue(q) for q in snapshot.queues),
        budgets=tuple(
            replace(b, namespace=longer(b.namespace), name=longer(b.name))
            for b in snapshot.budgets
        ),
        nominations=tuple((PodKey(longer_key(k)), longer(n)) for k, n in snapshot.nominations),
        quotas=tuple(replace(q, namespace=longer(q.namespace)) for q in snapshot.quotas),
        topologies=tuple(map(_topology, snapshot.topologies)),
        claims=tuple(map(_claim, snapshot.claims)),
    )  # fmt: skip


def renamed_config(config: Config) -> Config:
    """Return the settings with the names of queues and namespaces that :func:`renamed` gives."""
    queues = {
        longer(q): s
        if s.namespaces is None
        else replace(s, namespaces=tuple(map(longer, s.namespaces)))
        for q, s in config.queues.items()
    }
    return replace(config, queues=queues)


def longer_id(device: str) -> str:
    """Return a device's id, or a counter's, with another name of its pool, which is a node's."""
    driver, pool, rest = device.split("/", 2)
    return f"{driver}/{longer(pool)}/{rest}"


def _node(n: Node) -> Node:
    return replace(
        n,
        name=NodeName(longer(n.name)),
        pool_devices=tuple(
            replace(
                d,
                id=longer_id(d.id),
                counters=_counters(d.counters),
                parts={selection: _counters(part) for selection, part in d.parts.items()},
            )
            for d in n.pool_devices
        ),
        counters=_counters(n.counters),
    )


def _counters(of: Mapping[str, int]) -> dict[str, int]:
    return {longer_id(name): amount for name, amount in of.items()}


def _topology(t: Topology) -> Topology:
    return replace(
        t,
        levels=tuple(
            replace(x, domains={d: tuple(map(longer, of)) for d, of in x.domains.items()})
            for x in t.levels
        ),
    )


def _claim(c: Claim) -> Claim:
    return replace(
        c,
        namespace=longer(c.namespace),
        name=longer(c.name),
        devices=tuple(map(longer_id, c.devices)),
        draws=_counters(c.draws),
        nodes=None if c.nodes is None else tuple(map(_node_term, c.nodes)),
    )


def _queue(q: Queue) -> Queue:
    spaces = None if q.namespaces is None else frozenset(map(longer, q.namespaces))
    parent = None if q.parent is None else QueueName(longer(q.parent))
    return replace(q, name=QueueName(longer(q.name)), parent=parent, namespaces=spaces)


def _pod(p: Pod, spec: PodSpec) -> Pod:
    return replace(
        p,
        namespace=longer(p.namespace),
        name=longer(p.name),
        spec=spec,
        group=None if p.group is None else GroupKey(longer_key(p.group)),
        node=None if p.node is None else NodeName(longer(p.node)),
        nominated=None if p.nominated is None else NodeName(longer(p.nominated)),
        claimed=tuple(map(longer_id, p.claimed)),
        draws=_counters(p.draws),
    )


def _spec(s: PodSpec) -> PodSpec:
    terms = None if s.node_affinity is None else tuple(map(_node_term, s.node_affinity))
    return replace(
        s,
        node_affinity=terms,
        affinity=tuple(map(_pod_term, s.affinity)),
        anti_affinity=tuple(map(_pod_term, s.anti_affinity)),
        volumes=tuple(map(_volume, s.volumes)),
        claims=tuple(replace(c, claim=longer_key(c.claim)) if c.claim else c for c in s.claims),
    )


def _volume(v: Volume) -> Volume:
    return replace(
        v,
        claim=longer_key(v.claim) if v.claim else "",
        made_in=longer(v.made_in) if v.made_in else "",
    )


def _node_term(t: NodeSelectorTerm) -> NodeSelectorTerm:
    fields = tuple(Requirement(r.key, r.operator, tuple(map(longer, r.values))) for r in t.fields)
    return replace(t, fields=fields)


def _pod_term(t: PodTerm) -> PodTerm:
    spaces = None if t.namespaces is None else frozenset(map(longer, t.namespaces))
    return replace(t, namespaces=spaces)
