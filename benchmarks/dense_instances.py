"""Dense instances: a small cluster that is nearly full, whole GPUs and shares, three levels.

Nodes of eight GPUs in racks, blocks and zones. What runs holds whole GPUs or shares of single ones;
what waits are gangs, of which some must lie in one rack and the others wish for one block. Nothing
is read from elsewhere.
"""

import random
from dataclasses import dataclass, field

from apportion.models import (
    Amounts,
    Device,
    DeviceShare,
    Group,
    Level,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Snapshot,
    Topology,
    TopologyRequest,
    snapshot_of,
)

GPU = "nvidia.com/gpu"
NOW_S = 100_000
GPUS = 8
"""Of one node."""
PARTS = (100, 200, 250, 300, 400, 500, 600, 700)
"""What shares hold of a GPU, in thousandths."""
RACK, BLOCK, ZONE = 4, 16, 32
"""Nodes of each."""


@dataclass(frozen=True)
class Dense:
    """What a dense cluster looks like."""

    nodes: int = 64
    gangs: int = 60
    """Waiting."""
    queues: int = 4
    fill: float = 0.85
    """Part of the GPUs that is in use before the plan."""
    shares: float = 0.4
    """Part of the groups whose pods ask for shares, running and waiting."""
    racks: float = 0.5
    """Part of the waiting gangs that must lie in one rack; the others wish for one block."""
    seed: int = 1


def dense(asked: Dense) -> Snapshot:
    """Return the cluster; equal descriptions give equal snapshots."""
    return _Maker(asked).run()


@dataclass
class _Maker:
    asked: Dense
    specs: dict[int, PodSpec] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)

    def run(self) -> Snapshot:
        asked = self.asked
        self.rng = random.Random(asked.seed)
        # By node and GPU: what is left of it, in thousandths.
        self.left = [[1000] * GPUS for _ in range(asked.nodes)]
        due = asked.nodes * GPUS * 1000 // asked.queues
        queues = [Queue(QueueName(f"team-{k}"), deserved={GPU: due}) for k in range(asked.queues)]
        self._running()
        for k in range(asked.gangs):
            self._waiting(k)
        return snapshot_of(
            taken_at_s=NOW_S,
            nodes=[self._node(i) for i in range(asked.nodes)],
            queues=queues,
            groups=self.groups,
            pods=self.pods,
            topologies=[self._levels()],
        )

    @staticmethod
    def _node(i: int) -> Node:
        return Node(
            NodeName(f"node-{i:02}"),
            Amounts({"cpu": 128_000, GPU: GPUS * 1000, "pods": 110}),
            {"kubernetes.io/hostname": f"node-{i:02}"},
            devices=(Device(80_000),) * GPUS,
            hands_out=("reservation", "whole"),
        )

    def _levels(self) -> Topology:
        def level(name: str, size: int) -> Level:
            domains: dict[str, list[str]] = {}
            for i in range(self.asked.nodes):
                domains.setdefault(f"{name}-{i // size:02}", []).append(f"node-{i:02}")
            return Level(name, {d: tuple(of) for d, of in domains.items()})

        return Topology("net", (level("zone", ZONE), level("block", BLOCK), level("rack", RACK)))

    def _spec(self, part: int) -> PodSpec:
        """Return a spec of so many thousandths of a GPU: a share, or whole ones."""
        if part not in self.specs:
            share = DeviceShare(memory_ppm=part * 1000) if part < 1000 else None
            self.specs[part] = PodSpec(Amounts({"cpu": 2 * part, GPU: part}), share=share)
        return self.specs[part]

    def _group(
        self, name: str, minimum: int, created_s: int, topology: TopologyRequest | None = None
    ) -> Group:
        group = Group(
            "bench",
            name,
            QueueName(f"team-{self.rng.randrange(self.asked.queues)}"),
            minimum,
            priority=self.rng.choice((0, 0, 100))
            if not topology
            else self.rng.choice((0, 100, 200)),
            created_s=created_s,
            topology=topology,
        )
        self.groups.append(group)
        return group

    # What runs

    def _running(self) -> None:
        goal = int(self.asked.fill * self.asked.nodes * GPUS * 1000)
        used = 0
        while used < goal:
            if self.rng.random() < self.asked.shares:
                part, size = self.rng.choice(PARTS), self.rng.choice((1, 1, 2))
            else:
                part, size = 1000 * self.rng.choice((1, 1, 2, 4, 8)), self.rng.choice((1, 1, 2, 4))
            places = self._find(part, size)
            if places is None:
                continue
            age = self.rng.randrange(3600, 90_000)
            group = self._group(f"run-{len(self.groups)}", size, NOW_S - age)
            for j, (i, at) in enumerate(places):
                self._pod(group, j, part, i, at if part < 1000 else ())
            used += part * size

    def _find(self, part: int, size: int) -> list[tuple[int, tuple[int, ...]]] | None:
        """Find a node and GPUs for each of the pods, in one rack, and take them."""
        rack = self.rng.randrange(self.asked.nodes // RACK) * RACK
        found: list[tuple[int, tuple[int, ...]]] = []
        for i in range(rack, rack + RACK):
            while len(found) < size and (at := self._devices(self.left[i], part)):
                for d in at:
                    self.left[i][d] -= min(part, 1000)
                found.append((i, at))
        if len(found) == size:
            return found
        for i, at in found:
            for d in at:
                self.left[i][d] += min(part, 1000)
        return None

    @staticmethod
    def _devices(left: list[int], part: int) -> tuple[int, ...]:
        """Return idle GPUs for whole ones; for a share the fullest that still holds it."""
        if part < 1000:
            able = [d for d in range(GPUS) if left[d] >= part]
            return (min(able, key=lambda d: left[d]),) if able else ()
        idle = [d for d in range(GPUS) if left[d] == 1000]
        return tuple(idle[: part // 1000]) if len(idle) >= part // 1000 else ()

    # What waits

    def _waiting(self, k: int) -> None:
        if self.rng.random() < self.asked.shares:
            part, size = self.rng.choice(PARTS), self.rng.choice((2, 4, 8))
        else:
            part = 1000 * self.rng.choice((1, 2, 4, 8))
            size = min(self.rng.choice((2, 2, 4, 4, 8)), RACK * GPUS * 1000 // part)
        near = self.rng.random() < self.asked.racks
        topology = TopologyRequest("net", "rack" if near else "", "" if near else "block")
        group = self._group(f"wait-{k}", size, NOW_S - 3600 + k, topology)
        for j in range(size):
            self._pod(group, j, part)

    def _pod(
        self,
        group: Group,
        j: int,
        part: int,
        node: int | None = None,
        devices: tuple[int, ...] = (),
    ) -> None:
        self.pods.append(
            Pod(
                group.namespace,
                f"{group.name}-{j}",
                self._spec(part),
                PodState.PENDING if node is None else PodState.RUNNING,
                group.key,
                node=None if node is None else NodeName(f"node-{node:02}"),
                devices=devices,
                priority=group.priority,
                created_s=group.created_s,
                started_s=None if node is None else group.created_s + 30,
            )
        )
