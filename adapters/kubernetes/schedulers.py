"""Which scheduler a workload asks for the pods that it will make."""

from .body_gangs import LeaderWorkerSetSpec, PodTemplate, TrainingSpec, ray_cluster_of
from .body_queue import JobSpec
from .meta import Thing


def scheduler_asked_by(workload: Thing | None) -> str | None:
    """Return the name of the scheduler; None where the workload does not say, or is not read.

    These are the workloads that make a PodGroup of Volcano's before their pods.
    """
    match getattr(workload.body, "spec", None) if workload is not None else None:
        case JobSpec() as job:
            return job.scheduler_name or None
        case TrainingSpec() as training:
            return next((s for r in training.types.values() if (s := _of(r.template))), None)
        case LeaderWorkerSetSpec(leader_worker_template=replica) if replica is not None:
            return _of(replica.worker_template)
        case spec if (cluster := ray_cluster_of(spec)) is not None:
            head = cluster.head_group_spec
            return _of(head.template) if head is not None else None
    return None


def _of(template: PodTemplate | None) -> str | None:
    spec = template.spec if template is not None else None
    return (spec.scheduler_name if spec is not None else None) or None
