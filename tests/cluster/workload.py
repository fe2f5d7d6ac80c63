"""Random work on a cluster, by a seed: what is submitted, deleted, drained and edited in a soak."""

import random
from collections.abc import Callable
from contextlib import suppress

from cluster.client import ApiError, Client, Data
from cluster.objects import gang, node, pod, priority_class, queue

QUEUES = {"a": 24, "b": 40, "default": 1000}
"""The queues, each with its limit of GPUs at first; that of `default` stays."""
GPU = "nvidia.com/gpu"
PRIORITIES = ("low", "middle", "high")
AT_ONCE = 16
"""So many gangs at most."""
CLASSES = 12
"""So many PriorityClasses at most."""

Act = Callable[[], None]


class Workload:
    """One random thing after the other."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self._client = client
        self._chance = chance
        self._made = 0
        self._gangs: list[str] = []
        self._singles: list[str] = []
        self._drained: list[str] = []
        self._priorities: list[str] = []
        self.gone: list[str] = []
        """Nodes that were deleted, and are to come back."""

    def prepare(self, nodes: int) -> None:
        """Make nodes, queues and priorities."""
        client = self._client
        client.create_all(node(f"n{i}", 8) for i in range(nodes))
        for name, gpus in QUEUES.items():
            client.apply(queue(name, capability={GPU: gpus}))
        client.create_all(priority_class(n, 10**i) for i, n in enumerate(PRIORITIES, 1))
        self._priorities += PRIORITIES

    @property
    def choices(self) -> tuple[tuple[Act, int], ...]:
        """What may be done next, each with its weight."""
        return (
            (self._submit_gang, 8), (self._submit_single, 8), (self._end_gang, 6),
            (self._end_single, 6), (self._drain, 2), (self._open, 4), (self._new_priority, 1),
            (self._change_priority, 2), (self._change_queue, 2), (self._bring_back, 2),
        )  # fmt: skip

    def calm(self) -> None:
        """Bring every node back, and open it."""
        while self.gone:
            self._bring_back()
        while self._drained:
            self._open()

    def sweep(self) -> None:
        """Delete pods on nodes that are gone, as the collector of garbage does."""
        if self.gone:
            there = self.nodes()
            for one in self._client.find_all("pods"):
                if (on := one["spec"].get("nodeName")) and on not in there:
                    with suppress(ApiError):
                        self._client.delete("pods", one["metadata"]["name"], grace_s=0)

    def nodes(self) -> list[str]:
        return sorted(n["metadata"]["name"] for n in self._client.find_all("nodes"))

    def submit_single(self, gpus: int | None = None) -> str:
        """Submit a pod of its own; return its name."""
        self._made += 1
        name = f"s{self._made}"
        times = {"runs": f"{self._chance.randint(1, 8)}s"} if self._chance.random() < 0.7 else {}
        one = pod(
            name, gpus or self._chance.choice((1, 1, 2, 4)), times=times,
            priorityClassName=self._chance.choice(self._priorities),
        )  # fmt: skip
        self._client.create(one)
        self._singles.append(name)
        return name

    def delete_node(self, name: str) -> None:
        """Delete a node, and then the pods that were on it."""
        self.gone.append(name)
        self._client.delete("nodes", name)
        self.sweep()

    def _submit_gang(self) -> None:
        """Submit a gang whose pods a ReplicaSet brings back, as a controller of jobs would."""
        if len(self._gangs) >= AT_ONCE:
            self._end_gang()
        self._made += 1
        name, size = f"g{self._made}", self._chance.randint(2, 6)
        group, first, *_ = gang(
            name, size, self._chance.choice((1, 2, 4, 8)),
            minimum=self._chance.choice((size, size, max(1, size - 1))),
            queue=self._chance.choice(tuple(QUEUES)),
            priority=self._chance.choice(self._priorities), labels={"gang": name},
        )  # fmt: skip
        meta = {key: first["metadata"][key] for key in ("labels", "annotations")}
        template = {"metadata": meta, "spec": first["spec"]}
        spec = {"replicas": size, "selector": {"matchLabels": {"gang": name}}, "template": template}
        self._client.create(group)
        self._gangs.append(name)
        self._client.create(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet",
             "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        )  # fmt: skip

    def _submit_single(self) -> None:
        self.submit_single()

    def _end_gang(self) -> None:
        if self._gangs:
            name = self._gangs.pop(self._chance.randrange(len(self._gangs)))
            for kind in ("replicasets", "podgroups.scheduling.volcano.sh"):
                with suppress(ApiError):  # the server may have failed while it was made
                    self._client.delete(kind, name)

    def _end_single(self) -> None:
        if self._singles:
            name = self._singles.pop(self._chance.randrange(len(self._singles)))
            with suppress(ApiError):  # it may have been evicted
                self._client.delete("pods", name)

    def _drain(self) -> None:
        """Close a node, and evict what is on it, as `kubectl drain` does."""
        names = self.nodes()
        closed = [n for n in names if n not in self._drained]
        if not closed or len(self._drained) > len(names) // 4:
            return
        name = self._chance.choice(closed)
        self._client.patch("nodes", name, {"spec": {"unschedulable": True}})
        self._drained.append(name)
        for one in self._on(name):
            with suppress(ApiError):  # it has just gone
                self._client.evict(one["metadata"]["name"])

    def _open(self) -> None:
        if self._drained:
            name = self._drained.pop(0)
            with suppress(ApiError):  # it may have been deleted
                self._client.patch("nodes", name, {"spec": {"unschedulable": None}})

    def _bring_back(self) -> None:
        """Create a node that was deleted, under its name."""
        if self.gone:
            self.sweep()
            name = self.gone[0]
            if name not in self.nodes():
                self._client.create(node(name, 8))
            self.gone.pop(0)

    def _new_priority(self) -> None:
        """Make a priority that pods may have from now on."""
        if len(self._priorities) < CLASSES:
            self._made += 1
            name = f"p{self._made}"
            self._client.create(priority_class(name, self._chance.randint(1, 2000)))
            self._priorities.append(name)

    def _change_priority(self) -> None:
        """Give a gang another priority; its pods keep theirs."""
        if self._gangs:
            change = {"spec": {"priorityClassName": self._chance.choice(self._priorities)}}
            with suppress(ApiError):  # the server may have failed while it was made
                name = self._chance.choice(self._gangs)
                self._client.patch("podgroups.scheduling.volcano.sh", name, change)

    def _change_queue(self) -> None:
        """Give a queue another limit, or another weight."""
        name = self._chance.choice([q for q in QUEUES if q != "default"])
        limit = {"capability": {GPU: self._chance.choice((8, 16, 24, 40, 64))}}
        change = self._chance.choice((limit, {"weight": self._chance.randint(1, 4)}))
        self._client.patch("queues.scheduling.volcano.sh", name, {"spec": change})

    def _on(self, node: str) -> list[Data]:
        return self._client.find_all("pods", fieldSelector=f"spec.nodeName={node}")
