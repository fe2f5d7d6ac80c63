"""TrainJobs that nobody has submitted yet: the JobSet that Kubeflow's trainer makes of each.

A TrainJob names a runtime, whose template is a JobSet; the job says how many nodes train, with
what, and where. As Kubeflow Trainer 2.2 does it; of what a job changes in the template only what
matters to where pods go is read. A runtime that is not in the input is warned of.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ..files import Document
from .faults import Ledger
from .meta import Thing
from .shape import text_map

GROUP = "trainer.kubeflow.org"
RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
_STEP = f"{GROUP}/trainjob-ancestor-step"
_TRAINS = "node"
"""The container that gets the resources of a node, and under MPI the part that has the nodes."""
_PLACES = ("nodeSelector", "affinity", "tolerations", "schedulingGates", "schedulerName")


def jobset_of(job: Thing, data: Any, runtimes: Iterable[Thing], ledger: Ledger) -> Document | None:
    """Return the JobSet of a TrainJob; None where its runtime is not there, which is told."""
    ref = _at(data, "spec", "runtimeRef")
    kind = str(_at(ref, "kind") or RUNTIMES[0])
    name = str(_at(ref, "name") or "")
    found = next((r for r in runtimes if _is_meant(r, kind, name, job.namespace)), None)
    if found is None:
        said = f"names {kind} {name}, which is not in the input, so it has no pods to plan; add it"
        ledger.warn(job.title, "spec.runtimeRef", said)
        return None
    template = _at(found.body, "spec", "template")
    meta = {
        "name": job.name,
        "namespace": job.namespace,
        "labels": {**text_map(_at(template, "metadata", "labels")), **job.labels},
        "annotations": text_map(_at(template, "metadata", "annotations")),
        "ownerReferences": [
            {
                "apiVersion": f"{GROUP}/v1alpha1", "kind": job.kind, "name": job.name,
                "controller": True,
            }
        ],
    }  # fmt: skip
    spec = {**_dict(_at(template, "spec")), "suspend": _at(data, "spec", "suspend") is True}
    spec["replicatedJobs"] = list(_parts(spec.get("replicatedJobs"), data, found.body))
    made = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta}
    return Document(f"{job.title} of {job.source}", 0, {**made, "spec": spec})


def _is_meant(runtime: Thing, kind: str, name: str, namespace: str) -> bool:
    return (runtime.kind, runtime.name) == (kind, name) and runtime.namespace in ("", namespace)


def _parts(parts: Any, job: Any, runtime: Any) -> Iterator[Any]:
    """Give the parts of the JobSet as the job wants them."""
    asked = _dict(_at(job, "spec", "trainer", "resourcesPerNode"))
    resources = {k: v for k, v in asked.items() if k in ("limits", "requests") and v}
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            yield part  # what is wrong there is said of the JobSet
            continue
        step = _at(part, "template", "metadata", "labels", _STEP)
        out: Any = {**part, "replicas": 1} if step else part
        nodes = _nodes(part, job, _at(runtime, "spec", "mlPolicy"))
        if nodes is not None:
            scale = {"parallelism": nodes, "completions": nodes}
            out = merged(out, {"template": {"spec": scale}})
        containers = _at(out, "template", "spec", "template", "spec", "containers")
        if resources and isinstance(containers, list):
            more = [
                {**c, "resources": resources} if _at(c, "name") == _TRAINS else c
                for c in containers
            ]
            pods = {"spec": {"template": {"spec": {"containers": more}}}}
            out = merged(out, {"template": pods})
        for template in _changes(job, part.get("name")):
            out = merged(out, {"template": {"spec": {"template": template}}})
        yield out


def _nodes(part: Any, job: Any, policy: Any) -> Any:
    """Return how many pods train in the part, if job or runtime say it."""
    asked, mpi = _at(job, "spec", "trainer", "numNodes"), _at(policy, "mpi")
    if mpi is None:
        is_trainer = _at(part, "template", "metadata", "labels", _STEP) == "trainer"
        return (asked or _at(policy, "numNodes")) if is_trainer else None
    if part.get("name") != _TRAINS:
        return None
    # One of the nodes may be the launcher, which is a part of its own.
    is_fewer = _at(mpi, "runLauncherAsNode") is True and isinstance(asked, int)
    return max(asked - 1, 1) if is_fewer else asked


def _changes(job: Any, part: Any) -> Iterator[dict[str, Any]]:
    """Give what the job changes in the pods of a part, in either way of writing it."""
    for one in _list(_at(job, "spec", "podTemplateOverrides")):
        if any(_at(target, "name") == part for target in _list(_at(one, "targetJobs"))):
            yield _placing(one)
    for patch in _list(_at(job, "spec", "runtimePatches")):
        path = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for one in _list(_at(patch, *path)):
            if _at(one, "name") == part:
                yield _placing(_at(one, "template", "spec", "template"))


def _placing(template: Any) -> dict[str, Any]:
    spec, meta = _dict(_at(template, "spec")), _dict(_at(template, "metadata"))
    return {
        "metadata": {k: v for k, v in meta.items() if k in ("labels", "annotations")},
        "spec": {k: v for k, v in spec.items() if k in _PLACES},
    }


def merged(old: Any, new: Any) -> Any:
    """Return ``new`` laid over ``old``: objects key by key, anything else as a whole."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{k: merged(old.get(k), v) for k, v in new.items()}}


def _at(data: Any, *steps: str) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _dict(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []
