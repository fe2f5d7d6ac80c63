"""Groups are found in every dialect, by precedence, and completed with their defaults."""

from typing import Any

import pytest

from kubernetes_objects import (
    NOON,
    NOON_S,
    group_in,
    in_group,
    obj,
    pod,
    pod_group,
    pod_in,
    priority_class,
    snapshot,
)

KAI = "scheduling.run.ai/v2alpha2"
PLUGINS = "scheduling.x-k8s.io/v1alpha1"
KOORDINATOR = "scheduling.sigs.k8s.io/v1alpha1"
UPSTREAM = "scheduling.k8s.io/v1alpha2"
LIGHT = "pod-group.scheduling.sigs.k8s.io/"
GANG = "gang.scheduling.koordinator.sh/"
KUEUE = "kueue.x-k8s.io/pod-group-"
MIN_MEMBER = "scheduling.volcano.sh/group-min-member"


def upstream(name: str, **policy: Any) -> dict[str, Any]:
    return pod_group(name, api=UPSTREAM, schedulingPolicy=policy)


@pytest.mark.parametrize(
    ("declared", "joined", "want"),
    [
        pytest.param(
            [pod_group("g", minMember=2)], {"annotations": in_group("g")}, ("g", 2), id="Volcano"
        ),
        pytest.param(
            [pod_group("g", minMember=2)],
            {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
            ("g", 2),
            id="Volcano's newer key",
        ),
        pytest.param(
            [pod_group("g", api=KAI, minMember=2)],
            {"annotations": {"pod-group-name": "g"}},
            ("g", 2),
            id="KAI",
        ),
        pytest.param(
            [pod_group("g", api=PLUGINS, minMember=2)],
            {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
            ("g", 2),
            id="scheduler-plugins",
        ),
        pytest.param(
            [pod_group("g", api=KOORDINATOR, minMember=2)],
            {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}},
            ("g", 2),
            id="Koordinator",
        ),
        pytest.param(
            [],
            {"labels": {f"{LIGHT}name": "g", f"{LIGHT}min-available": "2"}},
            ("g", 2),
            id="labels alone",
        ),
        pytest.param(
            [],
            {"annotations": {f"{GANG}name": "g", f"{GANG}min-available": "2"}},
            ("g", 2),
            id="Koordinator's annotations alone",
        ),
        pytest.param(
            [upstream("g", gang={"minCount": 2})],
            {"schedulingGroup": {"podGroupName": "g"}},
            ("g", 2),
            id="upstream",
        ),
        pytest.param(
            [upstream("g", basic={})],
            {"schedulingGroup": {"podGroupName": "g"}},
            ("g", 1),
            id="upstream without a gang",
        ),
        pytest.param(
            [
                obj(
                    "scheduling.k8s.io/v1alpha1",
                    "Workload",
                    "w",
                    spec={"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 2}}}]},
                )
            ],
            {"workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "7"}},
            ("w-g-7", 2),
            id="a Workload of 1.35",
        ),
        pytest.param(
            [],
            {"labels": {f"{KUEUE}name": "g"}, "annotations": {f"{KUEUE}total-count": "2"}},
            ("g", 2),
            id="Kueue",
        ),
        pytest.param(
            [],
            {
                "labels": {f"{KUEUE}name": "g"},
                "annotations": {
                    f"{KUEUE}total-count": "2",
                    f"{KUEUE}fast-admission": "true",
                },
            },
            ("p", 1),
            id="Kueue's pods that are made one after another",
        ),
        pytest.param(
            [pod_group("v", minMember=2)],
            {
                "labels": {f"{KUEUE}name": "g"},
                "annotations": {f"{KUEUE}total-count": "3", **in_group("v")},
            },
            ("v", 2),
            id="Volcano before Kueue",
        ),
        pytest.param(
            [pod_group("v", minMember=2), pod_group("s", api=PLUGINS, minMember=3)],
            {"labels": {"scheduling.x-k8s.io/pod-group": "s"}, "annotations": in_group("v")},
            ("v", 2),
            id="Volcano before the others",
        ),
        pytest.param(
            [pod_group("k", api=KAI, minMember=2), pod_group("s", api=PLUGINS, minMember=3)],
            {
                "labels": {"scheduling.x-k8s.io/pod-group": "s"},
                "annotations": {"pod-group-name": "k"},
            },
            ("k", 2),
            id="KAI before scheduler-plugins",
        ),
        pytest.param(
            [pod_group("g", minMember=2), pod_group("g", api=PLUGINS, minMember=3)],
            {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
            ("g", 2),
            id="of two objects of one name Volcano's counts",
        ),
        pytest.param(
            [pod_group("s", api=PLUGINS, minMember=3)],
            {"labels": {"scheduling.x-k8s.io/pod-group": "s"}, "annotations": in_group("gone")},
            ("s", 3),
            id="the first that exists",
        ),
    ],
)
def test_a_pod_joins(declared: list[Any], joined: dict[str, Any], want: tuple[str, int]) -> None:
    world = snapshot(*declared, pod("p", **joined))

    group = group_in(world, (pod_in(world, "p").group or ""))
    assert (group.name, group.minimum, group.hold) == (*want, ())


def test_a_pod_without_a_group_is_a_group_of_one() -> None:
    made = {"creationTimestamp": NOON}
    group = group_in(snapshot(pod("p", meta=made, priority=4)), "p")

    assert (group.minimum, group.queue, group.implicit) == (1, "default", True)
    assert (group.created_s, group.priority, group.source) == (NOON_S, 4, "Pod")


def test_a_plain_pod_never_takes_the_name_of_a_group() -> None:
    world = snapshot(
        pod_group("web", minMember=2), pod("web"), pod("w", annotations=in_group("web"))
    )

    assert [g.key for g in world.groups] == ["default/Pod/web", "default/web"]
    assert pod_in(world, "w").group == "default/web"


def test_a_named_group_without_an_object_is_held() -> None:
    world = snapshot(pod("p", annotations=in_group("g")))

    (reason,) = group_in(world, "g").hold
    assert (reason.rule, reason.about) == ("gang", "PodGroup default/g")
    assert "not found" in reason.message


def test_a_group_whose_object_is_bad_is_held_and_says_so() -> None:
    world = snapshot(pod_group("g", minMember=-1), pod("p", annotations=in_group("g")))

    assert [r.path for r in world.rejected] == ["spec.minMember"]
    assert "rejected" in group_in(world, "g").hold[0].message


def test_the_largest_minimum_of_labels_counts_and_a_bad_one_holds() -> None:
    def light(name: str, group: str, minimum: str) -> dict[str, Any]:
        return pod(name, labels={f"{LIGHT}name": group, f"{LIGHT}min-available": minimum})

    world = snapshot(light("a", "g", "2"), light("b", "g", "3"), light("c", "h", "many"))

    assert group_in(world, "g").minimum == 3
    assert "no whole number" in group_in(world, "h").hold[0].message


def test_a_group_of_kueue_without_its_count_is_held() -> None:
    world = snapshot(pod("p", labels={f"{KUEUE}name": "g"}))

    (reason,) = group_in(world, "g").hold
    assert reason.message == "pod-group-total-count '' is no whole number; correct it"


def test_volcano_roles_have_minima() -> None:
    world = snapshot(pod_group("g", minMember=4, minTaskMember={"ps": 1, "worker": 4, "x": 0}))

    group = group_in(world, "g")
    assert (group.minimum, group.role_minimum) == (4, {"ps": 1, "worker": 4})
    assert group.effective_minimum == 5


@pytest.mark.parametrize(
    ("annotation", "want"), [("false", False), ("true", True), ("", True), ("no", True)]
)
def test_only_an_explicit_false_shields_a_podgroup(annotation: str, want: bool) -> None:
    meta = {"annotations": {"volcano.sh/preemptable": annotation}}

    assert group_in(snapshot(pod_group("g", meta=meta)), "g").preemptable is want


@pytest.mark.parametrize(
    ("spec", "labels", "value", "want"),
    [
        pytest.param({}, {}, 50, True, id="low priority"),
        pytest.param({}, {}, 100, False, id="priority of 100"),
        pytest.param({"preemptibility": "preemptible"}, {}, 100, True, id="the object says so"),
        pytest.param({"preemptibility": "non-preemptible"}, {}, 1, False, id="or the opposite"),
        pytest.param({}, {"kai.scheduler/preemptibility": "preemptible"}, 100, True, id="the pod"),
        pytest.param({"preemptibility": "semi-preemptible"}, {}, 1, False, id="half counts as no"),
    ],
)
def test_kai_preemptibility(
    spec: dict[str, Any], labels: dict[str, str], value: int, want: bool
) -> None:
    world = snapshot(
        priority_class("class", value),
        pod_group("g", api=KAI, priorityClassName="class", **spec),
        pod("p", annotations={"pod-group-name": "g"}, labels=labels),
    )

    assert group_in(world, "g").preemptable is want


@pytest.mark.parametrize(
    ("on_pod", "on_job", "want"),
    [
        pytest.param("", "", True, id="nobody says anything"),
        pytest.param("non-preemptible", "", False, id="the pod"),
        pytest.param("semi-preemptible", "", False, id="half counts as no"),
        pytest.param("", "non-preemptible", False, id="its owner"),
        pytest.param("preemptible", "non-preemptible", True, id="the pod comes first"),
    ],
)
def test_kai_preemptibility_without_a_group(on_pod: str, on_job: str, want: bool) -> None:
    def labels(value: str) -> dict[str, str]:
        return {"kai.scheduler/preemptibility": value} if value else {}

    job = obj("batch/v1", "Job", "j", meta={"labels": labels(on_job)}, spec={})
    world = snapshot(job, pod("p", owner=("Job", "j"), labels=labels(on_pod)))

    assert group_in(world, "p").preemptable is want


def test_kai_subgroups_are_roles_their_parents_are_not() -> None:
    subs = [
        {"name": "top"},
        {"name": "a", "parent": "top", "minMember": 2},
        {"name": "b", "parent": "top"},
    ]
    world = snapshot(
        pod_group("g", api=KAI, minMember=3, subGroups=subs, queue="team"),
        pod(
            "p",
            annotations={"pod-group-name": "g"},
            labels={"kai.scheduler/subgroup-name": "a"},
        ),
    )

    group = group_in(world, "g")
    assert (group.role_minimum, group.queue) == ({"a": 2, "b": 1}, "team")
    assert pod_in(world, "p").role == "a"


def test_groups_of_others_are_left_out_and_counted() -> None:
    world = snapshot(
        pod_group("theirs"),
        pod("p", annotations=in_group("theirs"), scheduler="volcano"),
        pod_group("kai", api=KAI),
        pod_group("over", status={"phase": "Completed"}),
        pod("q"),
    )

    assert [g.key for g in world.groups] == ["default/q"]
    assert world.counted == {
        "Pod (foreign, pending)": 1,
        "PodGroup (foreign)": 1,
        "PodGroup (without pods)": 2,
    }


def workload(kind: str, name: str, api: str = "apps/v1", **annotations: str) -> dict[str, Any]:
    meta = {"annotations": annotations, "uid": f"uid-{name}"}
    scale: dict[str, Any] = {"parallelism": 2} if kind == "Job" else {"replicas": 2}
    if kind == "StatefulSet":
        scale |= {"podManagementPolicy": "Parallel"}
    return obj(api, kind, name, meta=meta, spec=scale)


def test_pods_of_a_replica_set_are_groups_of_one() -> None:
    world = snapshot(
        workload("ReplicaSet", "rs"),
        pod("rs-a", owner=("ReplicaSet", "rs")),
        pod("rs-b", owner=("ReplicaSet", "rs")),
    )

    assert [(g.name, g.minimum) for g in world.groups] == [("rs-a", 1), ("rs-b", 1)]


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "PyTorchJob"])
def test_an_annotation_on_the_owner_makes_its_pods_one_group(kind: str) -> None:
    api = {"StatefulSet": "apps/v1", "Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1"}[kind]
    notes = {MIN_MEMBER: "2", "scheduling.volcano.sh/queue-name": "team"}
    world = snapshot(
        workload(kind, "db", api, **notes),
        pod("db-0", owner=(kind, "db"), priority=3),
        pod("db-1", owner=(kind, "db")),
    )

    (group,) = world.groups
    assert (group.name, group.minimum, group.source) == ("db", 2, kind)
    assert (group.queue, group.priority, group.implicit) == ("team", 3, False)


def test_the_annotation_reaches_from_a_deployment_through_its_replica_set() -> None:
    replica_set = workload("ReplicaSet", "rs")
    replica_set["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "d", "controller": True}
    ]
    world = snapshot(
        workload("Deployment", "d", **{MIN_MEMBER: "2"}),
        replica_set,
        pod("rs-a", owner=("ReplicaSet", "rs")),
        pod("rs-b", owner=("ReplicaSet", "rs")),
    )

    assert [(g.name, g.minimum) for g in world.groups] == [("rs", 2)]


def test_the_annotation_on_the_pods_needs_no_owner_object() -> None:
    notes = {MIN_MEMBER: "2"}
    world = snapshot(
        pod("a", owner=("Job", "j"), annotations=notes),
        pod("b", owner=("Job", "j"), annotations=notes),
        pod("c", annotations={MIN_MEMBER: "few"}),
    )

    assert [(g.name, g.minimum) for g in world.groups] == [("c", 1), ("j", 2)]
    assert ["no whole number" in w.message for w in world.warnings] == [True]


def test_finished_members_count_but_finished_single_pods_do_not() -> None:
    done: Any = {"status": {"phase": "Succeeded"}, "nodeName": "n"}
    world = snapshot(
        pod_group("g", minMember=2),
        pod("a", annotations=in_group("g"), **done),
        pod("b", annotations=in_group("g")),
        pod("c", **done),
    )

    assert [p.name for p in world.pods] == ["a", "b"]
    assert world.counted == {"Pod (finished)": 1}
