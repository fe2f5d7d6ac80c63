"""Large: seeded clusters as they are in the field, filled to a stated level; work waits.

Five GPU models and CPU nodes, racks in blocks, taints, a tree of queues, pods of node agents; of
the waiting pods 60 % are in gangs of 2 to 512, a third share GPUs, a tenth of the groups have
constraints. Nothing is read from elsewhere.
"""

import random
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from apportion.models import (
    Amounts,
    Device,
    DeviceShare,
    Group,
    GroupKey,
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
    SpreadConstraint,
    Taint,
    Toleration,
    Topology,
    TopologyRequest,
    snapshot_of,
)

from .instances import GIB, GPU, KINDS, NOW_S

RACK, BLOCK = 16, 128
"""Nodes of a rack, and of a block."""
MEMORY_MIB = {"a100": 81_920, "h100": 81_920, "v100": 32_768, "t4": 16_384, "l4": 24_576}
SHAPES = (
    # weight, cpu cores, memory GiB, GPUs in thousandths
    (15, 4, 16, 0),
    (8, 8, 64, 0),
    (15, 2, 8, 250),
    (20, 4, 16, 500),
    (22, 8, 32, 1000),
    (8, 12, 96, 1000),
    (8, 16, 128, 2000),
    (6, 32, 256, 4000),
    (5, 64, 512, 8000),
)
"""What pods ask for; a third of the pods that ask for GPUs ask for parts of one."""
SIZES = (2, 2, 4, 4, 4, 8, 8, 8, 16, 16, 32, 64, 128, 256, 512)
FABRIC = "fabric"

Room = NDArray[np.int64]


@dataclass(frozen=True)
class Large:
    """What a cluster looks like."""

    nodes: int
    waiting: int
    """Waiting pods."""
    queues: int = 50
    fill: float = 0.8
    """Part of the GPUs that is in use before the plan."""
    seed: int = 1
    gangs: float = 0.6
    """Part of the pods that are in gangs."""
    constrained: float = 0.1
    """Part of the waiting groups with a selector, toleration, spread or wish to be near."""
    agents: int = 2
    """Pods of node agents on each node, which no plan touches."""
    distinct: bool = False
    """Every node has a label and free amounts of its own, and is told apart by both."""


def large(of: Large) -> Snapshot:
    """Return the cluster; equal descriptions give equal snapshots."""
    return _Maker(of).run()


