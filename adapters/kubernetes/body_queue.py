"""The shapes of queues: Volcano's, KAI's and Kueue's, and of Volcano's Job."""

from typing import Any, Literal

from .body_rare import Natural, Number, Quantity, Signed, Whole
from .shape import Outside

State = Literal["", "Open", "Closed", "Closing", "Unknown"]


class Guarantee(Outside):
    """What is kept for a Volcano queue."""

    resource: dict[str, Quantity] | None = None


class VolcanoQueueSpec(Outside):
    """``spec`` of a Volcano Queue."""

    weight: Natural | None = None
    capability: dict[str, Signed] | None = None
    deserved: dict[str, Quantity] | None = None
    guarantee: Guarantee | None = None
    reclaimable: bool | None = None
    parent: str | None = None
    priority: Whole | None = None
    state: State | None = None
    affinity: Any = None
    dequeue_strategy: str | None = None
    extend_clusters: list[Any] | None = None


class VolcanoQueueStatus(Outside):
    """``status`` of a Volcano Queue; the counts are of PodGroups by phase."""

    state: State | None = None
    pending: Natural | None = None
    inqueue: Natural | None = None
    running: Natural | None = None
    unknown: Natural | None = None
    completed: Natural | None = None
    allocated: dict[str, Quantity] | None = None


class VolcanoQueue(Outside):
    """A Volcano Queue without its head."""

    spec: VolcanoQueueSpec | None = None
    status: VolcanoQueueStatus | None = None


class KaiShare(Outside):
    """What a KAI queue may have of one resource; -1: unlimited."""

    quota: Number = None
    limit: Number = None
    over_quota_weight: Number = None


class KaiResources(Outside):
    """Shares of a KAI queue: cpu in millicores, memory in 10^6 bytes, gpu in devices."""

    cpu: KaiShare | None = None
    memory: KaiShare | None = None
    gpu: KaiShare | None = None


class KaiQueueSpec(Outside):
    """``spec`` of a KAI Queue."""

    parent_queue: str | None = None
    priority: Whole | None = None
    resources: KaiResources | None = None
    preempt_min_runtime: Any = None
    reclaim_min_runtime: Any = None


class KaiQueue(Outside):
    """A KAI Queue without its head."""

    spec: KaiQueueSpec | None = None


class FlavorResource(Outside):
    """Quota of one resource in one flavor."""

    name: str
    nominal_quota: Quantity = 0
    borrowing_limit: Quantity = None
    lending_limit: Quantity = None


class Flavor(Outside):
    """Quotas of one flavor."""

    name: str = ""
    resources: list[FlavorResource] | None = None


class ResourceGroup(Outside):
    """Flavors that serve the same resources."""

    flavors: list[Flavor] | None = None


class FairSharing(Outside):
    """Weight of a Kueue queue."""

    weight: Quantity = None


class KueuePreemption(Outside):
    """Whom groups of a ClusterQueue may evict."""

    within_cluster_queue: (
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority", ""] | None
    ) = None
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any", ""] | None = None
    borrow_within_cohort: Any = None


class KueueSpec(Outside):
    """``spec`` of a ClusterQueue or a Cohort."""

    resource_groups: list[ResourceGroup] | None = None
    cohort_name: str | None = None
    cohort: str | None = None
    parent_name: str | None = None
    parent: str | None = None
    fair_sharing: FairSharing | None = None
    stop_policy: Literal["None", "Hold", "HoldAndDrain", ""] | None = None
    namespace_selector: Any = None
    preemption: KueuePreemption | None = None
    queueing_strategy: str | None = None
    flavor_fungibility: Any = None
    admission_checks: Any = None
    admission_checks_strategy: Any = None


class KueueQueue(Outside):
    """A ClusterQueue or a Cohort without its head."""

    spec: KueueSpec | None = None


class FlavorToleration(Outside):
    """A toleration that a flavor gives to its workloads."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class ResourceFlavorSpec(Outside):
    """``spec`` of a ResourceFlavor: the nodes that it stands for."""

    node_labels: dict[str, str] | None = None
    tolerations: list[FlavorToleration] | None = None


class ResourceFlavor(Outside):
    """A ResourceFlavor without its head."""

    spec: ResourceFlavorSpec | None = None


class LocalQueueSpec(Outside):
    """``spec`` of a LocalQueue."""

    cluster_queue: str | None = None
    stop_policy: Literal["None", "Hold", "HoldAndDrain", ""] | None = None


class LocalQueue(Outside):
    """A LocalQueue without its head."""

    spec: LocalQueueSpec | None = None


class Partition(Outside):
    """How a Volcano task is cut into parts."""

    min_partitions: Natural | None = None
    partition_size: Natural | None = None
    network_topology: Any = None


class Task(Outside):
    """One task of a Volcano Job; its template is read as a pod."""

    name: str | None = None
    replicas: Natural | None = None
    min_available: Natural | None = None
    template: Any = None
    depends_on: Any = None
    partition_policy: Partition | None = None


class JobSpec(Outside):
    """``spec`` of a Volcano Job."""

    scheduler_name: str | None = None
    min_available: Natural | None = None
    tasks: list[Task] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    network_topology: Any = None


class JobState(Outside):
    """Where a Volcano Job stands."""

    phase: str | None = None


class JobStatus(Outside):
    """``status`` of a Volcano Job."""

    state: JobState | None = None


class VolcanoJob(Outside):
    """A Volcano Job without its head."""

    spec: JobSpec | None = None
    status: JobStatus | None = None
