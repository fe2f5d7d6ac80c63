"""Seeded random clusters: small, crowded, with every feature of the contract now and then."""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Budget,
    Config,
    Group,
    GroupKey,
    HostPort,
    LabelSelector,
    Node,
    NodeName,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    PodTerm,
    Queue,
    QueueName,
    QueueShare,
    QueueState,
    Reason,
    Requirement,
    Snapshot,
    SpreadConstraint,
    Taint,
    Toleration,
    snapshot_of,
)
from apportion.models.config import Within

NOW = 1_000_000
CPU, GPU = "cpu", "nvidia.com/gpu"
Size = Literal["tiny", "small"]


@dataclass
class Limits:
    """How large a world may get."""

    nodes: int
    queues: int
    groups: int
    pods: int


LIMITS = {"tiny": Limits(2, 3, 6, 9), "small": Limits(4, 4, 7, 12)}


@dataclass
class World:
    """A snapshot in the making."""

    rng: Random
    more: Random
    """For what was added since, so that the rest of a seed's world stays what it was."""
    limits: Limits
    gpus: bool
    rich: bool
    """Has the rarer features: selectors, taints, ports, affinity, spread, roles."""
    moods: tuple[int, int, int]
    """How often groups are meant to run, to wait and to be broken."""
    nodes: list[Node] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    nominations: list[tuple[PodKey, str]] = field(default_factory=list)

    def once_in(self, n: float) -> bool:
        return self.rng.random() < 1 / n

    def more_in(self, n: float) -> bool:
        return self.more.random() < 1 / n

    def rarely(self, n: float) -> bool:
        return self.rich and self.once_in(n)


def world(seed: int, size: Size) -> Snapshot:
    """Return the world of this seed; equal seeds give equal worlds."""
    rng = Random(f"{size} {seed}")
    w = World(
        rng,
        Random(f"more {size} {seed}"),
        LIMITS[size],
        gpus=rng.random() < 0.4,
        rich=rng.random() < 0.6,
        moods=rng.choice(((8, 4, 1), (6, 5, 1), (2, 8, 1))),
    )
    _add_nodes(w)
    _add_queues(w)
    _add_foreign(w)
    for n in range(rng.randint(4, w.limits.groups)):
        _add_group(w, n)
    _add_runtimes(w, Random(f"runtimes {size} {seed}"))
    return snapshot_of(
        taken_at_s=NOW,
        nodes=tuple(w.nodes),
        queues=tuple(w.queues),
        groups=tuple(w.groups),
        pods=tuple(w.pods),
        budgets=tuple(_budgets(w)),
        nominations=tuple(w.nominations),
    )


def settings(seed: int) -> Config:
    """Return the configuration for the world of this seed: mostly the defaults."""
    rng = Random(f"settings {seed}")
    within: tuple[Within, ...] = ("groups", "groups", "namespaces", "users")
    queues = {f"q{n}": QueueShare(within=rng.choice(within)) for n in range(4)}
    return Config(
        literal_deserved=rng.random() < 0.1,
        priority_everywhere=rng.random() < 0.1,
        queues=queues if rng.random() < 0.3 else {},
    )


def _amounts(w: World, cpu: int, gpu: int) -> Amounts:
    return Amounts({CPU: cpu * 1000, GPU: gpu * 1000 if w.gpus else 0})


def _add_nodes(w: World) -> None:
    rng = w.rng
    for n in range(rng.randint(1, w.limits.nodes)):
        offer = _amounts(w, rng.randint(3, 6), rng.choice((1, 2, 2, 3)))
        labels = {"kubernetes.io/hostname": f"n{n}", "zone": rng.choice("ab")}
        if w.once_in(3):
            labels["disk"] = "ssd"
        broken = rng.choice(("unschedulable", "ready", "taint")) if w.rarely(8) else ""
        w.nodes.append(
            Node(
                NodeName(f"n{n}"),
                offer.plus({"pods": rng.choice((3, 10, 10, 10, 10))}),
                labels,
                (Taint("kept", rng.choice(("NoSchedule", "NoExecute"))),)
                if broken == "taint"
                else (),
                unschedulable=broken == "unschedulable" and n > 0,
                ready=broken != "ready" or n == 0,
            )
        )


