"""Watches over a cluster during a soak, by what the API server says alone."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from cluster import invariants
from cluster.client import Data
from cluster.in_vain import Reads

GPU = "nvidia.com/gpu"
SETTLE_S = 10.0
"""What was on its way when a limit was lowered or a node deleted arrives within this time."""


class Judge:
    """Finds what is wrong at once, and what has been wrong for too long; times in seconds."""

    def __init__(
        self, client: Reads, patience_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`patience_s`: how long a gang may be there in part."""
        self._client = client
        self._patience_s = patience_s
        self._now_s = now_s
        self._partial_since: dict[str, float] = {}
        self._node_of: dict[str, str] = {}
        self._gone_since: dict[str, float] = {}
        self._known: set[str] = set()
        self._limits: dict[str, Decimal] = {}
        self._ceilings: dict[str, Decimal] = {}
        self._lowered: dict[str, float] = {}
        self.found: list[str] = []
        """Every breach, each once."""
        self.looks = 0

    def look(self) -> None:
        """Look at the cluster as it is now."""
        client = self._client
        # Nodes before pods: a pod may be on a node that has come since, and is not lost.
        groups = client.find_all("podgroups.scheduling.volcano.sh")
        queues = client.find_all("queues.scheduling.volcano.sh")
        nodes = client.find_all("nodes")
        self.judge(client.find_all("pods"), nodes, groups, queues)

    def judge(
        self, pods: list[Data], nodes: list[Data], groups: list[Data], queues: list[Data]
    ) -> None:
        """Judge what was read before."""
        self.looks += 1
        self._note(invariants.overfull(nodes, pods))
        self._note(self._lost(nodes, pods))
        self._note(self._moved(pods))
        self._note(self._over_limit(used_by_queue(pods, groups), limits_of(queues)))
        self._note(self._partial_for_long(invariants.partial_of(groups, pods)))

    def note(self, breaches: Iterable[str]) -> None:
        """Take what somebody else has found."""
        self._note(list(breaches))

    def _note(self, breaches: list[str]) -> None:
        self.found += [b for b in breaches if b not in self.found]

    def _lost(self, nodes: list[Data], pods: list[Data]) -> list[str]:
        """Return pods that were bound to a node when it had been gone for a while."""
        now, names = self._now_s(), {node["metadata"]["name"] for node in nodes}
        self._known |= names
        self._gone_since = {n: self._gone_since.get(n, now) for n in self._known - names}
        late = {n for n, since in self._gone_since.items() if now - since > SETTLE_S}
        return [
            f"pod {pod['metadata']['name']} was bound to node {node}, which had been deleted"
            for pod in pods
            if (node := invariants.holds(pod)) in late
            and pod["metadata"]["uid"] not in self._node_of
        ]

    def _moved(self, pods: list[Data]) -> list[str]:
        """Return pods that are on another node than before."""
        breaches = []
        for pod in pods:
            uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
            if node and self._node_of.setdefault(uid, node) != node:
                breaches.append(f"pod {pod['metadata']['name']} was moved to {node}")
        return breaches

    def _over_limit(self, used: Mapping[str, Decimal], limits: Mapping[str, Decimal]) -> list[str]:
        """Return queues that have got more than they may, though they may keep what they had."""
        now, breaches = self._now_s(), []
        for queue, limit in limits.items():
            if limit < self._limits.get(queue, limit):
                self._lowered[queue] = now
            if now - self._lowered.get(queue, -SETTLE_S) < SETTLE_S:
                self._ceilings[queue] = max(limit, used.get(queue, Decimal(0)))
                continue
            ceiling = max(limit, self._ceilings.get(queue, limit))
            if used.get(queue, 0) > ceiling:
                breaches.append(f"queue {queue} has {used[queue]} GPUs, it may have {ceiling}")
            self._ceilings[queue] = max(limit, min(ceiling, used.get(queue, Decimal(0))))
        self._limits = dict(limits)
        return breaches

    def _partial_for_long(self, partial: list[str]) -> list[str]:
        now = self._now_s()
        by_gang = {text.partition(":")[0]: text for text in partial}
        since = {gang: self._partial_since.get(gang, now) for gang in by_gang}
        self._partial_since = since
        return [
            f"{gang} has been there in part for {self._patience_s:g} s"
            for gang, began in since.items()
            if now - began > self._patience_s
        ]


def used_by_queue(pods: Iterable[Data], groups: Iterable[Data]) -> dict[str, Decimal]:
    """Return the GPUs of each queue's gangs; pods that leave count for no queue."""
    queues = {g["metadata"]["name"]: g["spec"].get("queue", "default") for g in groups}
    used: dict[str, Decimal] = defaultdict(Decimal)
    for pod in pods:
        group = (pod["metadata"].get("annotations") or {}).get(invariants.GROUP)
        if group in queues and invariants.holds(pod) and not invariants.leaves(pod):
            used[queues[group]] += invariants.requests(pod).get(GPU, Decimal(0))
    return used


def limits_of(queues: Iterable[Data]) -> dict[str, Decimal]:
    """Return the GPUs that each queue may have, where it has a limit."""
    found = {}
    for queue in queues:
        capability = queue["spec"].get("capability") or {}
        if GPU in capability:
            found[queue["metadata"]["name"]] = invariants.amount(str(capability[GPU]))
    return found
