"""Random clusters in which every feature turns up; equal seeds give equal clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Budget,
    Group,
    HostPort,
    LabelSelector,
    Node,
    NodeName,
    NodeSelectorTerm,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    PodTerm,
    Queue,
    QueueName,
    QueueState,
    Reason,
    Requirement,
    Snapshot,
    SpreadConstraint,
    Taint,
    Toleration,
    snapshot_of,
)
from apportion.models.amounts import unit_of

T = TypeVar("T")
NOW = 1_000_000
CPU, GPU, MEMORY = "cpu", "nvidia.com/gpu", "memory"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Size:
    """How large a cluster may get."""

    nodes: int
    queues: int
    groups: int
    pods: int
    foreign: int
    members: int
    """Of one group."""


LARGE = Size(nodes=12, queues=7, groups=12, pods=40, foreign=4, members=8)
SMALL = Size(nodes=3, queues=4, groups=6, pods=10, foreign=1, members=4)
"""The brute force goes through every plan of these."""

OFTEN = ("elastic", "gangs", "priorities", "dues", "tree", "weights", "broken")
RARELY = (
    "devices", "memory", "zones", "taints", "cordons", "unready", "few slots", "lost nodes",
    "overfull", "guarantees", "limits", "queue priorities", "unreclaimable", "closed",
    "namespaces", "strays", "roles", "fixed", "never", "held", "cooling", "critical", "gates",
    "terminating", "done", "mixed", "best effort", "selectors", "ports", "repulsion",
    "attraction", "spread", "ranks", "budgets", "foreign", "promises", "users",
)  # fmt: skip
"""A cluster has some of them: many at once hide each other."""


def cluster(seed: int, size: Size = LARGE) -> Snapshot:
    """Return the cluster of this seed and size."""
    rng = Random(f"cluster {size.nodes} {seed}")
    common = {f for f in OFTEN if rng.randrange(4)}
    rare = {f for f in RARELY if not rng.randrange(5)}
    made = _Maker(rng, size, frozenset(common | rare)).make()
    return _with_runtimes(made, Random(f"runtimes {size.nodes} {seed}"))


def _with_runtimes(made: Snapshot, rng: Random) -> Snapshot:
    """Let queues of some clusters give work time to run; the others stay what they were."""
    if rng.randrange(5):
        return made

    def drawn() -> int | None:
        return rng.choice((None, None, 0, 12, 25, 60))

    queues = [
        replace(q, preempt_min_runtime_s=drawn(), reclaim_min_runtime_s=drawn())
        for q in made.queues
    ]
    return replace(made, queues=tuple(queues))


class _Maker:
    """A cluster in the making."""

    def __init__(self, rng: Random, size: Size, features: frozenset[str]) -> None:
        self._rng, self._size, self._features = rng, size, features
        self._nodes: list[Node] = []
        self._queues: list[Queue] = []
        self._groups: list[Group] = []
        self._pods: list[Pod] = []
        self._promises: list[tuple[PodKey, str]] = []
        self._room: list[Amounts] = []

    def make(self) -> Snapshot:
        for n in range(self._number(1, self._size.nodes)):
            self._add_node(n)
        for n in range(max(1, self._many(self._size.queues))):
            self._add_queue(n)
        if self._has("foreign"):
            for n in range(self._number(0, self._size.foreign)):
                self._add_foreign(n)
        for n in range(self._many(self._size.groups)):
            self._add_group(n)
        return snapshot_of(
            taken_at_s=NOW,
            nodes=tuple(self._nodes),
            queues=tuple(self._queues),
            groups=tuple(self._groups),
            pods=tuple(self._pods),
            budgets=tuple(self._budgets()),
            nominations=tuple(self._promises),
        )

    # Draws

    def _has(self, feature: str, one_in: int = 1) -> bool:
        return feature in self._features and (one_in == 1 or self._chance(one_in))

    def _chance(self, one_in: int) -> bool:
        return self._rng.randrange(one_in) == 0

    def _number(self, low: int, high: int) -> int:
        return self._rng.randint(low, high)

    def _many(self, most: int) -> int:
        """Draw rather a high number: a crowd is where things go wrong."""
        return max(self._number(0, most), self._number(0, most))

    def _pick(self, values: Sequence[T]) -> T:
        return self._rng.choice(values)

    def _resources(self) -> list[str]:
        more = {"devices": GPU, "memory": MEMORY}
        return [CPU, *(r for feature, r in more.items() if self._has(feature))]

    # Nodes

    def _add_node(self, n: int) -> None:
        sizes = {CPU: (4, 3, 2, 6), GPU: (2, 1, 0, 4), MEMORY: (4, 2, 8)}
        offer = {r: self._pick(sizes[r]) * unit_of(r) for r in self._resources()}
        slots = self._pick((1, 2, 4)) if self._has("few slots", 3) else 20
        labels = {HOST: f"n{n}"}
        if self._has("zones"):
            zone = self._pick(("a", "b", "c", ""))
            labels |= {"zone": zone} if zone else {}
        taints: tuple[Taint, ...] = ()
        if self._has("taints", 3):
            taints = (Taint("kept", self._pick(("NoSchedule", "NoExecute", "PreferNoSchedule"))),)
        self._nodes.append(
            Node(
                NodeName(f"n{n}"),
                Amounts({**offer, "pods": slots}),
                labels,
                taints,
                unschedulable=self._has("cordons", 3),
                ready=not self._has("unready", 4),
            )
        )
        self._room.append(self._nodes[-1].allocatable)

    # Queues

    def _add_queue(self, n: int) -> None:
        above = [q.name for q in self._queues if self._depth(q) < 3]
        parent = self._pick((None, *above)) if self._has("tree") else None
        state = (
            self._pick((QueueState.CLOSED, QueueState.CLOSING))
            if self._has("closed", 4)
            else QueueState.OPEN
        )
        self._queues.append(
            Queue(
                QueueName(f"q{n}"),
                parent,
                weight=self._pick((1, 2, 0, 3)) if self._has("weights") else 1,
                priority=self._number(0, 1) if self._has("queue priorities") else 0,
                capability=self._share("limits", (4, 2, 1, 8)),
                deserved=self._share("dues", (0, 1, 2, 4)),
                guarantee=Amounts(self._share("guarantees", (1, 2))),
                reclaimable=not self._has("unreclaimable", 3),
                state=state,
                namespaces=frozenset({"a"}) if self._has("namespaces", 3) else None,
            )
        )

    def _depth(self, queue: Queue) -> int:
        names = {q.name: q for q in self._queues}
        return 1 if queue.parent is None else 1 + self._depth(names[queue.parent])

    def _share(self, feature: str, values: Sequence[int]) -> dict[str, int]:
        if not self._has(feature):
            return {}
        return {
            r: self._pick(values) * unit_of(r) for r in self._resources() if not self._chance(3)
        }

    def _leaves(self) -> list[QueueName]:
        inner = {q.parent for q in self._queues}
        return [q.name for q in self._queues if q.name not in inner]

    # Pods

    def _add_foreign(self, n: int) -> None:
        state = PodState.TERMINATING if self._has("terminating", 3) else PodState.RUNNING
        spec = PodSpec(Amounts({CPU: self._number(0, 1) * 1000}))
        self._settle(Pod("other", f"f{n}", spec, state, labels={"app": "f"}, node=NodeName("?")))

    def _add_group(self, n: int) -> None:
        left = self._size.pods - sum(p.ours for p in self._pods)
        half = self._size.members // 2
        minimum = self._number(0, half) if self._has("gangs") else 1
        members = max(1, minimum) + (self._number(0, half) if self._has("elastic") else 0)
        roles = {"lead": 1, "work": self._number(0, 1)} if self._has("roles", 3) else {}
        members = min(left, max(members, len(roles)))
        if members == 0:
            return
        queue = self._pick(self._leaves())
        if self._has("strays", 6):
            queue = self._pick((QueueName("missing"), *(q.name for q in self._queues)))
        group = Group(
            self._pick(("a", "b")),
            f"g{n}",
            queue,
            min(minimum, members) if not self._chance(12) else minimum,
            roles,
            priority=self._number(0, 2) if self._has("priorities") else 0,
            preemptable=not self._has("fixed", 3),
            may_preempt=not self._has("never", 3),
            created_s=NOW - self._pick((30, 30, 20, 10, 40)) - n % 2,
            broken_since_s=self._pick((None, NOW - 300, NOW - 5)) if self._has("broken") else None,
            hold=(Reason("test", f"g{n}", "on hold"),) if self._has("held", 8) else (),
            user=self._pick(("", "x", "y")) if self._has("users") else "",
        )
        self._groups.append(group)
        self._add_members(group, members)

    def _add_members(self, group: Group, members: int) -> None:
        running = self._number(0, members)
        if not self._has("broken") and running < group.effective_minimum:
            running = 0 if running * 2 < members else members
        specs = [self._spec(group.name)]
        if self._has("mixed", 3):
            specs.append(self._spec(group.name))
        for i in range(members):
            pod = Pod(
                group.namespace,
                f"{group.name}-{i}",
                specs[i % len(specs)],
                PodState.RUNNING if i < running else PodState.PENDING,
                group.key,
                ("lead" if i == 0 else "work") if group.role_minimum else "",
                node=NodeName("?") if i < running else None,
                labels={"app": group.name, "tier": "st"[i % 2]},
                priority=group.priority + (1 if self._has("priorities", 12) else 0),
                may_preempt=group.may_preempt,
                preemptable=not self._has("fixed", 8),
                critical=self._has("critical", 8),
                task_priority=self._number(0, 1) if self._has("ranks") else 0,
                created_s=group.created_s,
                started_s=group.created_s + 5 if i < running else None,
                protected_until_s=NOW + 600 if self._has("cooling", 6) else None,
            )
            self._settle(self._in_state(pod, i + 1 == members))

    def _in_state(self, pod: Pod, last: bool) -> Pod:
        if last and self._has("done", 4):
            state = self._pick((PodState.SUCCEEDED, PodState.FAILED))
            return replace(pod, state=state, node=None)
        if pod.holds:
            gone = self._has("terminating", 6)
            return replace(pod, state=PodState.TERMINATING) if gone else pod
        gated = self._has("gates", 6)
        return replace(pod, state=PodState.GATED, gates=("wait",)) if gated else pod

    def _settle(self, pod: Pod) -> None:
        """Put a pod that holds room on a node with room for it; if there is none, let it wait."""
        if not pod.holds:
            if pod.state is PodState.PENDING and self._has("promises", 3):
                node = self._pick(self._nodes).name
                pod = replace(pod, nominated=node)
                self._promises.append((pod.key, node))
            self._pods.append(pod)
            return
        # Running ones of ours are left out: see test_victims_may_run_on_unknown_nodes.
        if pod.state is PodState.TERMINATING and self._has("lost nodes", 3):
            self._pods.append(replace(pod, node=NodeName("gone")))
            return
        spots = [
            n for n, room in enumerate(self._room)
            if pod.footprint.fits(room) or self._has("overfull", 8)
        ]  # fmt: skip
        if spots:
            n = self._pick(spots)
            self._room[n] = self._room[n].minus(pod.footprint)
            self._pods.append(replace(pod, node=self._nodes[n].name))
        elif pod.ours:
            self._pods.append(replace(pod, state=PodState.PENDING, node=None, started_s=None))

    def _spec(self, app: str) -> PodSpec:
        sizes = {CPU: (1, 2, 3), GPU: (0, 1, 2), MEMORY: (1, 2, 0)}
        asks = {r: self._pick(sizes[r]) * unit_of(r) for r in self._resources()}
        if self._has("best effort", 6):
            asks = {}
        selector = (("zone", self._pick(("a", "b"))),) if self._has("zones", 5) else ()
        friend = only(self._pick([app, *(g.name for g in self._groups)]))
        return PodSpec(
            Amounts(asks),
            node_selector=selector,
            node_affinity=self._chosen_nodes() if self._has("selectors", 4) else None,
            tolerations=(Toleration(operator="Exists"),) if self._has("taints", 3) else (),
            host_ports=(self._port(),) if self._has("ports", 3) else (),
            affinity=(self._term(friend),) if self._has("attraction", 4) else (),
            anti_affinity=(self._term(friend),) if self._has("repulsion", 4) else (),
            spread=(self._constraint(only(app)),) if self._has("spread", 4) else (),
        )

    def _chosen_nodes(self) -> tuple[NodeSelectorTerm, ...]:
        name = self._pick(self._nodes).name
        term = Requirement("metadata.name", self._pick(("In", "NotIn")), (name,))
        host = Requirement(HOST, "In", (self._pick(self._nodes).name,))
        return (NodeSelectorTerm(fields=(term,)), NodeSelectorTerm((host,)))[self._number(0, 1) :]

    def _port(self) -> HostPort:
        return HostPort(80, address=self._pick(("0.0.0.0", "10.0.0.1", "10.0.0.2")))

    def _term(self, who: LabelSelector) -> PodTerm:
        return PodTerm(self._pick((HOST, "zone")), who, self._pick((None, frozenset({"a"}))))

    def _constraint(self, who: LabelSelector) -> SpreadConstraint:
        return SpreadConstraint(
            self._number(1, 2),
            self._pick((HOST, "zone")),
            hard=not self._chance(4),
            selector=who,
            min_domains=self._number(1, 2),
            honor_taints=self._chance(3),
        )

    def _budgets(self) -> list[Budget]:
        if not self._has("budgets"):
            return []
        tight = [
            Budget(g.namespace, g.name, only(g.name), self._number(0, 2))
            for g in self._groups
            if self._chance(3)
        ]
        wide = Budget("a", "wide", LabelSelector((Requirement("tier", "In", ("s",)),)), 1)
        return [*tight, wide] if self._chance(3) else tight


def only(app: str) -> LabelSelector:
    return LabelSelector((Requirement("app", "In", (app,)),))
