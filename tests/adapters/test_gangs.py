"""Workloads whose pods need each other are groups without any group object."""

from typing import Any

import pytest

from kubernetes_objects import NOON, NOON_S, Data, group_in, obj, pod, snapshot

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
JOBSET = "jobset.sigs.k8s.io/"
LWS = "leaderworkerset.sigs.k8s.io/"
KUBEFLOW = "training.kubeflow.org/"
Groups = dict[str, tuple[int, dict[str, int], int]]


def groups(*objects: Any) -> Groups:
    """Return minimum, minima of roles and number of pods of every group, by its name."""
    world = snapshot(*objects)
    return {
        g.name: (g.minimum, dict(g.role_minimum), len(world.pods_by_group[g.key]))
        for g in world.groups
    }


def pods(n: int, kind: str, name: str, labels: dict[str, str] | None = None, **more: Any) -> Any:
    return [pod(f"{name}-{i}", owner=(kind, name), labels=labels, **more) for i in range(n)]


def training(kind: str, key: str, replicas: dict[str, int | None], **spec: Any) -> Data:
    specs = {t: {} if n is None else {"replicas": n} for t, n in replicas.items()}
    return obj("kubeflow.org/v1", kind, "t", spec={key: specs, **spec})


def typed(kind: str, label: str = "replica-type", /, **numbers: int) -> list[Data]:
    return [
        pod(f"t-{t}-{i}", owner=(kind, "t"), labels={f"{KUBEFLOW}{label}": t})
        for t, n in numbers.items()
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("kind", "key", "replicas", "want"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", {"Master": None, "Worker": 3}, 4),
        ("TFJob", "tfReplicaSpecs", {"Chief": 1, "PS": 1, "Worker": 2}, 4),
        ("PaddleJob", "paddleReplicaSpecs", {"Worker": 4}, 4),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": 1, "Worker": 3}, 4),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": 4}, 4),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": 1, "Worker": 3}, 4),
    ],
)
def test_all_pods_of_a_training_job_start_together(
    kind: str, key: str, replicas: dict[str, int | None], want: int
) -> None:
    numbers = {t.lower(): n or 1 for t, n in replicas.items()}

    found = groups(training(kind, key, replicas), *typed(kind, **numbers))

    assert found == {"t": (want, {}, 4)}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}, (2, {}), id="its own policy"
        ),
        pytest.param(
            {"elasticPolicy": {"minReplicas": 2}}, (3, {"master": 1, "worker": 2}), id="elastic"
        ),
        pytest.param(
            {
                "elasticPolicy": {"minReplicas": 1},
                "runPolicy": {"schedulingPolicy": {"minAvailable": 9}},
            },
            (2, {}),
            id="never more than there will be",
        ),
    ],
)
def test_a_training_job_may_need_fewer(spec: dict[str, Any], want: Any) -> None:
    replicas: dict[str, int | None] = {"Master": 1, "Worker": 4}
    job = training("PyTorchJob", "pytorchReplicaSpecs", replicas, **spec)

    found = groups(job, *typed("PyTorchJob", master=1, worker=4))

    assert found == {"t": (*want, 5)}


def test_queue_and_priority_of_a_scheduling_policy_count() -> None:
    policy = {"queue": "team", "priorityClass": "high"}
    job = training(
        "PyTorchJob", "pytorchReplicaSpecs", {"Worker": 2},
        runPolicy={"schedulingPolicy": policy},
    )  # fmt: skip
    high = obj("scheduling.k8s.io/v1", "PriorityClass", "high", None, value=7)

    group = group_in(snapshot(job, high, *typed("PyTorchJob", worker=2)), "t")

    assert (group.queue, group.priority) == ("team", 7)


def test_roles_that_pods_do_not_say_are_not_asked_for() -> None:
    spec = {"elasticPolicy": {"minReplicas": 2}}
    job = training("PyTorchJob", "pytorchReplicaSpecs", {"Master": 1, "Worker": 4}, **spec)

    assert groups(job, *pods(5, "PyTorchJob", "t")) == {"t": (3, {}, 5)}


def test_workers_do_not_wait_for_a_launcher_that_waits_for_them() -> None:
    def mpi(policy: str) -> Data:
        replicas: dict[str, int | None] = {"Launcher": 1, "Worker": 2}
        return training("MPIJob", "mpiReplicaSpecs", replicas, launcherCreationPolicy=policy)

    workers = typed("MPIJob", "job-role", worker=2)
    labels = {f"{KUBEFLOW}job-name": "t", f"{KUBEFLOW}job-role": "launcher"}
    launcher = pod("t-launcher", owner=("Job", "t-launcher"), labels=labels)

    assert groups(mpi("WaitForWorkersReady"), *workers) == {"t": (2, {"worker": 2}, 2)}
    assert groups(mpi("WaitForWorkersReady"), *workers, launcher) == {"t": (2, {"worker": 2}, 3)}
    assert groups(mpi("AtStartup"), *workers, launcher) == {"t": (3, {}, 3)}


