"""Instances: seeded clusters of heterogeneous GPU nodes, filled to a stated level; work waits.

Five GPU models and CPU nodes, racks, taints, a tree of queues; running and waiting groups drawn
from a mix of single pods and gangs, three priorities, some constrained. Nothing is read from
elsewhere.
"""

import random
from dataclasses import dataclass

from apportion.models import (
    Amounts,
    Group,
    GroupKey,
    LabelSelector,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Requirement,
    Snapshot,
    SpreadConstraint,
    Taint,
    Toleration,
    snapshot_of,
)

GIB = 1 << 30
GPU = "nvidia.com/gpu"
NOW_S = 1_000_000
KINDS = (
    # model, share, cpu cores, memory GiB, GPUs
    ("a100", 30, 128, 1024, 8),
    ("h100", 15, 192, 2048, 8),
    ("v100", 20, 96, 768, 8),
    ("t4", 15, 64, 256, 4),
    ("l4", 10, 48, 192, 2),
    ("", 10, 96, 384, 0),
)
SHAPES = (
    # weight, cpu cores, memory GiB, GPUs
    (20, 4, 16, 0),
    (10, 8, 64, 0),
    (30, 8, 32, 1),
    (10, 12, 96, 1),
    (12, 24, 128, 2),
    (10, 48, 256, 4),
    (8, 96, 512, 8),
)


@dataclass(frozen=True)
class Mix:
    """What a cluster looks like."""

    nodes: int
    pods: int
    """Waiting pods."""
    queues: int = 20
    fill: float = 0.8
    """Part of the GPUs that is in use before the plan."""
    seed: int = 1
    constrained: float = 0.1
    """Part of the waiting groups with a selector, toleration or spread."""
    named: bool = True
    """Whether queues name what they deserve."""


def mixture(mix: Mix) -> Snapshot:
    """Return the cluster of a mix; equal mixes give equal snapshots."""
    return _Maker(mix).run()


