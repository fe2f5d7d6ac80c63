"""What the reader of Kubernetes objects may be told."""

from dataclasses import dataclass
from typing import Literal

from ...models import LabelSelector

QueuesFrom = Literal["volcano", "kueue"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Settings of one reading."""

    scheduler_names: tuple[str, ...] = ("apportion",)
    """Pods with one of these ``schedulerName`` are ours; all others are fixed."""
    queues_from: QueuesFrom = "volcano"
    """``kueue``: queues are Kueue's ClusterQueues; else Volcano's, KAI's and ElasticQuotas."""
    topology_labels: tuple[str, ...] = ()
    """Node labels that are levels of the network, the widest first."""
    shard: LabelSelector | None = None
    """Nodes that it does not match are left to other schedulers; None: all are ours."""
    now_s: int | None = None
    """Seconds since 1970 that ages are computed from; None: the newest timestamp in the objects."""
    live: bool = False
    """The objects are a running cluster's: pods that do not exist yet are not made up from jobs."""
