"""A TrainJob is planned as the pods that Kubeflow's trainer makes of it and of its runtime."""

from copy import deepcopy
from typing import Any

import pytest

from apportion.models import Toleration
from kubernetes_objects import Data, container, group_in, obj, pod, pod_in, snapshot

TRAINER = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
GANG = "scheduling.volcano.sh/group-min-member"


def part(name: str, step: str, of_container: str, **more: Any) -> Data:
    """Return a part of a runtime: a Job of one pod that asks for a core."""
    spec = {
        "schedulerName": "apportion",
        "nodeSelector": {"of": "runtime"},
        "containers": [{**container({"cpu": 1}), "name": of_container}],
    }
    job = {"metadata": {"labels": {STEP: step}}, "spec": {"template": {"spec": spec}}}
    return {"name": name, "template": job, **more}


def runtime(
    *parts: Data, nodes: int | None = None, kind: str = "ClusterTrainingRuntime", **meta: Any
) -> Data:
    spec: Data = {"template": {"spec": {"replicatedJobs": list(parts)}}}
    if nodes is not None:
        spec["mlPolicy"] = {"numNodes": nodes}
    place = None if kind.startswith("Cluster") else "default"
    return obj(TRAINER, kind, "torch", place, meta=meta, spec=spec)


def train(kind: str | None = None, meta: Data | None = None, **spec: Any) -> Data:
    ref = {"name": "torch"} | ({"kind": kind} if kind else {})
    return obj(TRAINER, "TrainJob", "t", meta=meta or {}, spec={"runtimeRef": ref, **spec})


NODE = part("node", "trainer", "node")
DATA = part("data", "dataset-initializer", "dataset-initializer")


@pytest.mark.parametrize(
    ("job", "of", "want"),
    [
        pytest.param(train(), runtime(NODE), 1, id="one node where nobody says a number"),
        pytest.param(train(), runtime(NODE, nodes=3), 3, id="as many nodes as the runtime says"),
        pytest.param(
            train(trainer={"numNodes": 4}), runtime(NODE, nodes=3), 4, id="the job's own number"
        ),
        pytest.param(
            train("TrainingRuntime", trainer={"numNodes": 2}),
            runtime(NODE, kind="TrainingRuntime"), 2, id="a runtime of the namespace",
        ),
    ],
)  # fmt: skip
def test_a_train_job_is_a_gang_of_its_nodes(job: Data, of: Data, want: int) -> None:
    world = snapshot(job, of)

    assert [p.name for p in world.pods] == [f"t-node-0-{i}" for i in range(want)]
    assert [g.effective_minimum for g in world.groups] == [want]
    assert not world.warnings
    assert not world.rejected


def test_what_prepares_comes_first_and_is_a_group_of_its_own() -> None:
    later = {**NODE, "dependsOn": [{"name": "data", "status": "Complete"}]}
    world = snapshot(train(trainer={"numNodes": 2}), runtime(DATA, later))

    assert {g.name: g.effective_minimum for g in world.groups} == {"t-data-0-0": 1, "t-node": 2}


def test_resources_of_a_node_are_those_of_the_container_that_trains() -> None:
    asked = {"requests": {"cpu": "3", "nvidia.com/gpu": "2"}}
    world = snapshot(train(trainer={"numNodes": 1, "resourcesPerNode": asked}), runtime(DATA, NODE))

    one, other = pod_in(world, "t-node-0-0"), pod_in(world, "t-data-0-0")
    assert dict(one.spec.requests) == {"cpu": 3000, "nvidia.com/gpu": 2000}
    assert dict(other.spec.requests) == {"cpu": 1000}


PLACING = {
    "nodeSelector": {"mine": "x"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "serviceAccountName": "a",
}
OVERRIDE = [{"targetJobs": [{"name": "node"}], "spec": PLACING}]
_TEMPLATE = {"spec": {"template": {"spec": PLACING}}}
_PARTS = {"replicatedJobs": [{"name": "node", "template": _TEMPLATE}]}
PATCH = [{"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": _PARTS}}}]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"podTemplateOverrides": OVERRIDE}, id="overrides, until 2.1"),
        pytest.param({"runtimePatches": PATCH}, id="patches, from 2.2 on"),
    ],
)
def test_a_job_says_where_its_pods_may_be(words: Data) -> None:
    world = snapshot(train(**words), runtime(DATA, NODE))

    one, other = pod_in(world, "t-node-0-0"), pod_in(world, "t-data-0-0")
    assert one.spec.node_selector == (("mine", "x"), ("of", "runtime"))
    assert one.spec.tolerations == (Toleration("k", "Exists"),)
    assert other.spec.node_selector == (("of", "runtime"),)


def test_a_runtime_that_is_not_there_is_told_of() -> None:
    world = snapshot(train(), runtime(NODE, kind="TrainingRuntime"))

    assert world.pods == ()
    (said,) = world.warnings
    assert (said.object, said.path) == ("TrainJob default/t", "spec.runtimeRef")
    assert "ClusterTrainingRuntime torch, which is not in the input" in said.message


def test_a_job_that_kueue_admits_is_planned_though_it_is_suspended() -> None:
    queued = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}

    assert snapshot(train(suspend=True), runtime(NODE)).pods == ()
    assert len(snapshot(train(suspend=True, meta=queued), runtime(NODE)).pods) == 1


def test_what_is_wrong_is_said_of_the_job_set_that_would_be_made() -> None:
    asked = {"requests": {"cpu": "many"}}

    (said, *_) = snapshot(train(trainer={"resourcesPerNode": asked}), runtime(NODE)).rejected
    assert said.object == "JobSet default/t"
    assert said.path.endswith("containers[0].resources.requests.cpu")


@pytest.mark.parametrize(("launcher_too", "want"), [(False, 4), (True, 3)])
def test_a_launcher_of_mpi_may_be_one_of_the_nodes(launcher_too: bool, want: int) -> None:
    of = runtime(part("launcher", "trainer", "node"), deepcopy(NODE))
    del of["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["metadata"]
    of["spec"]["mlPolicy"] = {"mpi": {"runLauncherAsNode": launcher_too}}
    world = snapshot(train(trainer={"numNodes": 4}), of)

    assert sorted(p.name for p in world.pods) == [
        "t-launcher-0-0", *(f"t-node-0-{i}" for i in range(want))
    ]  # fmt: skip


@pytest.mark.parametrize("live", [False, True])
def test_pods_that_are_there_are_their_own(live: bool) -> None:
    jobset = obj(
        "jobset.x-k8s.io/v1alpha2", "JobSet", "t",
        meta={"uid": "2", "ownerReferences": [owner("TrainJob", "t", TRAINER)]},
        spec={"replicatedJobs": []},
    )  # fmt: skip
    inner = obj(
        "batch/v1", "Job", "t-node-0",
        meta={"uid": "3", "ownerReferences": [owner("JobSet", "t", "jobset.x-k8s.io/v1alpha2")]},
    )  # fmt: skip
    marked = train(meta={"uid": "1", "annotations": {GANG: "2"}})
    there = [pod(f"p{i}", owner=("Job", "t-node-0")) for i in range(3)]

    world = snapshot(marked, runtime(NODE), jobset, inner, *there, live=live)

    assert [p.name for p in world.pods] == ["p0", "p1", "p2"]
    assert group_in(world, "t").effective_minimum == 2


def owner(kind: str, name: str, api: str) -> Data:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": "u", "controller": True}
