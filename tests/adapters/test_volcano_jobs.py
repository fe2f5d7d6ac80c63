"""Volcano Jobs are planned before, or while, their controller creates the pods."""

from typing import Any

from kubernetes_objects import (
    NOON,
    NOON_S,
    container,
    group_in,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    pod_in,
    priority_class,
    snapshot,
)


def task(name: str, replicas: int, cpu: Any = 1, **more: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container({"cpu": cpu})], **more.pop("spec", {})},
    }
    return {"name": name, "replicas": replicas, "template": template, **more}


def job(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    status, meta = spec.pop("status", {}), spec.pop("meta", {"creationTimestamp": NOON})
    return obj(
        "batch.volcano.sh/v1alpha1",
        "Job",
        "train",
        meta=meta,
        spec={"schedulerName": "apportion", "tasks": list(tasks), **spec},
        status=status,
    )


def test_a_job_that_is_not_submitted_is_expanded() -> None:
    world = snapshot(
        priority_class("high", 9),
        job(task("ps", 1), task("worker", 3, cpu=2), queue="team", priorityClassName="high"),
    )

    group = group_in(world, "train")
    assert (group.minimum, group.role_minimum) == (4, {"ps": 1, "worker": 3})
    assert (group.queue, group.priority, group.created_s) == ("team", 9, NOON_S)
    assert [p.name for p in world.pods] == [
        "train-ps-0",
        "train-worker-0",
        "train-worker-1",
        "train-worker-2",
    ]
    worker = pod_in(world, "train-worker-1")
    assert (worker.role, worker.priority, worker.created_s) == ("worker", 9, NOON_S)
    assert (worker.owner, worker.scheduler) == ("Job/train", "apportion")
    assert worker.labels["volcano.sh/job-name"] == "train"
    assert worker.labels["app"] == "worker"
    assert dict(worker.spec.requests) == {"cpu": 2000}


def test_only_missing_pods_are_added_and_the_group_that_exists_is_used() -> None:
    meta = {"uid": "u1", "creationTimestamp": NOON}
    world = snapshot(
        node(),
        job(task("w", 3), meta=meta),
        pod_group("train-u1", minMember=2, queue="mine"),
        pod("train-w-1", nodeName="n", annotations=in_group("train-u1")),
    )

    (group,) = world.groups
    assert (group.name, group.minimum, group.queue) == ("train-u1", 2, "mine")
    assert {p.name: p.holds for p in world.pods} == {
        "train-w-0": False,
        "train-w-1": True,
        "train-w-2": False,
    }


def test_pods_know_the_group_of_their_job_by_either_name() -> None:
    meta = {"uid": "u1"}
    world = snapshot(job(task("w", 2), meta=meta), pod("train-w-0", annotations=in_group("train")))

    assert {p.group for p in world.pods} == {"default/train-u1"}


def test_a_bad_pod_is_not_created_a_second_time() -> None:
    bad = pod("train-w-0", {"cpu": "lots"}, annotations=in_group("train"))

    world = snapshot(job(task("w", 2)), bad)

    assert [p.name for p in world.pods] == ["train-w-1"]
    assert [r.object for r in world.rejected] == ["Pod default/train-w-0"]


def test_of_two_jobs_that_make_one_pod_name_the_first_has_it() -> None:
    first, second = job(task("b-c", 2)), job(task("c", 2))
    first["metadata"]["name"], second["metadata"]["name"] = "a", "a-b"

    world = snapshot(second, first)

    assert {p.name: p.group for p in world.pods} == {
        "a-b-c-0": "default/a",
        "a-b-c-1": "default/a",
    }


def test_minima_of_tasks_and_job() -> None:
    given = snapshot(job(task("m", 1), task("w", 4, minAvailable=2), minAvailable=3))
    fewer = snapshot(job(task("w", 4), minAvailable=1))
    parts = {"minPartitions": 1, "partitionSize": 2, "totalPartitions": 2}
    cut = snapshot(job(task("w", 4, partitionPolicy=parts)))

    assert (group_in(given, "train").minimum, group_in(given, "train").role_minimum) == (
        3,
        {"m": 1, "w": 2},
    )
    assert (group_in(fewer, "train").minimum, group_in(fewer, "train").role_minimum) == (1, {})
    assert group_in(cut, "train").minimum == 2


def test_the_minima_that_volcanos_webhook_fills_in_do_not_bind() -> None:
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "j",
        "controller": True,
    }
    pods = [
        pod(f"w-{i}", annotations={**in_group("g"), "volcano.sh/task-spec": "w"}) for i in range(3)
    ]
    group = pod_group("g", minMember=1, minTaskMember={"w": 3}, meta={"ownerReferences": [owner]})

    assert group_in(snapshot(group, *pods), "g").effective_minimum == 1


