"""Workloads that nobody has submitted yet: the pods that their controllers would make.

A manifest is a workload without a uid: no API server has seen it. So ``apportion plan job.yaml``
and a what-if question say what would become of it. Names of pods are of our making where the
controller draws them; labels are those that it writes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...models import Node
from .body_gangs import (
    JobSetSpec,
    LeaderWorkerSetSpec,
    RayClusterSpec,
    TrainingSpec,
    ray_cluster_of,
)
from .body_pod import PodBody, PodSpecBody
from .body_rare import ScaleSpec
from .daemons import is_taken_by, tied, tolerant
from .exclusive import Alone, with_terms
from .faults import Faults, Ledger
from .gangs import at_once
from .meta import Thing
from .nodes import node_of
from .options import ReadOptions
from .owners import Owners
from .places import Surroundings, pod_spec
from .pods import DEFAULT_SCHEDULER
from .reader import Manifest, Objects
from .shape import shaped, text_map
from .templates import MOST_PODS, TemplateBody, pod_from

_JOB_NAME = "batch.kubernetes.io/job-name"
_COMPLETION = "batch.kubernetes.io/job-completion-index"
_JOBSET = "jobset.sigs.k8s.io/"
_LWS = "leaderworkerset.sigs.k8s.io/"
_TRAINING = "training.kubeflow.org/"
_RAY = "ray.io/"
_OWNING_LABELS = (
    ("JobSet", f"{_JOBSET}jobset-name"),
    ("LeaderWorkerSet", f"{_LWS}name"),
    ("MPIJob", f"{_TRAINING}job-name"),
    ("RayCluster", f"{_RAY}cluster"),
)
"""By which labels pods say whose they are, though something in between owns them."""
_ADMITTED_BY_KUEUE = "kueue.x-k8s.io/queue-name"
_SUSPEND = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))

_EXCLUSIVE_JOB = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_CLUSTER_AT = {"RayJob": ("spec", "rayClusterSpec"), "RayService": ("spec", "rayClusterConfig")}
"""Where the kinds that make a RayCluster describe it."""

Numbered = tuple[str, dict[str, str]]
"""The name of a pod, and the labels that it has besides those of its template."""


class Part(NamedTuple):
    """Pods of a workload that are made from one template."""

    template: Any
    path: str
    pods: Sequence[Numbered]
    notes: dict[str, str]
    """Annotations that the controller adds."""
    alone: Alone | None = None
    nodes: Sequence[Node] | None = None
    """Of a DaemonSet: those that there are, a pod for each."""


@dataclass(frozen=True, slots=True)
class Made:
    """What the manifests add to the objects that exist."""

    pods: list[Thing] = field(default_factory=list)
    elsewhere: Counter[str] = field(default_factory=Counter)
    """How many pods are still to be made for which other scheduler."""


def made_from_manifests(
    objects: Objects, owners: Owners, options: ReadOptions, taken_at_s: int, ledger: Ledger
) -> Made:
    """Return the pods of workloads of which there is nothing but the manifest."""
    out = Made()
    if not objects.manifests:
        return out
    begun = _begun(objects, owners)
    own = Ledger()  # what is wrong with nodes is said where they are read
    nodes = [n for t in objects.of("", "Node") if (n := node_of(t, own)) is not None]
    taken = set(objects.pod_keys)
    for manifest in objects.manifests:
        thing = manifest.thing
        if (thing.namespace, thing.kind, thing.name) in begun or thing.deleted_s is not None:
            continue
        parts = [p for p in _parts(thing, manifest.data, nodes) if _has_containers(p.template)]
        if not parts or _is_suspended(manifest, ledger):
            continue
        faults = Faults()
        total = sum(len(p.pods) for p in parts)
        if total > MOST_PODS:
            faults.add("spec", f"asks for {total} pods; at most {MOST_PODS} are planned")
        made: list[Thing] = []
        for part in () if faults else parts:
            for pod in _pods(thing, part, options, taken_at_s, out.elsewhere, faults, ledger):
                if pod.key not in taken:
                    made.append(pod)
        if faults:
            ledger.reject(thing.title, faults)
            continue
        taken.update(p.key for p in made)
        out.pods.extend(made)
    return out


def _begun(objects: Objects, owners: Owners) -> set[tuple[str, str, str]]:
    """Return the workloads that have pods, or objects between them and their pods."""
    found: set[tuple[str, str, str]] = set()
    for thing in (*objects.of("", "Pod"), *owners.things):
        if thing.owner is not None:
            found.add((thing.namespace, thing.owner.kind, thing.owner.name))
        for kind, label in _OWNING_LABELS if thing.kind == "Pod" else ():
            if label in thing.labels:
                found.add((thing.namespace, kind, thing.labels[label]))
        found.update((thing.namespace, t.kind, t.name) for t in owners.chain(thing))
    return found


def _is_suspended(manifest: Manifest, ledger: Ledger) -> bool:
    """Say whether no pods are made for now; Kueue lifts that of what it admits."""
    thing = manifest.thing
    for path in _SUSPEND:
        if _at(manifest.data, *path) is True and _ADMITTED_BY_KUEUE not in thing.labels:
            ledger.warn(
                thing.title, ".".join(path), "is true, so it has no pods to plan; take it out"
            )
            return True
    return False


def _pods(
    workload: Thing,
    part: Part,
    options: ReadOptions,
    taken_at_s: int,
    elsewhere: Counter[str],
    faults: Faults,
    ledger: Ledger,
) -> Iterator[Thing]:
    template, found = shaped(part.template, TemplateBody)
    faults.extend(found, under=part.path)
    if template is None:
        return
    spec = with_terms(template.spec or PodSpecBody(), part.alone)
    if part.nodes is not None:
        spec = tolerant(spec)
        part = _for_takers(workload, part, part.nodes, spec, ledger)
    scheduler = spec.scheduler_name or DEFAULT_SCHEDULER
    if scheduler not in options.scheduler_names:
        elsewhere[scheduler] += len(part.pods)
        return
    meta = template.metadata
    labels = text_map(meta.labels if meta is not None else None)
    notes = text_map(meta.annotations if meta is not None else None)
    created_s = taken_at_s if workload.created_s is None else workload.created_s
    if part.alone is not None:
        labels = {**labels, part.alone.label: part.alone.value}
    sample = pod_from(workload, part.path, spec, labels, {**notes, **part.notes}, created_s)
    for i, (name, more) in enumerate(part.pods):
        pod = replace(sample, name=name, labels={**labels, **more})
        if part.nodes is not None:
            pod.body = PodBody(spec=tied(spec, part.nodes[i].name))
        yield pod


def _for_takers(
    workload: Thing, part: Part, nodes: Sequence[Node], spec: PodSpecBody, ledger: Ledger
) -> Part:
    """Return the pods of a DaemonSet for the nodes on which it makes one."""
    # What is wrong with the spec is said of the pods: here it would be said twice.
    read = pod_spec(PodBody(spec=spec), "", {}, Surroundings({}), None, Faults())
    kept = [(p, n) for p, n in zip(part.pods, nodes, strict=True) if is_taken_by(read, n)]
    if not kept:
        ledger.warn(
            workload.title, "", "makes a pod on each node that takes it; the input has none: add it"
        )
    return part._replace(pods=[p for p, _ in kept], nodes=[n for _, n in kept])


def _parts(thing: Thing, data: Any, nodes: Sequence[Node]) -> list[Part]:
    """Return the pods of the workload by template."""
    match getattr(thing.body, "spec", None):
        case ScaleSpec() if thing.kind == "DaemonSet":
            each = [(f"{thing.name}-{n.name}", dict[str, str]()) for n in nodes]
            return [Part(_at(data, "spec", "template"), "spec.template", each, {}, nodes=nodes)]
        case ScaleSpec() as scale:
            return [_of_scale(thing, scale, data)]
        case JobSetSpec() as jobs:
            return _of_jobset(thing, jobs, data)
        case LeaderWorkerSetSpec() as replicas:
            return _of_leader_workers(thing, replicas, data)
        case TrainingSpec() as training:
            return _of_training(thing, training, data)
        case spec if (cluster := ray_cluster_of(spec)) is not None:
            return _of_ray(thing.name, cluster, data, _CLUSTER_AT.get(thing.kind, ("spec",)))
    return []


def _of_scale(thing: Thing, scale: ScaleSpec, data: Any) -> Part:
    path = "spec.template"
    pods: list[Numbered]
    if thing.kind == "Job":
        pods = list(_of_job(thing.name, scale))
    else:
        n = 1 if scale.replicas is None else scale.replicas
        pods = [(f"{thing.name}-{i}", {}) for i in range(n)]
        if thing.kind == "StatefulSet":
            pods = [(p, {"statefulset.kubernetes.io/pod-name": p}) for p, _ in pods]
    return Part(_at(data, "spec", "template"), path, pods, {})


def _of_job(name: str, job: ScaleSpec) -> Iterator[Numbered]:
    for i in range(at_once(job)):
        labels = {_JOB_NAME: name}
        if job.completion_mode == "Indexed":
            labels[_COMPLETION] = str(i)
        yield f"{name}-{i}", labels


def _of_jobset(thing: Thing, spec: JobSetSpec, data: Any) -> list[Part]:
    out: list[Part] = []
    name = thing.name
    for k, one in enumerate(spec.replicated_jobs or ()):
        scale = (one.template.spec if one.template is not None else None) or ScaleSpec()
        inner = _at(data, "spec", "replicatedJobs", k, "template")
        template = _at(inner, "spec", "template")
        path = f"spec.replicatedJobs[{k}].template.spec.template"
        own_word = _at(inner, "metadata", "annotations", _EXCLUSIVE_JOB)
        key = own_word or thing.annotations.get(_EXCLUSIVE_JOB)
        pods: list[Numbered] = []
        for job in range(1 if one.replicas is None else one.replicas):
            own = {
                f"{_JOBSET}jobset-name": name,
                f"{_JOBSET}replicatedjob-name": one.name,
                f"{_JOBSET}job-index": str(job),
            }
            title = f"{name}-{one.name}-{job}"
            mine = [(pod, {**labels, **own}) for pod, labels in _of_job(title, scale)]
            if isinstance(key, str):
                alone = Alone(key, f"{_JOBSET}job-key", title)
                out.append(Part(template, path, mine, {}, alone))
            else:
                pods += mine
        out.append(Part(template, path, pods, {}))
    return out


def _of_leader_workers(thing: Thing, spec: LeaderWorkerSetSpec, data: Any) -> list[Part]:
    name, key = thing.name, thing.annotations.get(f"{_LWS}exclusive-topology")
    one = spec.leader_worker_template
    size = (one.size if one is not None else None) or 1
    replicas = 1 if spec.replicas is None else spec.replicas

    def numbered(replica: int, worker: int) -> Numbered:
        labels = {
            f"{_LWS}name": name,
            f"{_LWS}group-index": str(replica),
            f"{_LWS}worker-index": str(worker),
        }
        return f"{name}-{replica}" + (f"-{worker}" if worker else ""), labels

    notes = {f"{_LWS}size": str(size)}
    both = "spec.leaderWorkerTemplate"
    of_worker = _at(data, "spec", "leaderWorkerTemplate", "workerTemplate")
    of_leader = _at(data, "spec", "leaderWorkerTemplate", "leaderTemplate")
    first = "workerTemplate" if of_leader is None else "leaderTemplate"
    together = [[r] for r in range(replicas)] if key else [list(range(replicas))]
    out: list[Part] = []
    for rs in together:
        alone = Alone(key, f"{_LWS}group-key", f"{name}-{rs[0]}") if key else None
        leaders = [numbered(r, 0) for r in rs]
        workers = [numbered(r, w) for r in rs for w in range(1, size)]
        lead = of_worker if of_leader is None else of_leader
        out.append(Part(lead, f"{both}.{first}", leaders, notes, alone))
        out.append(Part(of_worker, f"{both}.workerTemplate", workers, notes, alone))
    return out


def _of_training(thing: Thing, spec: TrainingSpec, data: Any) -> list[Part]:
    role = "job-role" if thing.kind == "MPIJob" else "replica-type"
    out: list[Part] = []
    written = _at(data, "spec")
    for key, types in written.items() if isinstance(written, dict) else ():
        if not key.endswith("ReplicaSpecs") or not isinstance(types, dict):
            continue
        for kind, raw in types.items():
            low = kind.lower()
            own = {f"{_TRAINING}job-name": thing.name, f"{_TRAINING}{role}": low}
            pods: list[Numbered] = [
                (f"{thing.name}-{low}-{i}", {**own, f"{_TRAINING}replica-index": str(i)})
                for i in range(spec.replicas.get(low, 0))
            ]
            out.append(Part(_at(raw, "template"), f"spec.{key}.{kind}.template", pods, {}))
    return out


def _of_ray(name: str, spec: RayClusterSpec, data: Any, at: tuple[str, ...]) -> list[Part]:
    """Return the head, and the workers that the cluster starts with."""
    cluster, path = _at(data, *at), ".".join(at)

    def labels(group: str, kind: str) -> dict[str, str]:
        return {f"{_RAY}cluster": name, f"{_RAY}group": group, f"{_RAY}node-type": kind}

    head = [(f"{name}-head", labels("headgroup", "head"))]
    of_head = _at(cluster, "headGroupSpec", "template")
    out = [Part(of_head, f"{path}.headGroupSpec.template", head, {})]
    for k, group in enumerate(spec.worker_group_specs or ()):
        if group.suspend:
            continue
        hosts = 1 if group.num_of_hosts is None else group.num_of_hosts
        n = max(group.replicas or 0, group.min_replicas or 0) * hosts
        own = labels(group.group_name, "worker")
        pods = [(f"{name}-{group.group_name}-worker-{i}", own) for i in range(n)]
        template = _at(cluster, "workerGroupSpecs", k, "template")
        out.append(Part(template, f"{path}.workerGroupSpecs[{k}].template", pods, {}))
    return out


def _has_containers(template: Any) -> bool:
    """Say whether pods could be made from the template."""
    return bool(_at(template, "spec", "containers"))


def _at(data: Any, *steps: str | int) -> Any:
    """Return what stands at the place; None where there is nothing."""
    for step in steps:
        if isinstance(step, str):
            data = data.get(step) if isinstance(data, dict) else None
        else:
            data = data[step] if isinstance(data, list) and step < len(data) else None
    return data
