"""Gangs by nature: workloads whose pods need each other, though no group object says so.

Which kinds these are, and why the others are not, is the table of docs/design/groups.md. Where the
workload's object is not in the input, labels of its pods say as much as they can, and the minimum
is at most the number of pods that are there, so that no group waits for pods that nobody will make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...models import PodState
from .body_gangs import (
    JobSetSpec,
    LeaderWorkerSetSpec,
    RayClusterSpec,
    TrainingSpec,
    ray_cluster_of,
)
from .body_rare import ScaleSpec
from .meta import Thing
from .owners import Owners
from .pods import Candidate, role_of

_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_PART = "jobset.sigs.k8s.io/replicatedjob-name"
_LWS = "leaderworkerset.sigs.k8s.io/name"
_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
_SIZE = "leaderworkerset.sigs.k8s.io/size"
_LEAST = "kueue.x-k8s.io/job-min-parallelism"
_TRAINING_JOB = "training.kubeflow.org/job-name"
_TRAINING = ("PyTorchJob", "TFJob", "PaddleJob", "XGBoostJob", "JAXJob", "MPIJob")
_RAY = ("RayCluster", "RayJob", "RayService")
_RAY_NODE = "ray.io/node-type"
_RAY_HEAD = "headgroup"
"""Group of the head, in the same label as the names of the worker groups."""


class Holder(NamedTuple):
    """Whose pods are one group: a workload, or one part of it."""

    kind: str
    name: str
    part: str = ""

    @property
    def group(self) -> str:
        """The name of the group."""
        return f"{self.name}-{self.part}" if self.part else self.name


@dataclass(frozen=True, slots=True)
class Gang:
    """How many pods need each other."""

    minimum: int
    asked: int | None
    """How many pods the controller creates without waiting for any of them; None: unknown."""
    roles: Mapping[str, int] = field(default_factory=dict)
    queue: str = ""
    priority_class: str = ""

    @property
    def is_one(self) -> bool:
        """Say whether more than one pod is needed, or was at the start."""
        return max(self.minimum, self.asked or 0) > 1


def holder_of(thing: Thing, owners: Owners) -> Holder | None:
    """Return the gang by nature that the pod may be of; None for any other pod."""
    owner, labels = thing.owner, thing.labels
    if owner is None:
        return None
    if name := labels.get(_JOBSET):
        spec = _spec(owners.named(thing.namespace, "JobSet", name))
        staged = spec is not None and _is_staged(spec)
        return Holder("JobSet", name, labels.get(_PART, "") if staged else "")
    if (name := labels.get(_LWS)) and (index := labels.get(_INDEX)):
        return Holder("LeaderWorkerSet", name, index)
    if owner.kind in _TRAINING and owner.api_group in ("", "kubeflow.org"):
        return Holder(owner.kind, owner.name)
    if owner.kind == "Job":
        if name := labels.get(_TRAINING_JOB):  # the launcher of an MPIJob is a Job's
            return Holder("MPIJob", name)
        scale = _spec(owners.of(thing.namespace, owner))
        if isinstance(scale, ScaleSpec) and _is_fixed(scale):
            return Holder("Job", owner.name)
    if owner.kind in _RAY and owners.of(thing.namespace, owner) is not None:
        return Holder(owner.kind, owner.name)
    return None


def gang_of(holder: Holder, thing: Thing | None, pods: Sequence[Candidate]) -> Gang:
    """Return what the workload asks for; a minimum of 1 where its pods are no gang.

    ``thing`` is its object, None where that is not in the input.
    """
    spec = _spec(thing)
    match spec:
        case JobSetSpec() if total := _of_jobset(spec, holder.part):
            return Gang(total, total)
        case LeaderWorkerSetSpec():
            template = spec.leader_worker_template
            size = (template.size if template is not None else None) or 1
            # Workers are created once the leader is ready: it must not wait for them.
            return Gang(1, 1) if spec.startup_policy == "LeaderReady" else Gang(size, size)
        case TrainingSpec() if spec.replicas:
            return _of_training(spec, pods)
        case ScaleSpec():
            return _of_job(spec, thing, pods)
    if (cluster := ray_cluster_of(spec)) is not None:
        return _of_ray(cluster, pods)
    there = sum(c.state not in (PodState.FAILED, PodState.TERMINATING) for c in pods)
    return Gang(min(there, _written_size(pods)), None)


def _spec(thing: Thing | None) -> Any:
    """Return the spec of a workload; one without a spec says nothing."""
    return None if thing is None else getattr(thing.body, "spec", None)


def _is_staged(spec: JobSetSpec) -> bool:
    """Say whether the parts of a JobSet are created one after another."""
    order = spec.startup_policy.startup_policy_order if spec.startup_policy is not None else None
    return order == "InOrder" or any(r.depends_on for r in spec.replicated_jobs or ())


def _of_jobset(spec: JobSetSpec, part: str) -> int:
    return sum(
        (1 if r.replicas is None else r.replicas)
        * at_once((r.template.spec if r.template is not None else None) or ScaleSpec())
        for r in spec.replicated_jobs or ()
        if not part or r.name == part
    )


def at_once(job: ScaleSpec) -> int:
    """Return how many pods of a Job there are at a time."""
    parallelism = 1 if job.parallelism is None else job.parallelism
    return parallelism if job.completions is None else min(parallelism, job.completions)


def _written_size(pods: Sequence[Candidate]) -> int:
    """Return the size of a LeaderWorkerSet's replica, as on its pods; else how many there are."""
    written = next((s for c in pods if (s := c.thing.annotations.get(_SIZE))), "")
    is_number = written.isascii() and written.isdigit() and len(written) <= 9
    return int(written) if is_number else len(pods)


