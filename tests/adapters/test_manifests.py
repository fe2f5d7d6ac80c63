"""Workloads that nobody has submitted yet are planned as the pods that they would become."""

from collections import Counter
from typing import Any

import pytest

from apportion.models import Snapshot
from kubernetes_objects import Data, container, group_in, node, obj, pod, pod_in, snapshot

INDEXED: dict[str, Any] = {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}

EXCLUSIVE_SET = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
EXCLUSIVE_REPLICAS = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}


def template(scheduler: str = "apportion", cpu: Any = 1, **labels: str) -> Data:
    spec = {"schedulerName": scheduler, "containers": [container({"cpu": cpu})]}
    return {"metadata": {"labels": {"app": "x", **labels}}, "spec": spec}


def job(template: Data, name: str = "j", meta: Data | None = None, **spec: Any) -> Data:
    return obj("batch/v1", "Job", name, meta=meta or {}, spec={**spec, "template": template})


def jobset(*parts: Data, **spec: Any) -> Data:
    return obj(
        "jobset.x-k8s.io/v1alpha2", "JobSet", "js", spec={"replicatedJobs": list(parts), **spec}
    )


def part(name: str, replicas: int, **job: Any) -> Data:
    return {
        "name": name, "replicas": replicas, "template": {"spec": {**job, "template": template()}}
    }  # fmt: skip


def leader_workers(replicas: int, size: int, **more: Any) -> Data:
    both = {"size": size, "workerTemplate": template(), **more}
    return obj(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws",
        spec={"replicas": replicas, "leaderWorkerTemplate": both},
    )  # fmt: skip


def training(kind: str, key: str, **replicas: int) -> Data:
    types: Data = {t: {"replicas": n, "template": template()} for t, n in replicas.items()}
    return obj("kubeflow.org/v1", kind, "train", spec={key: types})


def ray(**group: Any) -> Data:
    workers = {"groupName": "w", "template": template(), **group}
    spec = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [workers]}
    return obj("ray.io/v1", "RayCluster", "ray", spec=spec)


def ray_job(**spec: Any) -> Data:
    return obj(
        "ray.io/v1", "RayJob", "job", spec={"rayClusterSpec": ray(replicas=2)["spec"], **spec}
    )


def ray_service() -> Data:
    cluster = ray(minReplicas=1)["spec"]
    return obj("ray.io/v1", "RayService", "serve", spec={"rayClusterConfig": cluster})


def groups(world: Snapshot) -> dict[str, tuple[int, int]]:
    """Return the minimum of each group, and how many pods it has."""
    sizes = Counter(p.group for p in world.pods)
    return {g.name: (g.minimum, sizes[g.key]) for g in world.groups}


@pytest.mark.parametrize(
    ("workload", "want"),
    [
        pytest.param(job(template(), **INDEXED), {"j": (3, 3)}, id="indexed Job: a gang"),
        pytest.param(
            job(template(), parallelism=2, completions=9), {"j-0": (1, 1), "j-1": (1, 1)},
            id="Job: so many as run at once",
        ),
        pytest.param(
            job(template(), meta={"annotations": {"scheduling.volcano.sh/group-min-member": "2"}},
                parallelism=3),
            {"j": (2, 3)}, id="annotated Job",
        ),
        pytest.param(
            obj("apps/v1", "Deployment", "d", spec={"replicas": 2, "template": template()}),
            {"d-0": (1, 1), "d-1": (1, 1)}, id="Deployment: single pods",
        ),
        pytest.param(
            obj("apps/v1", "StatefulSet", "s", spec={"template": template()}),
            {"s-0": (1, 1)}, id="StatefulSet: one where it says no number",
        ),
        pytest.param(
            jobset(part("a", 1), part("b", 2, parallelism=2, completions=2)),
            {"js": (5, 5)}, id="JobSet",
        ),
        pytest.param(
            jobset(part("a", 2), part("b", 2), startupPolicy={"startupPolicyOrder": "InOrder"}),
            {"js-a": (2, 2), "js-b": (2, 2)}, id="JobSet in stages",
        ),
        pytest.param(
            leader_workers(2, 3, leaderTemplate=template(cpu=4)),
            {"lws-0": (3, 3), "lws-1": (3, 3)}, id="LeaderWorkerSet",
        ),
        pytest.param(
            training("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=3),
            {"train": (4, 4)}, id="PyTorchJob",
        ),
        pytest.param(
            training("MPIJob", "mpiReplicaSpecs", Launcher=1, Worker=2),
            {"train": (3, 3)}, id="MPIJob",
        ),
        pytest.param(
            ray(replicas=2, numOfHosts=2), {"ray": (5, 5)}, id="RayCluster, two hosts a worker"
        ),
        pytest.param(ray_job(), {"job": (3, 3)}, id="RayJob: the cluster that it makes"),
        pytest.param(
            ray_job(clusterSelector={"ray.io/cluster": "x"}), {}, id="RayJob on another cluster"
        ),
        pytest.param(ray_service(), {"serve": (2, 2)}, id="RayService"),
    ],
)  # fmt: skip
def test_a_manifest_is_planned(workload: Data, want: dict[str, tuple[int, int]]) -> None:
    world = snapshot(workload)

    assert groups(world) == want
    assert not world.rejected
    assert not world.warnings


def test_pods_bear_what_the_controller_writes() -> None:
    world = snapshot(leader_workers(1, 2, leaderTemplate=template(cpu=4)))

    leader, worker = pod_in(world, "lws-0"), pod_in(world, "lws-0-1")
    assert (leader.spec.requests["cpu"], worker.spec.requests["cpu"]) == (4000, 1000)
    assert worker.labels["leaderworkerset.sigs.k8s.io/worker-index"] == "1"
    assert worker.labels["app"] == "x"
    assert (worker.owner, worker.scheduler) == ("LeaderWorkerSet/lws", "apportion")


@pytest.mark.parametrize(
    ("workload", "label", "values"),
    [
        pytest.param(
            {**jobset(part("a", 2, parallelism=2, completions=2)), "annotations": EXCLUSIVE_SET},
            "jobset.sigs.k8s.io/job-key", {"js-a-0", "js-a-1"}, id="JobSet",
        ),
        pytest.param(
            {**leader_workers(2, 3), "annotations": EXCLUSIVE_REPLICAS},
            "leaderworkerset.sigs.k8s.io/group-key", {"lws-0", "lws-1"}, id="LeaderWorkerSet",
        ),
    ],
)  # fmt: skip
def test_parts_that_ask_for_a_domain_alone_get_the_terms_of_their_controller(
    workload: Data, label: str, values: set[str]
) -> None:
    workload["metadata"]["annotations"] = workload.pop("annotations")
    world = snapshot(workload)

    assert {p.labels[label] for p in world.pods} == values
    for p in world.pods:
        (near,), (apart,) = p.spec.affinity, p.spec.anti_affinity
        mine, others = p.labels, {label: "another"}
        assert (near.topology_key, apart.topology_key) == ("rack", "rack")
        assert near.selector is not None
        assert apart.selector is not None
        assert near.selector.matches(mine)
        assert not near.selector.matches(others)
        assert apart.selector.matches(others)
        assert not apart.selector.matches(mine)
        assert not apart.selector.matches({})


def test_roles_are_known_of_training_jobs() -> None:
    workload = training("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=3)
    workload["spec"]["elasticPolicy"] = {"minReplicas": 1}
    world = snapshot(workload)

    assert group_in(world, "train").role_minimum == {"master": 1, "worker": 1}
    assert pod_in(world, "train-worker-2").role == "worker"


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([pod("j-x", owner=("Job", "j"))], id="its pod"),
        pytest.param(
            [pod("j-x", owner=("Job", "j"), status={"phase": "Succeeded"})],
            id="a pod that has ended",
        ),
    ],
)
def test_what_has_pods_makes_its_own(others: list[Data]) -> None:
    world = snapshot(job(template(), parallelism=4), *others)

    assert [p.name for p in world.pods if p.name != "j-x"] == []


