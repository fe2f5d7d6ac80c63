"""When pods that run end: what says it, from when on it counts, and what is not believed."""

from typing import Any

import pytest

from apportion.models import End, EndBy
from kubernetes_objects import (
    NOON,
    NOON_S,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    pod_in,
    snapshot,
)

Data = dict[str, Any]
LATER = "2026-01-05T12:05:00Z"
LATER_S = NOON_S + 300
STARTED = {"startTime": LATER}
KUEUE = {"kueue.x-k8s.io/max-exec-time-seconds": "600"}
RUNS_90_S = {"apportion.dev/runtime": "90s"}
IN_JOB = ("Job", "j")


def runs(**fields: Any) -> Data:
    """Return a pod that runs since five past noon."""
    return pod("p", nodeName="n", **{"status": STARTED, **fields})


def job(begun: str | None = NOON, owner: str = "", **fields: Any) -> Data:
    meta: Data = {k: v for k, v in fields.items() if k in ("labels", "annotations")}
    if owner:
        meta["ownerReferences"] = [{"kind": owner, "name": "above", "controller": True}]
    spec = {k: v for k, v in fields.items() if k not in meta}
    status = {} if begun is None else {"startTime": begun}
    return obj("batch/v1", "Job", "j", meta=meta, spec=spec, status=status)


def training(**policy: Any) -> Data:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}, "runPolicy": policy}
    return obj("kubeflow.org/v1", "PyTorchJob", "t", spec=spec, status={"startTime": NOON})


def ray(**spec: Any) -> list[Data]:
    owner = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "controller": True}]
    job = obj("ray.io/v1", "RayJob", "r", spec=spec, status={"startTime": NOON})
    cluster = obj("ray.io/v1", "RayCluster", "c", meta={"ownerReferences": owner}, spec={})
    return [runs(owner=("RayCluster", "c")), cluster, job]


SHUT: Data = {"shutdownAfterJobFinishes": True, "activeDeadlineSeconds": 600}


def end(*objects: Data) -> End | None:
    return pod_in(snapshot(node(), *objects), "p").end


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([runs()], None, id="nothing says it"),
        pytest.param(
            [runs(activeDeadlineSeconds=60)], (LATER_S + 60, EndBy.DEADLINE), id="its own deadline"
        ),
        pytest.param(
            [runs(activeDeadlineSeconds=60, status={})], None, id="nobody knows when it started"
        ),
        pytest.param(
            [runs(activeDeadlineSeconds=60, owner=("Job", "unknown"))], None,
            id="its controller would bring it back",
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(activeDeadlineSeconds=3600)],
            (NOON_S + 3600, EndBy.DEADLINE), id="its Job's deadline counts from the Job's start",
        ),
        pytest.param(
            [runs(owner=IN_JOB, activeDeadlineSeconds=9), job(activeDeadlineSeconds=3600)],
            (NOON_S + 3600, EndBy.DEADLINE), id="a Job tries again after a pod's own deadline",
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(None, activeDeadlineSeconds=3600)], None,
            id="a Job that has not begun",
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(owner="CronJob", activeDeadlineSeconds=3600)],
            (NOON_S + 3600, EndBy.DEADLINE), id="a Job of a CronJob",
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(owner="JobSet", activeDeadlineSeconds=3600)], None,
            id="a Job that is part of something larger",
        ),
        pytest.param(
            [runs(owner=("PyTorchJob", "t")), training(activeDeadlineSeconds=600)],
            (NOON_S + 600, EndBy.DEADLINE), id="a training job",
        ),
        pytest.param(
            [runs(owner=("PyTorchJob", "t")), training()], None,
            id="a training job without a deadline",
        ),
        pytest.param(ray(**SHUT), (NOON_S + 600, EndBy.DEADLINE), id="a RayJob"),
        pytest.param(
            ray(**SHUT, ttlSecondsAfterFinished=60), (NOON_S + 660, EndBy.DEADLINE),
            id="a RayJob that keeps its cluster for a while",
        ),
        pytest.param(
            ray(activeDeadlineSeconds=600), None, id="a RayJob that does not shut its cluster down"
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(labels=KUEUE)], (LATER_S + 600, EndBy.MAX_EXEC_TIME),
            id="Kueue's time of a Job counts from the pod's start",
        ),
        pytest.param(
            [runs(labels=KUEUE)], (LATER_S + 600, EndBy.MAX_EXEC_TIME), id="Kueue's time of a pod"
        ),
        pytest.param(
            [runs(labels=KUEUE, owner=("Job", "unknown"))], None,
            id="Kueue looks at the owner, not at its pods",
        ),
        pytest.param(
            [runs(annotations=RUNS_90_S)], (LATER_S + 90, EndBy.RUNTIME), id="its own word"
        ),
        pytest.param(
            [runs(owner=IN_JOB), job(annotations=RUNS_90_S)], (LATER_S + 90, EndBy.RUNTIME),
            id="its owner's word",
        ),
        pytest.param(
            [runs(annotations=in_group("g")), pod_group("g", meta={"annotations": RUNS_90_S})],
            (LATER_S + 90, EndBy.RUNTIME), id="its group's word",
        ),
        pytest.param(
            [runs(annotations=RUNS_90_S, labels=KUEUE, activeDeadlineSeconds=3600)],
            (LATER_S + 90, EndBy.RUNTIME), id="the earliest counts",
        ),
        pytest.param(
            [pod("p", annotations=RUNS_90_S, activeDeadlineSeconds=60)], None, id="it waits"
        ),
    ],
)  # fmt: skip
def test_a_pod_ends(objects: list[Data], want: tuple[int, EndBy] | None) -> None:
    assert end(*objects) == (None if want is None else End(*want))


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (
            runs(annotations={"apportion.dev/runtime": "soon"}),
            ('metadata.annotations["apportion.dev/runtime"]', "'soon' is no duration"),
        ),
        (
            runs(labels={"kueue.x-k8s.io/max-exec-time-seconds": "1h"}),
            ('metadata.labels["kueue.x-k8s.io/max-exec-time-seconds"]', "'1h' is no whole number"),
        ),
    ],
)
def test_what_is_no_time_is_warned_of_and_counts_for_nothing(
    made: Data, want: tuple[str, str]
) -> None:
    world = snapshot(node(), made)

    assert pod_in(world, "p").end is None
    (warned,) = world.warnings
    assert (warned.object, warned.path) == ("Pod default/p", want[0])
    assert warned.message.startswith(want[1])
    assert warned.message.endswith("counts for nothing")