class _Maker:
    def __init__(self, mix: Mix) -> None:
        self.mix = mix
        self.rng = random.Random(mix.seed)
        self.specs: dict[object, PodSpec] = {}
        self.nodes: list[Node] = []
        self.pods: list[Pod] = []
        self.groups: list[Group] = []

    def run(self) -> Snapshot:
        self.nodes = [self._node(i) for i in range(self.mix.nodes)]
        queues, leaves = self._queues()
        self._running(leaves)
        self._waiting(leaves)
        return snapshot_of(
            taken_at_s=NOW_S, nodes=self.nodes, pods=self.pods, groups=self.groups, queues=queues
        )

    def _node(self, i: int) -> Node:
        model, _, cpu, memory, gpus = self.rng.choices(KINDS, [k[1] for k in KINDS])[0]
        labels = {
            "kubernetes.io/hostname": f"node-{i}", "rack": f"rack-{i // 16}",
            "block": f"block-{i // 128}",
        }  # fmt: skip
        if model:
            labels["gpu.model"] = model
        # What the kubelet and system pods keep is never quite the same.
        kept = self.rng.randrange(0, 4) * 250
        return Node(
            name=NodeName(f"node-{i}"),
            allocatable=Amounts(
                {
                    "cpu": cpu * 1000 - kept,
                    "memory": (memory - 4) * GIB,
                    GPU: gpus * 1000,
                    "pods": 110,
                }
            ),
            labels=labels,
            taints=(Taint(key="dedicated", effect="NoSchedule", value="h100"),)
            if model == "h100" and i % 3 == 0
            else (),
        )

    def _queues(self) -> tuple[list[Queue], list[QueueName]]:
        total = sum(n.allocatable[GPU] for n in self.nodes)
        parents = max(1, self.mix.queues // 5)
        queues = [Queue(name=QueueName(f"org-{k}"), weight=1 + k % 3) for k in range(parents)]
        leaves = [QueueName(f"team-{k}") for k in range(self.mix.queues)]
        for k, leaf in enumerate(leaves):
            due = total // self.mix.queues // 1000 * 1000
            queues.append(
                Queue(
                    name=leaf,
                    parent=QueueName(f"org-{k % parents}"),
                    weight=1 + k % 4,
                    deserved={GPU: due} if self.mix.named else {},
                    capability={GPU: 4 * due} if k % 5 == 0 else {},
                )
            )
        return queues, leaves

    def _spec(self, shape: tuple[int, int, int, int], extra: str = "") -> PodSpec:
        key = (shape, extra)
        if key not in self.specs:
            _, cpu, memory, gpus = shape
            amounts = Amounts({"cpu": cpu * 1000, "memory": memory * GIB, GPU: gpus * 1000})
            bears = (Toleration(key="dedicated", operator="Exists"),)
            spread = (
                SpreadConstraint(
                    2, "rack", True, LabelSelector((Requirement("spread", "In", (extra,)),))
                ),
            )
            if extra.startswith("model"):
                model = extra.split("=")[1]
                self.specs[key] = PodSpec(amounts, (("gpu.model", model),))
            elif extra.startswith("spread"):
                self.specs[key] = PodSpec(amounts, spread=spread)
            elif extra == "tolerant":
                self.specs[key] = PodSpec(amounts, tolerations=bears)
            else:
                self.specs[key] = PodSpec(amounts)
        return self.specs[key]

    def _shape(self) -> tuple[int, int, int, int]:
        return self.rng.choices(SHAPES, [s[0] for s in SHAPES])[0]

    def _size(self) -> int:
        if self.rng.random() < 0.6:
            return 1
        return min(512, int(2 ** (1 + self.rng.expovariate(0.7))))

    def _running(self, leaves: list[QueueName]) -> None:
        free = {n.name: dict(n.allocatable) for n in self.nodes}
        goal = self.mix.fill * sum(n.allocatable[GPU] for n in self.nodes)
        used, k, misses = 0, 0, 0
        order = [n.name for n in self.nodes]
        while used < goal and misses < 200:
            shape, size = self._shape(), self._size()
            spec = self._spec(shape, "tolerant")
            self.rng.shuffle(order)
            places = self._fit(spec, size, order, free)
            if places is None:
                misses += 1
                continue
            key = self._group(f"run-{k}", leaves, size, started=True)
            for j, name in enumerate(places):
                self._pod(key, f"run-{k}-{j}", spec, NodeName(name))
            used += size * spec.requests[GPU]
            k += 1

    @staticmethod
    def _fit(
        spec: PodSpec, size: int, order: list[NodeName], free: dict[NodeName, dict[str, int]]
    ) -> list[NodeName] | None:
        places: list[NodeName] = []
        need = spec.requests.plus({"pods": 1})
        for name in order:
            room = free[name]
            while len(places) < size and all(room.get(r, 0) >= v for r, v in need.items()):
                for r, v in need.items():
                    room[r] -= v
                places.append(name)
        if len(places) == size:
            return places
        for name in places:
            for r, v in need.items():
                free[name][r] += v
        return None

    def _waiting(self, leaves: list[QueueName]) -> None:
        left, k = self.mix.pods, 0
        while left > 0:
            size = min(left, self._size())
            extra = ""
            if self.rng.random() < self.mix.constrained:
                extra = self.rng.choice(
                    ["model=a100", "model=v100", "model=t4", "tolerant", f"spread-{k}"]
                )
            shape = self._shape()
            if extra.startswith("model=t4") and shape[3] > 4:
                extra = ""
            elastic = size > 3 and self.rng.random() < 0.3
            key = self._group(f"wait-{k}", leaves, size if not elastic else (size + 1) // 2)
            labels = {"spread": extra} if extra.startswith("spread") else {}
            for j in range(size):
                self._pod(key, f"wait-{k}-{j}", self._spec(shape, extra), None, labels)
            left -= size
            k += 1

    def _group(
        self, name: str, leaves: list[QueueName], minimum: int, started: bool = False
    ) -> GroupKey:
        age = self.rng.randrange(3600, 90_000) if started else self.rng.randrange(0, 3600)
        group = Group(
            namespace="bench",
            name=name,
            queue=self.rng.choice(leaves),
            minimum=minimum,
            priority=self.rng.choices((0, 100, 1000), (60, 30, 10))[0],
            created_s=NOW_S - age,
            preemptable=self.rng.random() > 0.1 if started else True,
        )
        self.groups.append(group)
        return group.key

    def _pod(
        self,
        key: GroupKey,
        name: str,
        spec: PodSpec,
        node: NodeName | None,
        labels: dict[str, str] | None = None,
    ) -> None:
        group = self.groups[-1]
        self.pods.append(
            Pod(
                namespace="bench",
                name=name,
                spec=spec,
                state=PodState.PENDING if node is None else PodState.RUNNING,
                group=key,
                node=node,
                labels=labels or {},
                priority=group.priority,
                created_s=group.created_s,
                started_s=None if node is None else group.created_s + 30,
            )
        )