def jobset(**spec: Any) -> Data:
    parts = [
        {"name": "driver", "template": {"spec": {"parallelism": 1}}},
        {
            "name": "work",
            "replicas": 2,
            "template": {"spec": {"parallelism": 3, "completions": 2}},
            **spec.pop("work", {}),
        },
    ]
    return obj("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec={"replicatedJobs": parts, **spec})


def of_jobset() -> list[Data]:
    return [
        pod(
            f"s-{part}-{job}-{i}",
            owner=("Job", f"s-{part}-{job}"),
            labels={f"{JOBSET}jobset-name": "s", f"{JOBSET}replicatedjob-name": part},
        )
        for part, jobs, n in (("driver", 1, 1), ("work", 2, 2))
        for job in range(jobs)
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, {"s": (5, {}, 5)}, id="one group"),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "AnyOrder"}}, {"s": (5, {}, 5)}, id="any order"
        ),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            {"s-driver-0-0": (1, {}, 1), "s-work": (4, {}, 4)},
            id="one part after another",
        ),
        pytest.param(
            {"work": {"dependsOn": [{"name": "driver", "status": "Ready"}]}},
            {"s-driver-0-0": (1, {}, 1), "s-work": (4, {}, 4)},
            id="a part that waits for another",
        ),
    ],
)
def test_a_jobset_is_a_gang_of_what_is_created_at_once(spec: Any, want: Groups) -> None:
    assert groups(jobset(**spec), *of_jobset()) == want


def lws(**spec: Any) -> Data:
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3}, **spec}
    return obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", spec=spec)


def of_lws(*sizes: int) -> list[Data]:
    """Return replicas with so many pods each; the leader bears the name of its replica."""
    return [
        pod(
            f"l-{r}" if i == 0 else f"l-{r}-{i}",
            owner=("StatefulSet", "l" if i == 0 else f"l-{r}"),
            labels={f"{LWS}name": "l", f"{LWS}group-index": str(r), f"{LWS}worker-index": str(i)},
            annotations={f"{LWS}size": "3"},
        )
        for r, size in enumerate(sizes)
        for i in range(size)
    ]


def test_each_replica_of_a_leader_worker_set_is_a_gang() -> None:
    assert groups(lws(), *of_lws(3, 2)) == {"l-0": (3, {}, 3), "l-1": (3, {}, 2)}
    assert groups(lws(startupPolicy="LeaderReady"), *of_lws(1, 1)) == {
        "l-0": (1, {}, 1),
        "l-1": (1, {}, 1),
    }


def ray(**spec: Any) -> Data:
    workers = {"groupName": "gpu", "replicas": 3, "minReplicas": 1, "numOfHosts": 2}
    others = {"groupName": "off", "replicas": 9, "suspend": True}
    spec = {"workerGroupSpecs": [workers, others], **spec}
    return obj("ray.io/v1", "RayCluster", "r", spec=spec)


def of_ray(workers: int, **head: Any) -> list[Data]:
    def one(name: str, kind: str, group: str, **more: Any) -> Data:
        labels = {"ray.io/cluster": "r", "ray.io/node-type": kind, "ray.io/group": group}
        return pod(name, owner=("RayCluster", "r"), labels=labels, **more)

    return [
        one("r-head", "head", "headgroup", **head),
        *(one(f"r-gpu-{i}", "worker", "gpu") for i in range(workers)),
    ]


def test_a_ray_cluster_starts_with_its_workers_and_then_grows() -> None:
    assert groups(ray(), *of_ray(6)) == {"r": (7, {"headgroup": 1, "gpu": 6}, 7)}
    assert groups(ray(), *of_ray(6, nodeName="n")) == {"r": (3, {"headgroup": 1, "gpu": 2}, 7)}


def test_a_ray_head_does_not_wait_for_workers_that_it_asks_for_later() -> None:
    scaled = ray(enableInTreeAutoscaling=True)
    alone = ray(enableInTreeAutoscaling=True, workerGroupSpecs=[{"groupName": "gpu"}])

    assert groups(scaled, *of_ray(2)) == {"r": (3, {"headgroup": 1, "gpu": 2}, 3)}
    assert groups(alone, *of_ray(0)) == {"r-head": (1, {}, 1)}