def test_jobs_of_others_and_jobs_that_are_over_are_not_expanded() -> None:
    over = {"state": {"phase": "Completed"}}

    assert snapshot(job(task("w", 2), schedulerName="volcano")).pods == ()
    assert snapshot(job(task("w", 2), status=over)).pods == ()
    assert snapshot(job(task("w", 2), meta={"deletionTimestamp": NOON})).pods == ()
    assert len(snapshot(job(task("w", 2), schedulerName=None)).pods) == 2


def test_limit_ranges_fill_pods_of_a_job() -> None:
    limits = {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]}

    world = snapshot(obj("v1", "LimitRange", "l", spec=limits), job(task("w", 1)))

    assert dict(pod_in(world, "train-w-0").spec.requests) == {"cpu": 1000, "memory": 1 << 30}


def test_unsupported_parts_are_said() -> None:
    world = snapshot(job(task("w", 1, dependsOn={"name": ["x"]})))

    assert [w.path for w in world.warnings] == ["spec.tasks[0].dependsOn"]
    assert group_in(world, "train").hold == ()


def test_a_bad_job_is_rejected_with_all_its_faults() -> None:
    world = snapshot(
        job(task("w", 1, cpu="lots"), task("w", 2, minAvailable=3)),
        obj("batch.volcano.sh/v1alpha1", "Job", "empty", spec={}),
        obj(
            "batch.volcano.sh/v1alpha1",
            "Job",
            "shapeless",
            spec={"minAvailable": "2", "tasks": [{"replicas": -1}, 7]},
        ),
        obj("batch.volcano.sh/v1alpha1", "Job", "huge", spec={"tasks": [task("w", 10**9)]}),
    )

    assert world.pods == ()
    assert [(r.object.split("/")[1], r.path) for r in world.rejected] == [
        ("empty", "spec.tasks"),
        ("huge", "spec.tasks"),
        ("shapeless", "spec.minAvailable"),
        ("shapeless", "spec.tasks[0].replicas"),
        ("shapeless", "spec.tasks[1]"),
        ("train", "spec.tasks[1].minAvailable"),
        ("train", "spec.tasks[1].name"),
    ]


def test_a_bad_template_is_rejected_with_its_path() -> None:
    shapeless = job(task("w", 2, spec={"priority": "high"}))
    unreadable = job(task("w", 3, cpu="lots"))
    unreadable["metadata"]["name"] = "other"

    world = snapshot(shapeless, unreadable)

    template = "spec.tasks[0].template.spec"
    assert [(r.object, r.path) for r in world.rejected] == [
        ("Job default/other", f"{template}.containers[0].resources.requests.cpu"),
        ("Job default/train", f"{template}.priority"),
    ]
    assert world.pods == ()


def test_a_job_of_another_scheduler_is_named_where_nothing_is_ours() -> None:
    world = snapshot(job(task("w", 3), schedulerName="elsewhere"))

    assert world.pods == ()
    [warning] = [w for w in world.warnings if w.path == "spec.schedulerName"]
    assert "pending are 3 for elsewhere; pass --scheduler-name elsewhere" in warning.message
