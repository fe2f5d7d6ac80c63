"""Which kinds are read, and by which shape."""

from collections.abc import Callable
from typing import Any

import msgspec

from ..files import Document
from . import body_devices as devices
from . import body_gangs as gangs
from . import body_numa as numa
from . import body_queue as queue
from . import body_rare as rare
from . import body_storage as storage
from . import body_topology as topology
from .body_group import GroupBody, WorkloadBody
from .body_node import NodeBody
from .body_pod import PodBody
from .faults import Fault
from .shape import checked, shaped

Read = Callable[[Document], tuple[Any, list[Fault]]]


def _hot(kind: type[Any]) -> Read:
    decode = msgspec.json.Decoder(kind).decode

    def read(document: Document) -> tuple[Any, list[Fault]]:
        if document.raw is not None:
            try:
                return decode(document.raw), []
            except (msgspec.DecodeError, RecursionError):
                pass  # found again below, with every other fault
        return shaped(document.data, kind)

    return read


def _rare(kind: type[Any]) -> Read:
    return lambda document: checked(document.data, kind)


READERS: dict[tuple[str, str], Read] = {
    ("", "Pod"): _hot(PodBody),
    ("", "Node"): _hot(NodeBody),
    ("scheduling.volcano.sh", "PodGroup"): _hot(GroupBody),
    ("scheduling.run.ai", "PodGroup"): _hot(GroupBody),
    ("scheduling.x-k8s.io", "PodGroup"): _hot(GroupBody),
    ("scheduling.sigs.k8s.io", "PodGroup"): _hot(GroupBody),
    ("scheduling.k8s.io", "PodGroup"): _hot(GroupBody),
    ("scheduling.k8s.io", "Workload"): _hot(WorkloadBody),
    ("", "Namespace"): _rare(rare.Empty),
    ("", "ResourceQuota"): _rare(rare.Quota),
    ("", "LimitRange"): _rare(rare.LimitRange),
    ("", "ReplicationController"): _rare(rare.Workload),
    ("apps", "ReplicaSet"): _rare(rare.Workload),
    ("apps", "Deployment"): _rare(rare.Workload),
    ("apps", "StatefulSet"): _rare(rare.Workload),
    ("apps", "DaemonSet"): _rare(rare.Workload),
    ("batch", "Job"): _rare(rare.Workload),
    ("jobset.x-k8s.io", "JobSet"): _rare(gangs.JobSet),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _rare(gangs.LeaderWorkerSet),
    ("kubeflow.org", "PyTorchJob"): _rare(gangs.TrainingJob),
    ("kubeflow.org", "TFJob"): _rare(gangs.TrainingJob),
    ("kubeflow.org", "PaddleJob"): _rare(gangs.TrainingJob),
    ("kubeflow.org", "XGBoostJob"): _rare(gangs.TrainingJob),
    ("kubeflow.org", "JAXJob"): _rare(gangs.TrainingJob),
    ("kubeflow.org", "MPIJob"): _rare(gangs.TrainingJob),
    ("trainer.kubeflow.org", "TrainJob"): _rare(rare.Empty),
    ("ray.io", "RayCluster"): _rare(gangs.RayCluster),
    ("ray.io", "RayJob"): _rare(gangs.RayJob),
    ("ray.io", "RayService"): _rare(gangs.RayService),
    ("", "PersistentVolume"): _rare(storage.PersistentVolume),
    ("", "PersistentVolumeClaim"): _rare(storage.VolumeClaim),
    ("storage.k8s.io", "StorageClass"): _rare(storage.StorageClass),
    ("storage.k8s.io", "CSINode"): _rare(storage.CsiNode),
    ("storage.k8s.io", "CSIDriver"): _rare(storage.CsiDriver),
    ("storage.k8s.io", "CSIStorageCapacity"): _rare(storage.StorageCapacity),
    ("storage.k8s.io", "VolumeAttachment"): _rare(storage.Attachment),
    ("resource.k8s.io", "ResourceSlice"): _rare(devices.Slice),
    ("resource.k8s.io", "DeviceClass"): _rare(devices.DeviceClass),
    ("resource.k8s.io", "DeviceTaintRule"): _rare(devices.TaintRule),
    ("resource.k8s.io", "ResourceClaim"): _rare(devices.Claim),
    ("resource.k8s.io", "ResourceClaimTemplate"): _rare(devices.Template),
    ("policy", "PodDisruptionBudget"): _rare(rare.Budget),
    ("scheduling.k8s.io", "PriorityClass"): _rare(rare.PriorityClass),
    ("scheduling.volcano.sh", "Queue"): _rare(queue.VolcanoQueue),
    ("scheduling.run.ai", "Queue"): _rare(queue.KaiQueue),
    ("scheduling.x-k8s.io", "ElasticQuota"): _rare(rare.ElasticQuota),
    ("scheduling.sigs.k8s.io", "ElasticQuota"): _rare(rare.ElasticQuota),
    ("batch.volcano.sh", "Job"): _rare(queue.VolcanoJob),
    ("topology.node.k8s.io", "NodeResourceTopology"): _rare(numa.NodeResourceTopology),
    ("nodeinfo.volcano.sh", "Numatopology"): _rare(numa.Numatopology),
    ("topology.volcano.sh", "HyperNode"): _rare(topology.HyperNode),
    ("kai.scheduler", "Topology"): _rare(topology.TopologyBody),
    ("kueue.x-k8s.io", "Topology"): _rare(topology.TopologyBody),
}

MANIFEST_READERS: dict[tuple[str, str], Read] = {
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): lambda document: (document.data, []),
    ("trainer.kubeflow.org", "TrainingRuntime"): lambda document: (document.data, []),
}
"""What workloads that nobody has submitted are made of, as it is written; never read live."""

KUEUE_READERS: dict[tuple[str, str], Read] = {
    ("kueue.x-k8s.io", "ClusterQueue"): _rare(queue.KueueQueue),
    ("kueue.x-k8s.io", "Cohort"): _rare(queue.KueueQueue),
    ("kueue.x-k8s.io", "LocalQueue"): _rare(queue.LocalQueue),
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): _rare(rare.WorkloadPriorityClass),
    ("kueue.x-k8s.io", "ResourceFlavor"): _rare(queue.ResourceFlavor),
}
"""Read only with queues from Kueue, counted otherwise."""

QUEUE_KINDS = frozenset(
    (
        ("scheduling.volcano.sh", "Queue"),
        ("scheduling.run.ai", "Queue"),
        ("scheduling.x-k8s.io", "ElasticQuota"),
        ("scheduling.sigs.k8s.io", "ElasticQuota"),
    )
)
"""Counted only, where queues are Kueue's."""

_OUR_KINDS = frozenset(kind for _, kind in READERS)


def name_of_kind(group: str, kind: str) -> str:
    """Return how a kind that is read past is called; with its group where we read a namesake."""
    return f"{kind}.{group}" if group and kind in _OUR_KINDS else kind


def readers_for(queues_from: str) -> dict[tuple[str, str], Read]:
    """Return the readers of one reading."""
    if queues_from == "kueue":
        return {k: r for k, r in READERS.items() if k not in QUEUE_KINDS} | KUEUE_READERS
    return READERS