def _add_queues(w: World) -> None:
    rng = w.rng
    total = {r: sum(n.allocatable[r] for n in w.nodes) // 1000 for r in (CPU, GPU)}
    names = [r for r in (CPU, GPU) if total[r]]
    depth: list[int] = []
    named = [r for r in names if w.rng.random() < 0.6]
    for n in range(min(w.limits.queues, rng.choice((1, 2, 2, 3, 3, 4, 4)))):
        parents = [i for i, d in enumerate(depth) if d < 3]
        parent = rng.choice(parents) if parents and rng.random() < 0.4 else None
        depth.append(1 if parent is None else depth[parent] + 1)
        deserved = {
            r: rng.choice((0, *range(total[r] * 2 // 3 + 1))) * 1000
            for r in named
            if rng.random() < 0.85
        }
        guarantee = {
            r: rng.randint(1, max(1, deserved.get(r, 1000) // 1000)) * 1000
            for r in names
            if w.once_in(9)
        }
        w.queues.append(
            Queue(
                QueueName(f"q{n}"),
                None if parent is None else QueueName(f"q{parent}"),
                weight=rng.choice((0, 1, 1, 1, 1, 2, 3)),
                priority=rng.choice((0, 0, 0, 0, 1)),
                capability={r: rng.randint(1, total[r]) * 1000 for r in names if w.once_in(6)},
                deserved=deserved,
                guarantee=Amounts(guarantee),
                reclaimable=not w.once_in(10),
                state=QueueState.CLOSED if w.rarely(25) else QueueState.OPEN,
                namespaces=frozenset({"a"}) if w.rarely(15) else None,
            )
        )


def _add_runtimes(w: World, rng: Random) -> None:
    """Let some queues give work time to run: some of what runs has had it, some not."""
    if rng.random() < 0.8:
        return

    def drawn() -> int | None:
        return rng.choice((None, None, 0, 15, 35, 60))

    w.queues = [
        replace(q, preempt_min_runtime_s=drawn(), reclaim_min_runtime_s=drawn()) for q in w.queues
    ]


def _add_foreign(w: World) -> None:
    for n in range(w.rng.choice((0, 0, 0, 0, 1, 2))):
        state = PodState.TERMINATING if w.once_in(3) else PodState.RUNNING
        spec = PodSpec(_amounts(w, w.rng.randint(0, 1), 0))
        _settle(w, Pod("other", f"f{n}", spec, state, labels={"app": "f"}, node=NodeName("?")))


def _add_group(w: World, n: int) -> None:
    rng = w.rng
    inner = {q.parent for q in w.queues}
    leaves = [q.name for q in w.queues if q.name not in inner]
    queue = rng.choice([q.name for q in w.queues] if w.rarely(30) else leaves)
    role_minimum: dict[str, int] = {}
    roles = w.rarely(8)
    minimum = rng.choice((1, 1, 1, 1, 2, 2, 3)) if not w.rarely(40) else 0
    elastic = rng.choice((0, 0, 0, 1, 1, 2))
    members = minimum + elastic
    if roles:
        members = max(members, 2)
        role_minimum = {"lead": 1, "work": rng.choice((0, 1))}
    room = w.limits.pods - sum(p.ours for p in w.pods)
    if members > room:
        members = minimum = min(1, room)
        roles = False
    if not members:
        return
    mood = rng.choices(("running", "pending", "broken"), w.moods)[0]
    priority = rng.choice((0, 0, 0, 0, 1, 2))
    group = Group(
        rng.choice("ab"),
        f"g{n}",
        QueueName("missing") if w.more_in(50) else queue,
        minimum,
        role_minimum if roles else {},
        priority,
        preemptable=not w.once_in(9),
        may_preempt=not w.once_in(14),
        created_s=NOW - rng.choice((10, 20, 30, 30, 40)) - n % 2,
        hold=(Reason("test", f"g{n}", "on hold"),) if w.rarely(40) else (),
        broken_since_s=rng.choice((None, NOW - 300, NOW - 300, NOW - 5)),
        user=rng.choice("xy"),
    )
    w.groups.append(group)
    specs = [_spec(w, f"g{n}")]
    specs.append(_spec(w, f"g{n}") if w.rarely(5) else specs[0])
    done = w.rarely(12)
    for i in range(members):
        role = ("lead" if i == 0 else "work") if roles else ""
        pod = Pod(
            group.namespace,
            f"g{n}-{i}",
            specs[min(i, 1)],
            PodState.PENDING,
            group.key,
            role,
            labels={"app": f"g{n}", "tier": rng.choice("st")},
            priority=priority if not w.once_in(15) else 1,
            preemptable=not w.once_in(30),
            critical=w.once_in(50),
            task_priority=rng.choice((0, 0, 0, 1)),
            created_s=group.created_s,
            protected_until_s=NOW + 60 if w.once_in(25) else None,
            gates=(),
        )
        _settle(w, _with_state(w, pod, mood, i, members, done))


def _with_state(w: World, pod: Pod, mood: str, i: int, members: int, done: bool) -> Pod:
    rng = w.rng
    if done and i == members - 1:
        return _in(pod, PodState.SUCCEEDED)
    if mood == "running":
        state = PodState.RUNNING if i < members - rng.choice((0, 0, 0, 1)) else PodState.PENDING
    elif mood == "broken":
        state = PodState.RUNNING if i == 0 else PodState.PENDING
        if i > 0 and w.once_in(3):
            state = PodState.TERMINATING
    else:
        state = PodState.GATED if w.rarely(15) else PodState.PENDING
    return _in(pod, state)


def _in(pod: Pod, state: PodState, node: str | None = None) -> Pod:
    on = state in (PodState.RUNNING, PodState.TERMINATING)
    return Pod(
        **{
            **{f: getattr(pod, f) for f in pod.__struct_fields__},
            "state": state,
            "node": NodeName(node or "?") if on else None,
            "started_s": pod.created_s + 5 if on else None,
            "gates": ("wait",) if state is PodState.GATED else (),
        }
    )


def _settle(w: World, pod: Pod) -> None:
    """Put a running or terminating pod on a node where it fits by every rule, else leave it."""
    if not pod.holds:
        if pod.state is PodState.PENDING and (w.rarely(20) or w.more_in(15)):
            w.nominations.append((pod.key, w.rng.choice(w.nodes).name))
        w.pods.append(pod)
        return
    nodes = [n for n in w.nodes if _fits(w, pod, n)]
    if nodes:
        w.pods.append(_in(pod, pod.state, w.rng.choice(nodes).name))
    elif pod.ours:
        w.pods.append(_in(pod, PodState.PENDING))


def _fits(w: World, pod: Pod, node: Node) -> bool:
    there = [p for p in w.pods if p.node == node.name and p.holds]
    used = pod.footprint
    for p in there:
        used = used.plus(p.footprint)
    spec = pod.spec
    clash = any(a.clashes(b) for p in there for a in p.spec.host_ports for b in spec.host_ports)
    lonely = any(
        p.labels.get("app") == pod.labels.get("app")
        for p in w.pods
        if p.holds and (spec.anti_affinity or p.spec.anti_affinity)
    )
    chosen = all(node.labels.get(k) == v for k, v in spec.node_selector)
    tainted = bool(node.taints) and not spec.tolerations
    social = bool(spec.spread or spec.affinity) and bool(there)
    return used.fits(node.allocatable) and chosen and not (clash or lonely or tainted or social)


def _spec(w: World, app: str) -> PodSpec:
    rng = w.rng
    asks = _amounts(w, rng.choice((1, 1, 1, 1, 2, 2, 3)), rng.choice((0, 0, 0, 1)))
    if w.rarely(30):
        asks = Amounts()
    key = rng.choice(("kubernetes.io/hostname", "zone"))
    own = LabelSelector((Requirement("app", "In", (app,)),))
    odd = rng.choice(("selector", "port", "anti", "spread", "affinity")) if w.rarely(4) else ""
    return PodSpec(
        asks,
        node_selector=(rng.choice((("zone", "a"), ("disk", "ssd"))),) if odd == "selector" else (),
        tolerations=(Toleration(operator="Exists"),) if w.rarely(3) else (),
        host_ports=(HostPort(80),) if odd == "port" else (),
        anti_affinity=(PodTerm(key, own, None),) if odd == "anti" else (),
        affinity=(PodTerm(key, own, None),) if odd == "affinity" else (),
        spread=(SpreadConstraint(1, key, True, own),) if odd == "spread" else (),
    )


def _budgets(w: World) -> list[Budget]:
    wide = LabelSelector((Requirement("tier", "In", ("s",)),))
    shared = [Budget("a", "wide", wide, w.more.choice((0, 1, 2)))] if w.more_in(10) else []
    return shared + [
        Budget(
            g.namespace,
            g.name,
            LabelSelector((Requirement("app", "In", (g.name,)),)),
            allowed=w.rng.choice((0, 1, 1, 2)),
        )
        for g in w.groups
        if GroupKey(g.key) and w.once_in(12)
    ]
