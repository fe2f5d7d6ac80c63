"""Random work and random faults on a cluster, by a seed: what a soak makes a scheduler bear."""

import random
from collections.abc import Callable
from contextlib import suppress

from cluster.between import Proxy
from cluster.client import ApiError, Client, Data
from cluster.objects import gang, pod, priority_class, queue
from cluster.plane import ControlPlane
from cluster.rules import Lose, Refuse, is_bind
from cluster.scheduler import Scheduler, Schedulers

QUEUES = {"a": 24, "b": 40, "default": 1000}
"""The queues, each with its limit of GPUs."""

PRIORITIES = ("low", "middle", "high")

AT_ONCE = 16
"""So many gangs at most."""


class Turmoil:
    """One random thing after the other. `apportion-0` and its successors are the scheduler."""

    def __init__(
        self,
        plane: ControlPlane,
        client: Client,
        proxy: Proxy,
        schedulers: Schedulers,
        words: tuple[str, ...],
        seed: int,
    ) -> None:
        self._plane = plane
        self._client = client
        self._proxy = proxy
        self._schedulers = schedulers
        self._words = words
        self._chance = random.Random(seed)
        self._made = 0
        self._gangs: list[str] = []
        self._singles: list[str] = []
        self._drained: list[str] = []
        self.done: dict[str, int] = {}
        """How often each thing was done."""

    def prepare(self) -> Scheduler:
        """Make queues and priorities, and start the scheduler."""
        client = self._client
        for name, gpus in QUEUES.items():
            client.apply(queue(name, capability={"nvidia.com/gpu": gpus}))
        client.create_all(priority_class(n, 10**i) for i, n in enumerate(PRIORITIES, 1))
        return self._schedulers.start(*self._words, through=self._proxy)

    def work(self) -> None:
        """Submit, end or drain something."""
        self._do(
            (self._submit_gang, 4), (self._submit_single, 4), (self._end_gang, 3),
            (self._end_single, 3), (self._drain, 1), (self._open, 2),
        )  # fmt: skip

    def trouble(self) -> None:
        """Let something fail."""
        self._do(
            (self._cut, 3), (self._lose, 3), (self._refuse, 3), (self._kill_scheduler, 2),
            (self._restart_server, 1),
        )  # fmt: skip

    def calm(self) -> None:
        """Open every node again."""
        while self._drained:
            self._open()

    def _do(self, *choices: tuple[Callable[[], None], int]) -> None:
        acts, weights = zip(*choices, strict=True)
        (act,) = self._chance.choices(acts, weights)
        name = act.__name__.strip("_")
        self.done[name] = self.done.get(name, 0) + 1
        act()

    def _submit_gang(self) -> None:
        """Submit a gang whose pods a ReplicaSet brings back, as a controller of jobs would."""
        if len(self._gangs) >= AT_ONCE:
            self._end_gang()
        self._made += 1
        name, size = f"g{self._made}", self._chance.randint(2, 6)
        group, first, *_ = gang(
            name, size, self._chance.choice((1, 2, 4, 8)),
            minimum=self._chance.choice((size, size, max(1, size - 1))),
            queue=self._chance.choice(tuple(QUEUES)), priority=self._chance.choice(PRIORITIES),
            labels={"gang": name},
        )  # fmt: skip
        meta = {key: first["metadata"][key] for key in ("labels", "annotations")}
        template = {"metadata": meta, "spec": first["spec"]}
        spec = {"replicas": size, "selector": {"matchLabels": {"gang": name}}, "template": template}
        self._client.create(group)
        self._client.create(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet",
             "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        )  # fmt: skip
        self._gangs.append(name)

    def _submit_single(self) -> None:
        self._made += 1
        times = {"runs": f"{self._chance.randint(1, 8)}s"} if self._chance.random() < 0.7 else {}
        one = pod(
            f"s{self._made}", self._chance.choice((1, 1, 2, 4)), times=times,
            priorityClassName=self._chance.choice(PRIORITIES),
        )  # fmt: skip
        self._client.create(one)
        self._singles.append(f"s{self._made}")

    def _end_gang(self) -> None:
        if self._gangs:
            name = self._gangs.pop(self._chance.randrange(len(self._gangs)))
            self._client.delete("replicasets", name)
            self._client.delete("podgroups.scheduling.volcano.sh", name)

    def _end_single(self) -> None:
        if self._singles:
            name = self._singles.pop(self._chance.randrange(len(self._singles)))
            with suppress(ApiError):  # it may have been evicted
                self._client.delete("pods", name)

    def _drain(self) -> None:
        """Close a node, and evict what is on it, as `kubectl drain` does."""
        names = sorted(n["metadata"]["name"] for n in self._client.find_all("nodes"))
        closed = [n for n in names if n not in self._drained]
        if len(self._drained) > len(names) // 4:
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
            self._client.patch("nodes", name, {"spec": {"unschedulable": None}})

    def _on(self, node: str) -> list[Data]:
        return self._client.find_all("pods", fieldSelector=f"spec.nodeName={node}")

    def _cut(self) -> None:
        self._proxy.cut()

    def _lose(self) -> None:
        self._proxy.add(Lose(is_bind, times=self._chance.randint(1, 4)))

    def _refuse(self) -> None:
        status = self._chance.choice((409, 429, 500, 503))
        self._proxy.add(Refuse(lambda r: r.writes, status, times=self._chance.randint(1, 8)))

    def _kill_scheduler(self) -> None:
        self._schedulers.started[-1].kill()
        self._schedulers.start(*self._words, through=self._proxy)

    def _restart_server(self) -> None:
        self._plane.restart("kube-apiserver")
