"""Watches over a cluster during a soak, by what the API server says alone."""

import time
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal

from cluster import invariants
from cluster.client import Client, Data


class Judge:
    """Finds what is wrong at once, and what has been wrong for too long; times in seconds."""

    def __init__(self, client: Client, limits: Mapping[str, int], patience_s: float) -> None:
        """`limits`: GPUs by queue; `patience_s`: how long a gang may be there in part."""
        self._client = client
        self._limits = limits
        self._patience_s = patience_s
        self._partial_since: dict[str, float] = {}
        self._node_of: dict[str, str] = {}
        self.found: list[str] = []
        """Every breach, each once."""
        self.looks = 0

    def look(self) -> None:
        """Look at the cluster as it is now."""
        self.looks += 1
        client = self._client
        pods, nodes = client.find_all("pods"), client.find_all("nodes")
        groups = client.find_all("podgroups.scheduling.volcano.sh")
        self._note(invariants.overfull(nodes, pods))
        self._note(invariants.lost(nodes, pods))
        self._note(self._moved(pods))
        self._note(self._over_limit(pods, groups))
        self._note(self._partial_for_long(invariants.partial_of(groups, pods)))

    def _note(self, breaches: list[str]) -> None:
        self.found += [b for b in breaches if b not in self.found]

    def _moved(self, pods: list[Data]) -> list[str]:
        """Return pods that are on another node than before."""
        breaches = []
        for pod in pods:
            uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
            if node and self._node_of.setdefault(uid, node) != node:
                breaches.append(f"pod {pod['metadata']['name']} was moved to {node}")
        return breaches

    def _over_limit(self, pods: list[Data], groups: list[Data]) -> list[str]:
        queues = {g["metadata"]["name"]: g["spec"].get("queue", "default") for g in groups}
        used: dict[str, Decimal] = defaultdict(Decimal)
        for pod in pods:
            group = (pod["metadata"].get("annotations") or {}).get(invariants.GROUP)
            if group in queues and invariants.holds(pod):
                asked = invariants.requests(pod)
                used[queues[group]] += asked.get("nvidia.com/gpu", Decimal(0))
        return [
            f"queue {queue} has {amount} GPUs, its limit is {self._limits[queue]}"
            for queue, amount in used.items()
            if amount > self._limits[queue]
        ]

    def _partial_for_long(self, partial: list[str]) -> list[str]:
        now = time.monotonic()
        by_gang = {text.partition(":")[0]: text for text in partial}
        since = {gang: self._partial_since.get(gang, now) for gang in by_gang}
        self._partial_since = since
        return [
            f"{gang} has been there in part for {self._patience_s:g} s"
            for gang, began in since.items()
            if now - began > self._patience_s
        ]