def job(**spec: Any) -> Data:
    status = spec.pop("status", {})
    spec = {"completionMode": "Indexed", "parallelism": 3, "completions": 3, **spec}
    return obj("batch/v1", "Job", "j", spec=spec, status=status)


SINGLES: Groups = {f"j-{i}": (1, {}, 1) for i in range(3)}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, {"j": (3, {}, 3)}, id="a fixed number side by side"),
        pytest.param({"completionMode": "NonIndexed"}, SINGLES, id="a work queue"),
        pytest.param({"completions": 9}, SINGLES, id="more to do than at once"),
        pytest.param({"backoffLimitPerIndex": 1}, SINGLES, id="indexes that may fail alone"),
        pytest.param({"completions": None}, SINGLES, id="no fixed number"),
    ],
)
def test_a_job_is_a_gang_where_kubernetes_makes_one_of_it(spec: Any, want: Groups) -> None:
    assert groups(job(**spec), *pods(3, "Job", "j")) == want


@pytest.mark.parametrize(
    ("least", "want"), [("2", 2), ("1", 1), ("3", 3), ("7", 3), ("0", 1), ("some", 3)]
)
def test_of_a_job_that_kueue_may_let_in_in_part_fewer_pods_are_enough(
    least: str, want: int
) -> None:
    parted = job()
    parted["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": least}

    assert groups(parted, *pods(3, "Job", "j")) == {"j": (want, {}, 3)}


def test_pods_of_a_job_that_succeeded_and_are_gone_are_not_waited_for() -> None:
    done = pod("j-2", owner=("Job", "j"), nodeName="n", status={"phase": "Succeeded"})
    parallel = job(parallelism=4, completions=4, status={"succeeded": 2})

    assert groups(parallel, *pods(2, "Job", "j"), done) == {"j": (3, {}, 3)}


def test_a_job_is_a_gang_when_it_starts_and_not_afterwards() -> None:
    """An index that is lost must not cost the others, which the Job would count as failures."""
    begun = [*pods(2, "Job", "j"), pod("j-2", owner=("Job", "j"), nodeName="n")]

    assert groups(job(), *pods(3, "Job", "j")) == {"j": (3, {}, 3)}
    assert groups(job(), *begun) == {"j": (1, {}, 3)}


def test_pods_of_a_gang_that_all_finished_are_counted_only() -> None:
    over: Any = {"nodeName": "n", "status": {"phase": "Succeeded"}}
    world = snapshot(job(), *pods(3, "Job", "j", **over))

    assert (world.groups, world.counted) == ((), {"Pod (finished)": 3})


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param(typed("PyTorchJob", worker=3), {"t": (3, {}, 3)}, id="a training job"),
        pytest.param(of_jobset(), {"s": (5, {}, 5)}, id="a JobSet"),
        pytest.param(of_lws(3, 1), {"l-0": (3, {}, 3), "Pod/l-1": (1, {}, 1)}, id="a LWS"),
        pytest.param(of_ray(2), None, id="a RayCluster, which may scale by itself"),
        pytest.param(pods(2, "Job", "j"), None, id="a Job"),
    ],
)
def test_without_the_workload_those_are_waited_for_that_are_there(
    members: list[Data], want: Groups | None
) -> None:
    if want is None:
        want = {p["metadata"]["name"]: (1, {}, 1) for p in members}
    assert {k.removeprefix("Pod/"): v for k, v in groups(*members).items()} == {
        k.removeprefix("Pod/"): v for k, v in want.items()
    }


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        ("Deployment", "apps/v1"),
        ("ReplicaSet", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("DaemonSet", "apps/v1"),
        ("SparkApplication", "sparkoperator.k8s.io/v1beta2"),
        ("FlinkDeployment", "flink.apache.org/v1beta1"),
        ("Workflow", "argoproj.io/v1alpha1"),
    ],
)
def test_other_owners_leave_their_pods_alone(kind: str, api: str) -> None:
    owner = obj(api, kind, "o", spec={"replicas": 2})

    assert groups(owner, *pods(2, kind, "o")) == {"o-0": (1, {}, 1), "o-1": (1, {}, 1)}


def annotated(thing: Data, minimum: int) -> Data:
    thing["metadata"]["annotations"] = {MIN_MEMBER: str(minimum)}
    return thing


