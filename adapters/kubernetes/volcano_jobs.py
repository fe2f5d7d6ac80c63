"""Volcano Jobs: the pods that their controller would still create, and their group.

A job that is not submitted yet, or only partly created, can so be planned. Pod names, labels and
annotations are those that Volcano's job controller writes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from .body_group import NetworkTopologyBody, SubGroupPolicyBody
from .body_pod import PodSpecBody, SelectorBody
from .body_queue import JobSpec, JobState, JobStatus, Task, VolcanoJob
from .drafts import Draft
from .faults import Faults, Ledger
from .membership import Dialect
from .meta import MetaBody, Owner, Thing
from .nearness import Split, policy_split, tiers_near
from .options import ReadOptions
from .shape import shaped, text_map
from .templates import MOST_PODS, TemplateBody, pod_from

GROUP = "batch.volcano.sh"
_INDEX = "volcano.sh/task-index"
_PARTITION = "volcano.sh/partition-id"

_OVER = frozenset(
    ("Aborting", "Aborted", "Terminating", "Terminated", "Completing", "Completed", "Failed")
)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the jobs add to the objects that exist."""

    pods: list[Thing]
    drafts: list[Draft]
    aliases: dict[tuple[str, str], Draft]
    """Groups by the other name that a job's pods may know them by."""
    elsewhere: Counter[str] = field(default_factory=Counter)
    """How many pods are still to be made for which other scheduler."""


def expand(
    jobs: Iterable[Thing],
    existing: set[str],
    declared: Mapping[tuple[str, str], Draft],
    options: ReadOptions,
    taken_at_s: int,
    ledger: Ledger,
) -> Expansion:
    """Return the missing pods and groups of the jobs that are ours.

    ``existing`` are the keys of all pods of the input, bad ones included; ``declared`` are the
    groups of Volcano by (namespace, name).
    """
    out = Expansion([], [], {})
    existing = set(existing)
    for job in sorted(jobs, key=lambda j: j.key):
        body: VolcanoJob = job.body
        spec = body.spec or JobSpec()
        phase = ((body.status or JobStatus()).state or JobState()).phase
        if spec.scheduler_name and spec.scheduler_name not in options.scheduler_names:
            if phase not in _OVER and job.deleted_s is None:
                out.elsewhere[spec.scheduler_name] += _missing(job, spec, existing)
            continue
        if phase in _OVER or job.deleted_s is not None:
            continue
        faults = Faults()
        reader = _Reader(job, spec, taken_at_s, ledger, faults)
        names = [f"{job.name}-{job.uid}", job.name] if job.uid else [job.name]
        found = next((d for n in names if (d := declared.get((job.namespace, n)))), None)
        draft = found or reader.draft(names[0])
        missing = reader.pods(draft.name, existing, options)
        if faults:
            ledger.reject(job.title, faults)
            continue
        if found is None:
            out.drafts.append(draft)
        out.aliases.update({(job.namespace, n): draft for n in names})
        out.pods.extend(missing)
        existing.update(p.key for p in missing)  # of two jobs that make one name, the first has it
    return out


def _missing(job: Thing, spec: JobSpec, existing: set[str]) -> int:
    """Return how many pods of a job do not exist yet; of one beyond what is planned: all."""
    tasks = spec.tasks or ()
    total = sum(max(0, _replicas(t)) for t in tasks)
    if total > MOST_PODS:
        return total
    names = (
        f"{job.namespace}/{job.name}-{t.name or f'default{i}'}-{n}"
        for i, t in enumerate(tasks)
        for n in range(_replicas(t))
    )
    return sum(name not in existing for name in names)


