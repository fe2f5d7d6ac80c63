"""Groups that wait in vain: a plan of one's own would start them, and the scheduler does not.

What is asked is a fresh reading of what the API server says, and the greedy engine, which evicts
nobody and keeps to order and quotas: nothing that the scheduler remembers has a part in it.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import apportion
from apportion.models import Plan, PodKey
from cluster.client import Data

KINDS = (
    ("v1", "Node"), ("v1", "Pod"), ("v1", "Namespace"), ("apps/v1", "ReplicaSet"),
    ("scheduling.k8s.io/v1", "PriorityClass"), ("policy/v1", "PodDisruptionBudget"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"), ("scheduling.volcano.sh/v1beta1", "Queue"),
)  # fmt: skip
"""What a plan for the clusters of a soak depends on."""


class Reads(Protocol):
    """Who says what is in the cluster; a client does."""

    def find_all(self, kind: str) -> list[Data]: ...


class InVain:
    """Finds pods that could have started all the time for so long."""

    def __init__(
        self,
        client: Reads,
        settings: Path,
        patience_s: float,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings`: those of the scheduler."""
        self._client = client
        self._settings = settings
        self._seen = settings.with_name("in-vain.json")
        self._patience_s = patience_s
        self._now_s = now_s
        self._since: dict[tuple[PodKey, str], float] = {}
        self.longest: tuple[float, str] = (0.0, "")
        """The longest that a pod has waited so until now, and which one."""

    def look(self) -> list[str]:
        """Return the groups of which a pod waits in vain, those of equal names once."""
        cluster = self.cluster()
        cautious = cluster.with_settings(engine="greedy", evictions="none")
        made, now, uids = apportion.plan(cautious), self._now_s(), cluster.snapshot.pods_by_key
        keys = {b.pod: (b.pod, uids[b.pod].uid) for b in made.binds}
        self._since = {key: self._since.get(key, now) for key in keys.values()}
        late = {pod for pod, key in keys.items() if now - self._since[key] > self._patience_s}
        waits = ((now - began, pod) for (pod, _), began in self._since.items())
        self.longest = max([self.longest, *waits])
        return _groups_of(made, late) if late and _agrees(cluster, late) else []

    def cluster(self) -> apportion.Cluster:
        """Return the cluster as the API server has it now."""
        things = []
        for api, kind in KINDS:
            group = api.partition("/")[0] if "/" in api else ""
            name = f"{kind}.{group}" if group else kind
            items = self._client.find_all(name)
            things += [{**item, "apiVersion": api, "kind": kind} for item in items]
        self._seen.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
        return apportion.load(self._seen, config=self._settings)


def _agrees(cluster: apportion.Cluster, late: set[PodKey]) -> bool:
    """Whether a plan by the scheduler's own settings starts all of them, too."""
    return late <= {b.pod for b in apportion.plan(cluster).binds}


def _groups_of(made: Plan, late: set[PodKey]) -> list[str]:
    groups = {b.group for b in made.binds if b.pod in late}
    return [f"group {group} waits, though it could have started" for group in sorted(groups)]