def test_an_annotation_says_more_than_nature() -> None:
    one = annotated(training("PyTorchJob", "pytorchReplicaSpecs", {"Worker": 4}), 1)
    elastic = annotated(jobset(), 2)

    assert groups(one, *typed("PyTorchJob", worker=4)) == {"t": (1, {}, 4)}
    assert groups(elastic, *of_jobset()) == {"s": (2, {}, 5)}


def scaled(kind: str, **spec: Any) -> Data:
    return annotated(obj("apps/v1", kind, "o", spec={"replicas": 2, **spec}), 3)


@pytest.mark.parametrize(
    ("owner", "kind", "want", "warning"),
    [
        pytest.param(
            scaled("StatefulSet", replicas=4, podManagementPolicy="OrderedReady"),
            "StatefulSet", 1, "podManagementPolicy: Parallel", id="one pod after another",
        ),
        pytest.param(
            scaled("StatefulSet", replicas=4, podManagementPolicy="Parallel"),
            "StatefulSet", 3, None, id="all at once",
        ),
        pytest.param(
            scaled("ReplicaSet"), "ReplicaSet", 2, "no more than 2 pods", id="fewer are asked for"
        ),
        pytest.param(
            annotated(obj("sparkoperator.k8s.io/v1beta2", "SparkApplication", "o"), 3),
            "SparkApplication", 1, "one after another", id="a driver that makes its executors",
        ),
        pytest.param(
            annotated(obj("example.com/v1", "Farm", "o"), 3), "Farm", 3, None, id="who knows"
        ),
    ],
)  # fmt: skip
def test_a_group_does_not_wait_for_pods_that_wait_for_it(
    owner: Data, kind: str, want: int, warning: str | None
) -> None:
    world = snapshot(owner, pod("o-0", owner=(kind, "o")))

    assert [g.minimum for g in world.groups] == [want]
    assert [warning in w.message for w in world.warnings if warning] == [True] * bool(warning)
    assert bool(world.warnings) is bool(warning)


def test_a_roll_out_of_a_deployment_asks_each_generation_for_its_part() -> None:
    deployment = annotated(obj("apps/v1", "Deployment", "d", spec={"replicas": 3}), 3)
    generations = [
        obj("apps/v1", "ReplicaSet", name, spec={"replicas": n}) for name, n in (("a", 2), ("b", 1))
    ]
    for g in generations:
        g["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "d", "controller": True}]

    members = [*pods(2, "ReplicaSet", "a"), *pods(1, "ReplicaSet", "b")]
    world = snapshot(deployment, *generations, *members)

    assert [(g.name, g.minimum) for g in world.groups] == [("a", 2), ("b", 1)]
    assert world.warnings == ()


def test_an_owner_above_the_owner_makes_one_group_of_all_its_pods() -> None:
    farm = annotated(obj("example.com/v1", "Farm", "f"), 3)
    sets = [obj("apps/v1", "ReplicaSet", name, spec={"replicas": 2}) for name in "ab"]
    for s in sets:
        s["metadata"]["ownerReferences"] = [{"kind": "Farm", "name": "f", "controller": True}]

    members = [*pods(2, "ReplicaSet", "a"), *pods(2, "ReplicaSet", "b")]

    assert groups(farm, *sets, *members) == {"f": (3, {}, 4)}


def test_jobs_of_a_cron_job_are_groups_each() -> None:
    cron = annotated(obj("batch/v1", "CronJob", "c"), 2)
    runs = [obj("batch/v1", "Job", name, spec={"parallelism": 2}) for name in ("c-1", "c-2")]
    for r in runs:
        r["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "c", "controller": True}]

    found = groups(cron, *runs, *pods(2, "Job", "c-1"), *pods(2, "Job", "c-2"))

    assert found == {"c-1": (2, {}, 2), "c-2": (2, {}, 2)}


def test_a_gang_is_as_old_as_its_workload() -> None:
    job = training("PyTorchJob", "pytorchReplicaSpecs", {"Worker": 2})
    job["metadata"]["creationTimestamp"] = NOON
    later = pods(2, "PyTorchJob", "t", meta={"creationTimestamp": "2026-01-05T13:00:00Z"})

    group = group_in(snapshot(job, *later), "t")

    assert (group.created_s, group.source, group.implicit) == (NOON_S, "PyTorchJob", False)


def test_jobs_of_two_api_groups_may_share_a_name() -> None:
    volcano = obj("batch.volcano.sh/v1alpha1", "Job", "j", spec={"schedulerName": "volcano"})
    reference = {
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True
    }  # fmt: skip
    members = [pod(f"j-{i}", meta={"ownerReferences": [reference]}) for i in range(3)]

    assert groups(job(), volcano, *members)["j"] == (3, {}, 3)
