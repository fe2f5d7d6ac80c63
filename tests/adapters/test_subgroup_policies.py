"""Subgroups at the door: how many of which are needed."""

from apportion.models import Choice
from kubernetes_objects import Data, group_in, in_group, pod, pod_group, pod_in, snapshot


def members(*labels: dict[str, str]) -> list[Data]:
    return [pod(f"p-{i}", annotations=in_group("g"), labels=x) for i, x in enumerate(labels)]


def policy(least: int, size: int = 2) -> Data:
    return {
        "name": "s", "labelSelector": {}, "matchLabelKeys": ["part"],
        "subGroupSize": size, "minSubGroups": least,
    }  # fmt: skip


PARTS = [{"part": x} for x in "aabb"]


def test_subgroups_that_are_all_needed_are_roles() -> None:
    world = snapshot(pod_group("g", minMember=2, subGroupPolicy=[policy(2, 1)]), *members(*PARTS))

    assert group_in(world, "g").role_minimum == {"s/a": 1, "s/b": 1}
    assert [pod_in(world, f"p-{i}").role for i in range(4)] == ["s/a", "s/a", "s/b", "s/b"]
    assert world.warnings == ()


def test_a_subgroup_that_is_missing_is_missed() -> None:
    world = snapshot(pod_group("g", minMember=2, subGroupPolicy=[policy(3)]), *members(*PARTS))

    assert group_in(world, "g").role_minimum == {"s/a": 2, "s/b": 2, "s 2": 2}


def test_where_all_pods_are_needed_subgroups_say_nothing_more() -> None:
    world = snapshot(pod_group("g", minMember=4, subGroupPolicy=[policy(1)]), *members(*PARTS))

    assert group_in(world, "g").role_minimum == {}
    assert world.warnings == ()


def test_of_many_subgroups_so_many_are_needed_whichever_they_are() -> None:
    parts = [{"part": x} for x in "abbcc"]
    world = snapshot(pod_group("g", minMember=1, subGroupPolicy=[policy(2)]), *members(*parts))

    group = group_in(world, "g")
    assert group.role_minimum == {}
    assert group.choices == (Choice(2, {"s/a": 2, "s/b": 2, "s/c": 2}),)
    assert group.effective_minimum == 4
    assert [pod_in(world, f"p-{i}").role for i in (0, 4)] == ["s/a", "s/c"]
    assert world.warnings == ()


def test_of_subgroups_that_are_tasks_some_are_needed() -> None:
    spec = {"minMember": 2, "minTaskMember": {"x": 1}, "subGroupPolicy": [policy(1)]}
    pods = members(*PARTS)
    for one, task in zip(pods, "xxyy", strict=True):
        one["metadata"]["annotations"]["volcano.sh/task-spec"] = task

    group = group_in(snapshot(pod_group("g", **spec), *pods), "g")

    assert group.role_minimum == {"x": 1}
    assert group.choices == (Choice(1, {"x": 2, "y": 2}),)
    assert group.effective_minimum == 2


def test_subgroups_that_are_tasks_raise_their_minima() -> None:
    spec = {
        "minMember": 3,
        "minTaskMember": {"x": 1, "y": 2},
        "subGroupPolicy": [policy(2)],
    }
    pods = members(*PARTS)
    for one, task in zip(pods, "xxyy", strict=True):
        one["metadata"]["annotations"]["volcano.sh/task-spec"] = task
    world = snapshot(pod_group("g", **spec), *pods)

    assert group_in(world, "g").role_minimum == {"x": 2, "y": 2}
    assert pod_in(world, "p-0").role == "x"