def _of_training(spec: TrainingSpec, pods: Sequence[Candidate]) -> Gang:
    replicas = spec.replicas
    policy = spec.run_policy.scheduling_policy if spec.run_policy is not None else None
    needed = dict(replicas)
    if spec.elastic_policy is not None and spec.elastic_policy.min_replicas is not None:
        needed["worker"] = min(needed.get("worker", 0), spec.elastic_policy.min_replicas)
    if spec.launcher_creation_policy == "WaitForWorkersReady":
        needed.pop("launcher", None)
    minimum, roles = sum(needed.values()), needed if needed != replicas else {}
    if policy is not None and policy.min_available is not None:
        minimum, roles = min(policy.min_available, sum(needed.values())), {}
    return Gang(
        minimum=minimum,
        asked=sum(needed.values()),
        roles=_known(roles, replicas, pods),
        queue=(policy.queue if policy is not None else None) or "",
        priority_class=(policy.priority_class if policy is not None else None) or "",
    )


def _of_ray(spec: RayClusterSpec, pods: Sequence[Candidate]) -> Gang:
    """Return the head and the workers that the cluster starts with.

    Once the head runs, workers join and leave: a cluster that is scaled up is not broken.
    """
    least: dict[str, int] = {_RAY_HEAD: 1}
    first: dict[str, int] = {_RAY_HEAD: 1}
    for g in spec.worker_group_specs or ():
        if not g.suspend:
            hosts = 1 if g.num_of_hosts is None else g.num_of_hosts
            least[g.group_name] = (g.min_replicas or 0) * hosts
            first[g.group_name] = max(g.replicas or 0, g.min_replicas or 0) * hosts
    if spec.enable_in_tree_autoscaling:
        first = least
    needed = least if any(_is_running_head(c) for c in pods) else first
    roles = {role: n for role, n in needed.items() if n}
    return Gang(sum(needed.values()), sum(first.values()), _known(roles, first, pods))


def _is_running_head(pod: Candidate) -> bool:
    return pod.state is PodState.RUNNING and pod.thing.labels.get(_RAY_NODE) == "head"


def _is_fixed(job: ScaleSpec) -> bool:
    """Say whether a Job runs a fixed number of numbered pods side by side.

    These are the Jobs that Kubernetes itself makes a gang of (KEP-5547). Where an index may fail
    alone, the others do not need it.
    """
    return (
        job.completion_mode == "Indexed"
        and (job.parallelism or 0) > 1
        and job.completions == job.parallelism
        and job.backoff_limit_per_index is None
    )


def _of_job(spec: ScaleSpec, thing: Thing | None, pods: Sequence[Candidate]) -> Gang:
    """Return the pods of a Job that are still to succeed, and those of the input that have.

    Once pods of it run, the others join them singly: one that is lost comes back by itself, and a
    Job counts the pods that are evicted as failures of its own.
    """
    asked = at_once(spec)
    if any(c.state is PodState.RUNNING for c in pods):
        return Gang(1, asked)
    status = thing.body.status if thing is not None else None
    seen = sum(c.state is PodState.SUCCEEDED for c in pods)
    gone = max(0, ((status.succeeded if status is not None else None) or 0) - seen)
    return Gang(max(1, min(asked - gone, _least(thing, asked))), asked)


def _least(thing: Thing | None, asked: int) -> int:
    """Return how many pods of a Job are enough, as Kueue may let fewer in than it asks for."""
    written = thing.annotations.get(_LEAST, "") if thing is not None else ""
    is_number = written.isascii() and written.isdigit() and len(written) <= 9
    return int(written) if is_number else asked


def _known(
    roles: Mapping[str, int], types: Mapping[str, int], pods: Sequence[Candidate]
) -> dict[str, int]:
    """Return the minima of roles, if all pods say theirs in the words of the workload."""
    return dict(roles) if all(role_of(c.thing) in types for c in pods) else {}
