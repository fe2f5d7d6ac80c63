"""Random worlds: of pods that mind each other (ports, affinity, spread), and of equal nodes."""

from random import Random
from typing import Any

from msgspec.structs import replace

from apportion.models import (
    Budget,
    HostPort,
    LabelSelector,
    Node,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTerm,
    Requirement,
    Snapshot,
    SpreadConstraint,
)
from apportion.models.amounts import at_least
from oracle.worlds import world

KEYS = ("kubernetes.io/hostname", "zone")
ADDRESSES = ("0.0.0.0", "10.0.0.1", "10.0.0.2")


def company(seed: int) -> Snapshot:
    """Return the tiny world of this seed with other wishes; equal seeds give equal worlds."""
    base = world(seed, "tiny")
    rng, soft = Random(f"company {seed}"), Random(f"soft {seed}")
    nodes = tuple(_with_fewer_labels(n, rng) for n in base.nodes)
    specs: dict[object, PodSpec] = {}
    pods = tuple(_with_wishes(p, specs, rng, soft) if p.ours else p for p in base.pods)
    over = [
        Budget("a", f"tier-{t}", _chosen("tier", t), rng.choice((0, 1, 1, 2)))
        for t in "st"
        if rng.random() < 0.5
    ]
    return replace(base, nodes=nodes, pods=pods, budgets=(*base.budgets, *over))


def alike(seed: int) -> Snapshot:
    """Return the small world of this seed with nodes that differ only in what is free on them."""
    base = world(seed, "small")
    largest = base.nodes[0].allocatable
    for n in base.nodes:
        largest = at_least(largest, n.allocatable)
    nodes = (Node(n.name, largest, {KEYS[0]: n.name}) for n in base.nodes)
    return replace(base, nodes=tuple(nodes))


def _with_fewer_labels(node: Node, rng: Random) -> Node:
    return replace(node, labels={k: v for k, v in node.labels.items() if rng.random() < 0.85})


def _with_wishes(pod: Pod, specs: dict[object, PodSpec], rng: Random, soft: Random) -> Pod:
    """Give the pods of a group that had equal specs another one, equal again."""
    key = (pod.group, pod.spec)
    if key not in specs:
        plain = replace(pod.spec, host_ports=(), anti_affinity=(), affinity=(), spread=())
        made = replace(plain, **_need(pod, rng), **_wish(rng))
        if not made.spread and soft.random() < 0.3:
            level = SpreadConstraint(
                soft.choice((1, 1, 2)), soft.choice(KEYS), False,
                _chosen("tier", soft.choice("st")), 1, soft.random() < 0.5, soft.random() < 0.5,
            )  # fmt: skip
            made = replace(made, spread=(*made.spread, level))
        specs[key] = made
    return replace(pod, spec=specs[key])


def _need(pod: Pod, rng: Random) -> dict[str, Any]:
    peers = rng.choice((_chosen("app", pod.labels["app"]), _chosen("tier", rng.choice("st"))))
    key = rng.choice(KEYS)
    match rng.choice(("port", "port", "anti", "near", "spread", "spread", "none")):
        case "port":
            protocol, address = rng.choice(("TCP", "TCP", "UDP")), rng.choice(ADDRESSES)
            return {"host_ports": (HostPort(80, protocol, address),)}
        case "anti":
            return {"anti_affinity": (PodTerm(key, peers, rng.choice((None, frozenset({"a"})))),)}
        case "near":
            return {"affinity": (PodTerm(key, peers, rng.choice((None, frozenset({"a"})))),)}
        case "spread":
            more = (rng.choice((1, 1, 2)), rng.random() < 0.5, rng.random() < 0.5)
            return {"spread": (SpreadConstraint(rng.choice((1, 1, 2)), key, True, peers, *more),)}
    return {}


def _wish(rng: Random) -> dict[str, Any]:
    term = PodTerm(rng.choice(KEYS), _chosen("tier", rng.choice("st")), None)
    match rng.choice(("near", "apart", "node", "none", "none", "none")):
        case "near":
            return {"preferred_affinity": ((rng.randint(1, 100), term),)}
        case "apart":
            return {"preferred_anti_affinity": ((rng.randint(1, 100), term),)}
        case "node":
            there = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))
            return {"preferred_nodes": ((rng.randint(1, 100), there),)}
    return {}


def _chosen(key: str, value: str) -> LabelSelector:
    return LabelSelector((Requirement(key, "In", (value,)),))
