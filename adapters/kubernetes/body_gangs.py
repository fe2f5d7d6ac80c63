"""The shapes of workloads whose pods need each other, as far as they say how many."""

from typing import Any

from .body_rare import DeadlineSeconds, Natural, ScaleSpec, ScaleStatus
from .shape import Outside


class PodTemplateSpec(Outside):
    """Of a pod that will be made: who is to schedule it."""

    scheduler_name: str | None = None


class PodTemplate(Outside):
    """A template of pods; all but its scheduler is read from the pods."""

    spec: PodTemplateSpec | None = None


class Replicas(Outside):
    """How many pods of one type a training job asks for."""

    replicas: Natural | None = None
    template: PodTemplate | None = None


class SchedulingPolicy(Outside):
    """What a training job asks of the scheduler."""

    min_available: Natural | None = None
    queue: str | None = None
    priority_class: str | None = None


class RunPolicy(Outside):
    """How a training job is run."""

    scheduling_policy: SchedulingPolicy | None = None
    active_deadline_seconds: DeadlineSeconds | None = None


class ElasticPolicy(Outside):
    """Between how many workers a training job may be."""

    min_replicas: Natural | None = None


class TrainingSpec(Outside):
    """``spec`` of a training job of Kubeflow; each kind fills its own map of replicas."""

    pytorch_replica_specs: dict[str, Replicas] | None = None
    tf_replica_specs: dict[str, Replicas] | None = None
    paddle_replica_specs: dict[str, Replicas] | None = None
    xgb_replica_specs: dict[str, Replicas] | None = None
    jax_replica_specs: dict[str, Replicas] | None = None
    mpi_replica_specs: dict[str, Replicas] | None = None
    run_policy: RunPolicy | None = None
    elastic_policy: ElasticPolicy | None = None
    launcher_creation_policy: str | None = None

    @property
    def types(self) -> dict[str, Replicas]:
        """The types of pods by their names in lower case, as on the pods."""
        maps = (
            self.pytorch_replica_specs, self.tf_replica_specs, self.paddle_replica_specs,
            self.xgb_replica_specs, self.jax_replica_specs, self.mpi_replica_specs,
        )  # fmt: skip
        return {kind.lower(): r for specs in maps for kind, r in (specs or {}).items()}

    @property
    def replicas(self) -> dict[str, int]:
        """How many pods of each type."""
        return {t: 1 if r.replicas is None else r.replicas for t, r in self.types.items()}


class TrainingJob(Outside):
    """A PyTorchJob, TFJob, PaddleJob, XGBoostJob, JAXJob or MPIJob without its head."""

    spec: TrainingSpec | None = None
    status: ScaleStatus | None = None


class JobTemplate(Outside):
    """The Job that a part of a JobSet is made of."""

    spec: ScaleSpec | None = None


class ReplicatedJob(Outside):
    """One part of a JobSet: equal Jobs."""

    name: str = ""
    replicas: Natural | None = None
    template: JobTemplate | None = None
    depends_on: list[Any] | None = None


class StartupPolicy(Outside):
    """Whether the parts of a JobSet are created at once."""

    startup_policy_order: str | None = None


class JobSetSpec(Outside):
    """``spec`` of a JobSet."""

    replicated_jobs: list[ReplicatedJob] | None = None
    startup_policy: StartupPolicy | None = None


class JobSet(Outside):
    """A JobSet without its head."""

    spec: JobSetSpec | None = None


class LeaderWorkerTemplate(Outside):
    """One replica of a LeaderWorkerSet: a leader and its workers."""

    size: Natural | None = None
    worker_template: PodTemplate | None = None


class LeaderWorkerSetSpec(Outside):
    """``spec`` of a LeaderWorkerSet."""

    replicas: Natural | None = None
    leader_worker_template: LeaderWorkerTemplate | None = None
    startup_policy: str | None = None


class LeaderWorkerSet(Outside):
    """A LeaderWorkerSet without its head."""

    spec: LeaderWorkerSetSpec | None = None


class WorkerGroup(Outside):
    """Equal workers of a RayCluster."""

    group_name: str = ""
    replicas: Natural | None = None
    min_replicas: Natural | None = None
    num_of_hosts: Natural | None = None
    suspend: bool | None = None


class HeadGroup(Outside):
    """The head of a RayCluster."""

    template: PodTemplate | None = None


class RayClusterSpec(Outside):
    """``spec`` of a RayCluster."""

    head_group_spec: HeadGroup | None = None
    enable_in_tree_autoscaling: bool | None = None
    worker_group_specs: list[WorkerGroup] | None = None


class RayCluster(Outside):
    """A RayCluster without its head."""

    spec: RayClusterSpec | None = None


class RayJobSpec(Outside):
    """``spec`` of a RayJob: the cluster that it makes for itself, and for how long."""

    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: dict[str, str] | None = None
    active_deadline_seconds: DeadlineSeconds | None = None
    shutdown_after_job_finishes: bool | None = None
    ttl_seconds_after_finished: Natural | None = None


class RayJob(Outside):
    """A RayJob without its head."""

    spec: RayJobSpec | None = None
    status: ScaleStatus | None = None


class RayServiceSpec(Outside):
    """``spec`` of a RayService: the cluster that it serves from."""

    ray_cluster_config: RayClusterSpec | None = None


class RayService(Outside):
    """A RayService without its head."""

    spec: RayServiceSpec | None = None


def ray_cluster_of(spec: Any) -> RayClusterSpec | None:
    """Return the cluster that the spec of a RayCluster, a RayJob or a RayService makes, if any."""
    match spec:
        case RayClusterSpec():
            return spec
        case RayJobSpec(cluster_selector=None | {} as chosen) if not chosen:
            return spec.ray_cluster_spec
        case RayServiceSpec():
            return spec.ray_cluster_config
    return None