def test_what_an_api_server_has_seen_is_left_to_its_controller() -> None:
    assert snapshot(job(template(), meta={"uid": "1"})).pods == ()


def test_what_a_controller_made_is_no_manifest() -> None:
    deployment = obj("apps/v1", "Deployment", "d", spec={"replicas": 2, "template": template()})
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True}
    of_it = obj("apps/v1", "ReplicaSet", "d-1", meta={"ownerReferences": [owner]},
                spec={"replicas": 2, "template": template()})  # fmt: skip

    assert snapshot(deployment, of_it).pods == ()


def test_a_template_without_containers_makes_no_pods() -> None:
    world = snapshot(job({}, parallelism=2))

    assert (world.pods, world.rejected) == ((), ())


def test_pods_for_another_scheduler_are_named_only() -> None:
    world = snapshot(node("n"), job(template("other"), parallelism=2))

    assert world.pods == ()
    assert "pending are 2 for other; pass --scheduler-name other" in world.warnings[0].message


def test_a_suspended_job_has_no_pods_and_is_told_of() -> None:
    world = snapshot(job(template(), suspend=True))

    assert world.pods == ()
    (warning,) = world.warnings
    assert (warning.object, warning.path) == ("Job default/j", "spec.suspend")


def test_a_job_that_kueue_admits_is_not_held_by_suspend() -> None:
    of_kueue = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}

    assert len(snapshot(job(template(), meta=of_kueue, suspend=True, parallelism=2)).pods) == 2


def test_what_is_wrong_in_a_template_is_said_of_the_workload() -> None:
    bad = template()
    bad["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "many"}}
    world = snapshot(jobset({"name": "a", "template": {"spec": {"template": bad}}}))

    assert world.pods == ()
    found = {(r.object, r.path) for r in world.rejected}
    assert {o for o, _ in found} == {"JobSet default/js"}
    assert all(p.startswith("spec.replicatedJobs[0].template.spec.template.") for _, p in found)


def test_what_is_wrong_in_the_cluster_of_a_ray_job_is_said_where_it_stands() -> None:
    bad = ray_job()
    head = bad["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
    head["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "many"}}

    (said, *_) = snapshot(bad).rejected
    assert said.object == "RayJob default/job"
    assert said.path.startswith("spec.rayClusterSpec.headGroupSpec.template.")


def test_a_ray_job_whose_cluster_is_there_makes_no_second_one() -> None:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "controller": True}
    cluster = ray(replicas=2)
    cluster["metadata"]["ownerReferences"] = [owner]

    assert snapshot(ray_job(), cluster).pods == ()


def test_too_many_pods_are_refused() -> None:
    world = snapshot(job(template(), parallelism=200_000))

    assert world.pods == ()
    assert "at most 100000" in world.rejected[0].message


def test_a_live_scheduler_makes_none_up() -> None:
    assert snapshot(job(template(), parallelism=2), live=True).pods == ()
