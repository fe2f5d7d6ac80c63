"""Groups of Volcano that have no pods yet: who asks to be let in, how much for, and whose it is."""

from typing import Any

import pytest

from kubernetes_objects import group_in, in_group, obj, pod, pod_group, snapshot


def admission(**status: str) -> tuple[bool, bool, Any]:
    resources = {"cpu": "2", "count/pods": "2", "requests.cpu": "2", "pods": "2"}
    world = snapshot(pod_group("g", minMember=2, minResources=resources, status=status))
    group = group_in(world, "g")
    return group.asks_admission, group.admitted, group.min_resources


def test_a_volcano_group_without_pods_asks_to_be_admitted_or_is() -> None:
    reserved = {"cpu": 2000, "pods": 2}

    asks, admitted, resources = admission(phase="Pending")
    assert (asks, admitted, dict(resources)) == (True, False, reserved)
    assert admission()[:2] == (True, False)
    assert admission(phase="Inqueue")[:2] == (False, True)
    assert admission(phase="Running")[:2] == (False, False)


def test_limits_among_min_resources_are_kept_for_resource_quotas() -> None:
    resources = {"cpu": "1", "limits.cpu": "2", "limits.memory": "1Ki"}
    limits = group_in(snapshot(pod_group("g", minResources=resources)), "g").min_limits

    assert limits is not None
    assert dict(limits) == {"cpu": 2000, "memory": 1024}


def test_without_min_resources_or_with_pods_nothing_is_asked() -> None:
    plain = group_in(snapshot(pod_group("g", status={"phase": "Pending"})), "g")
    full = group_in(
        snapshot(
            pod_group("g", minResources={"cpu": 1}, status={"phase": "Inqueue"}),
            pod("p", annotations=in_group("g")),
        ),
        "g",
    )

    assert (plain.asks_admission, plain.admitted) == (False, False)
    assert (full.asks_admission, full.admitted) == (False, False)


def owned_by(kind: str, api: str) -> dict[str, Any]:
    reference = {"apiVersion": api, "kind": kind, "name": "w", "controller": True}
    return {"ownerReferences": [reference]}


VCJOB = "batch.volcano.sh/v1alpha1"
TRAINING = "kubeflow.org/v1"


def template(scheduler: str) -> dict[str, Any]:
    return {"template": {"spec": {"schedulerName": scheduler}}}


@pytest.mark.parametrize(
    ("workload", "meta", "names", "want"),
    [
        pytest.param(
            obj(VCJOB, "Job", "w", spec={"schedulerName": "apportion", "tasks": []}),
            owned_by("Job", VCJOB), "apportion", True, id="its job says so",
        ),
        pytest.param(
            obj(VCJOB, "Job", "w", spec={"schedulerName": "volcano"}),
            owned_by("Job", VCJOB), "apportion", False, id="its job says volcano",
        ),
        pytest.param(
            obj(TRAINING, "TFJob", "w", spec={"tfReplicaSpecs": {"PS": template("apportion")}}),
            owned_by("TFJob", TRAINING), "apportion", True, id="a template says so",
        ),
        pytest.param(
            obj("ray.io/v1", "RayCluster", "w", spec={"headGroupSpec": template("volcano")}),
            owned_by("RayCluster", "ray.io/v1"), "apportion", False, id="a template says volcano",
        ),
        pytest.param(None, {}, "apportion", False, id="nobody speaks for it"),
        pytest.param(None, {}, "volcano", True, id="nobody does, and we stand for Volcano"),
    ],
)  # fmt: skip
def test_in_a_running_cluster_a_group_without_pods_is_its_owners_schedulers(
    workload: Any, meta: dict[str, Any], names: str, want: bool
) -> None:
    group = pod_group("g", minMember=2, minResources={"cpu": 1}, meta=meta)
    objects = [group] if workload is None else [workload, group]

    world = snapshot(*objects, live=True, scheduler_names=(names,))

    assert [g.asks_admission for g in world.groups] == [True] * want