@dataclass
class _Maker:
    of: Large
    specs: dict[object, PodSpec] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    in_gangs: int = 0
    alone: int = 1

    def run(self) -> Snapshot:
        self.rng = random.Random(self.of.seed)
        self.nodes = [self._node(i) for i in range(self.of.nodes)]
        self._agents()
        self.room: Room = np.array(
            [[n.allocatable["cpu"], n.allocatable["memory"], n.allocatable["pods"]]
             for n in self.nodes], dtype=np.int64,
        )  # fmt: skip
        self.room[:, 0] -= 100 * self.of.agents
        self.room[:, 1] -= GIB // 4 * self.of.agents
        self.room[:, 2] -= self.of.agents
        self.gpus: Room = np.zeros((len(self.nodes), 8), dtype=np.int64)
        for i, n in enumerate(self.nodes):
            self.gpus[i, : len(n.devices)] = 1000
        queues, leaves = self._queues()
        self._running(leaves)
        self._waiting(leaves)
        return snapshot_of(
            taken_at_s=NOW_S, nodes=self.nodes, pods=self.pods, groups=self.groups, queues=queues,
            topologies=[self._fabric()] if any(g.topology for g in self.groups) else [],
        )  # fmt: skip

    # Nodes

    def _node(self, i: int) -> Node:
        model, _, cpu, memory, gpus = self.rng.choices(KINDS, [k[1] for k in KINDS])[0]
        labels = {
            "kubernetes.io/hostname": f"node-{i}", "rack": f"rack-{i // RACK}",
            "block": f"block-{i // BLOCK}",
        }  # fmt: skip
        if model:
            labels["gpu.model"] = model
        # What the kubelet and system pods keep is never quite the same.
        kept = self.rng.randrange(0, 4) * 250
        kept_memory = 4 * GIB
        if self.of.distinct:
            kept, kept_memory = 1 + i % 997, 4 * GIB + i * 4096
        taints: tuple[Taint, ...] = ()
        if model == "h100" and i % 3 == 0:
            taints = (Taint(key="dedicated", effect="NoSchedule", value="h100"),)
        return Node(
            name=NodeName(f"node-{i}"),
            allocatable=Amounts(
                {
                    "cpu": cpu * 1000 - kept, "memory": memory * GIB - kept_memory,
                    GPU: gpus * 1000, "pods": 110,
                }
            ),
            labels=labels,
            taints=taints,
            devices=(Device(MEMORY_MIB.get(model, 0), model=model),) * gpus,
            hands_out=("reservation", "whole") if gpus else (),
        )  # fmt: skip

    def _fabric(self) -> Topology:
        levels = []
        for label in ("block", "rack"):
            domains: dict[str, list[str]] = {}
            for n in self.nodes:
                name = n.labels[label]
                if label == "rack":
                    name = f"{n.labels['block']}/{name}"
                domains.setdefault(name, []).append(n.name)
            levels.append(Level(label, {d: tuple(names) for d, names in domains.items()}))
        return Topology(FABRIC, tuple(levels))

    def _agents(self) -> None:
        """Pods of other schedulers on every node: agents that ship logs and metrics."""
        spec = PodSpec(
            Amounts({"cpu": 100, "memory": GIB // 4}),
            tolerations=(Toleration(operator="Exists"),),
        )
        for n in self.nodes:
            for k in range(self.of.agents):
                self.pods.append(
                    Pod(
                        "kube-system", f"agent-{k}-{n.name}", spec, PodState.RUNNING, node=n.name,
                        critical=True, owner=f"DaemonSet/agent-{k}", scheduler="default-scheduler",
                    )
                )  # fmt: skip

    # Queues

    def _queues(self) -> tuple[list[Queue], list[QueueName]]:
        total = sum(n.allocatable[GPU] for n in self.nodes)
        parents = max(1, self.of.queues // 5)
        queues = [Queue(name=QueueName(f"org-{k}"), weight=1 + k % 3) for k in range(parents)]
        leaves = [QueueName(f"team-{k}") for k in range(self.of.queues)]
        for k, leaf in enumerate(leaves):
            due = total // self.of.queues // 1000 * 1000
            queues.append(
                Queue(
                    name=leaf,
                    parent=QueueName(f"org-{k % parents}"),
                    weight=1 + k % 4,
                    deserved={GPU: due},
                    capability={GPU: 4 * due} if k % 5 == 0 else {},
                )
            )
        return queues, leaves

    # Work

    def _spec(self, shape: tuple[int, int, int, int], extra: str = "") -> PodSpec:
        key = (shape, extra)
        if key not in self.specs:
            _, cpu, memory, gpus = shape
            more: dict[str, object] = {}
            if extra.startswith("model="):
                more["node_selector"] = (("gpu.model", extra.removeprefix("model=")),)
            elif extra.startswith("spread"):
                chosen = LabelSelector((Requirement("spread", "In", (extra,)),))
                more["spread"] = (SpreadConstraint(2, "rack", True, chosen),)
            elif extra == "tolerant":
                more["tolerations"] = (Toleration(key="dedicated", operator="Exists"),)
            if 0 < gpus < 1000:
                more["share"] = DeviceShare(memory_ppm=gpus * 1000)
            amounts = Amounts({"cpu": cpu * 1000, "memory": memory * GIB, GPU: gpus})
            self.specs[key] = PodSpec(amounts, **more)  # type: ignore[arg-type]  # by name
        return self.specs[key]

    def _shape(self) -> tuple[int, int, int, int]:
        return self.rng.choices(SHAPES, [s[0] for s in SHAPES])[0]

    def _size(self, most: int) -> int:
        """Draw the size of a group so that the stated part of the pods so far is in gangs."""
        sizes = [s for s in SIZES if s <= most]
        size = 1
        if sizes and self.in_gangs < self.of.gangs * (self.in_gangs + self.alone):
            size = self.rng.choice(sizes)
        if size > 1:
            self.in_gangs += size
        else:
            self.alone += 1
        return size

    def _running(self, leaves: list[QueueName]) -> None:
        whole = int((self.gpus > 0).sum()) * 1000
        used, k, misses = 0, 0, 0
        while used < self.of.fill * whole and misses < 300:
            shape = self._shape()
            size = self._size(min(128, max(1, self.of.nodes // 4)))
            spec = self._spec(shape, "tolerant")
            places = self._fit(spec, size)
            if places is None:
                misses += 1
                continue
            key = self._group(f"run-{k}", leaves, size, started=True)
            for j, (i, devices) in enumerate(places):
                self._pod(key, f"run-{k}-{j}", spec, self.nodes[i].name, devices=devices)
            used += size * spec.requests[GPU]
            k += 1

    def _fit(self, spec: PodSpec, size: int) -> list[tuple[int, tuple[int, ...]]] | None:
        """Find room for the pods from a random node on; equal nodes fill up one after the other."""
        need = np.array([spec.requests["cpu"], spec.requests["memory"], 1], dtype=np.int64)
        gpus = spec.requests[GPU]
        able = (self.room >= need).all(axis=1)
        if gpus:
            most = self.gpus.max(axis=1)
            able &= most >= gpus if spec.share else (self.gpus == 1000).sum(axis=1) >= gpus // 1000
        order = np.flatnonzero(able)
        if not len(order):
            return None
        out: list[tuple[int, tuple[int, ...]]] = []
        for i in np.roll(order, -self.rng.randrange(len(order))):
            while len(out) < size and (self.room[i] >= need).all():
                devices = self._devices(int(i), gpus, spec.share is not None)
                if devices is None:
                    break
                self.room[i] -= need
                out.append((int(i), devices))
            if len(out) == size:
                return out
        for at, devices in out:
            self.room[at] += need
            for d in devices:
                self.gpus[at, d] += gpus if spec.share else 1000
        return None

    def _devices(self, i: int, gpus: int, shared: bool) -> tuple[int, ...] | None:
        free = self.gpus[i]
        if shared:
            able = [d for d in range(8) if free[d] >= gpus]
            if not able:
                return None
            d = min(able, key=lambda d: (free[d], d))
            free[d] -= gpus
            return (d,)
        idle = np.flatnonzero(free == 1000)[: gpus // 1000]
        if len(idle) < gpus // 1000:
            return None
        free[idle] = 0
        return tuple(int(d) for d in idle)

    def _waiting(self, leaves: list[QueueName]) -> None:
        left, k = self.of.waiting, 0
        self.in_gangs, self.alone = 0, 1
        while left > 0:
            size = self._size(min(left, self.of.nodes * 2))
            shape = self._shape()
            extra, near = "", None
            if self.rng.random() < self.of.constrained:
                extra = self.rng.choice(
                    ["model=a100", "model=v100", "model=t4", "tolerant", f"spread-{k}", "near"]
                )
            if extra == "model=t4" and shape[3] > 4000:
                extra = ""
            if extra == "near":
                extra, near = "", TopologyRequest(FABRIC, preferred="rack") if size > 1 else None
            elastic = size > 3 and self.rng.random() < 0.3
            minimum = size if not elastic else (size + 1) // 2
            key = self._group(f"wait-{k}", leaves, minimum, near=near)
            labels = {"spread": extra} if extra.startswith("spread") else {}
            for j in range(size):
                self._pod(key, f"wait-{k}-{j}", self._spec(shape, extra), None, labels)
            left -= size
            k += 1

    def _group(
        self, name: str, leaves: list[QueueName], minimum: int, started: bool = False,
        near: TopologyRequest | None = None,
    ) -> GroupKey:  # fmt: skip
        age = self.rng.randrange(3600, 90_000) if started else self.rng.randrange(0, 3600)
        group = Group(
            namespace="bench",
            name=name,
            queue=self.rng.choice(leaves),
            minimum=minimum,
            priority=self.rng.choices((0, 100, 1000), (60, 30, 10))[0],
            created_s=NOW_S - age,
            preemptable=self.rng.random() > 0.1 if started else True,
            topology=near,
        )
        self.groups.append(group)
        return group.key

    def _pod(
        self, key: GroupKey, name: str, spec: PodSpec, node: NodeName | None,
        labels: dict[str, str] | None = None, devices: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
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
                devices=devices if spec.share else (),
            )
        )