class _Reader:
    """Reads one job."""

    def __init__(
        self, job: Thing, spec: JobSpec, taken_at_s: int, ledger: Ledger, faults: Faults
    ) -> None:
        self._job = job
        self._spec = spec
        self._created_s = taken_at_s if job.created_s is None else job.created_s
        self._ledger = ledger
        self._faults = faults
        self._tasks = [
            (t.name or f"default{i}", t, f"spec.tasks[{i}]") for i, t in enumerate(spec.tasks or ())
        ]
        self._check()

    def _check(self) -> None:
        if not self._tasks:
            self._faults.add("spec.tasks", "is missing; a job needs at least one task")
        total = sum(_replicas(t) for _, t, _ in self._tasks)
        if total > MOST_PODS:
            self._faults.add("spec.tasks", f"ask for {total} pods; at most {MOST_PODS} are planned")
        names = [name for name, _, _ in self._tasks]
        for i, (name, task, path) in enumerate(self._tasks):
            if name in names[:i]:
                self._faults.add(f"{path}.name", f"{name!r} is used twice; name tasks differently")
            if _minimum(task) > _replicas(task):
                self._faults.add(
                    f"{path}.minAvailable",
                    f"{_minimum(task)} is more than the {_replicas(task)} replicas; lower it",
                )
            if task.depends_on:
                self._ledger.warn(
                    self._job.title,
                    f"{path}.dependsOn",
                    "is not used yet; tasks are planned together",
                )

    def draft(self, name: str) -> Draft:
        """Return the group that the controller would create."""
        spec, job = self._spec, self._job
        roles = {name: _minimum(task) for name, task, _ in self._tasks if _minimum(task)}
        draft = Draft(
            namespace=job.namespace,
            name=name,
            source="Job",
            dialect=Dialect.VOLCANO,
            thing=job,
            minimum=spec.min_available or sum(roles.values()),
            roles=roles,
            queue=spec.queue or "",
            priority_class=spec.priority_class_name or "",
            created_s=self._created_s,
            owner=Owner("Job", job.name, job.uid, GROUP),
        )
        if spec.network_topology is not None:
            wish, found = shaped(spec.network_topology, NetworkTopologyBody)
            self._faults.extend(found, under="spec.networkTopology")
            draft.near = tiers_near(wish, "spec.networkTopology", job.title, self._ledger)
        draft.splits = [
            split
            for name, task, path in self._tasks
            if (split := self._partitions(name, task, path)) is not None
        ]
        return draft

    def _partitions(self, name: str, task: Task, path: str) -> Split | None:
        """Return the subgroups that the controller would declare for a task cut into parts."""
        cut = task.partition_policy
        if cut is None or not cut.partition_size:
            return None
        at = f"{path}.partitionPolicy"
        wish, found = shaped(cut.network_topology or {}, NetworkTopologyBody)
        self._faults.extend(found, under=f"{at}.networkTopology")
        policy = SubGroupPolicyBody(
            name=name,
            label_selector=SelectorBody(match_labels={"volcano.sh/task-spec": name}),
            match_label_keys=[_PARTITION],
            sub_group_size=cut.partition_size,
            min_sub_groups=cut.min_partitions,
            network_topology=wish if cut.network_topology else None,
        )
        return policy_split(policy, at, self._job.title, self._faults, self._ledger)

    def pods(self, group: str, existing: set[str], options: ReadOptions) -> list[Thing]:
        """Return the pods that do not exist yet."""
        out: list[Thing] = []
        if self._faults:
            return out
        for task_name, task, path in self._tasks:
            template, found = shaped(task.template or {}, TemplateBody)
            self._faults.extend(found, under=f"{path}.template")
            if template is None:
                continue
            sample = self._sample(task_name, template, f"{path}.template", group, options)
            for index in range(_replicas(task)):
                name = f"{self._job.name}-{task_name}-{index}"
                if f"{self._job.namespace}/{name}" not in existing:
                    out.append(_numbered(sample, name, index, _part_of(task, index)))
        return out

    def _sample(
        self, task: str, template: TemplateBody, path: str, group: str, options: ReadOptions
    ) -> Thing:
        """Return what all pods of a task have in common, as the controller writes it."""
        job, meta, spec = self._job, template.metadata or MetaBody(), template.spec or PodSpecBody()
        spec.priority_class_name = spec.priority_class_name or self._spec.priority_class_name
        spec.scheduler_name = self._spec.scheduler_name or options.scheduler_names[0]
        written = {
            "volcano.sh/job-name": job.name,
            "volcano.sh/task-spec": task,
            "volcano.sh/queue-name": self._spec.queue or "default",
        }
        labels = {**text_map(meta.labels), **written, "volcano.sh/job-namespace": job.namespace}
        notes = {**text_map(meta.annotations), **written, "scheduling.k8s.io/group-name": group}
        return pod_from(job, path, spec, labels, notes, self._created_s)


def _part_of(task: Task, index: int) -> dict[str, str]:
    """Return the label that says in which part of its task a pod is."""
    cut = task.partition_policy
    if cut is None or not cut.partition_size:
        return {}
    return {_PARTITION: str(index // cut.partition_size)}


def _numbered(sample: Thing, name: str, index: int, more: dict[str, str]) -> Thing:
    own = {_INDEX: str(index)}
    return replace(
        sample,
        name=name,
        labels={**sample.labels, **own, **more},
        annotations={**sample.annotations, **own},
    )


def _replicas(task: Task) -> int:
    return 1 if task.replicas is None else task.replicas


def _minimum(task: Task) -> int:
    """Return the task's minimum: as written, else by its partitions, else all replicas."""
    if task.min_available is not None:
        return task.min_available
    cut = task.partition_policy
    if cut is not None and cut.min_partitions and cut.partition_size:
        return cut.min_partitions * cut.partition_size
    return _replicas(task)


def drop_default_roles(draft: Draft, pods_by_role: Mapping[str, int]) -> None:
    """Take off role minima that Volcano's webhook filled in, where the group asks for fewer pods.

    The webhook sets a task's minimum to its replicas. Volcano enforces role minima only when they
    sum to at most minMember; where every role asks for all its pods and the group for fewer, the
    author wrote only the group's number.
    """
    owner = draft.owner
    if owner is None or owner.api_group != GROUP or draft.minimum >= sum(draft.roles.values()):
        return
    if all(n >= pods_by_role.get(role, 0) for role, n in draft.roles.items()):
        draft.roles = {}
