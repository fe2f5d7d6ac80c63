"""Where a pod stands, whose it is, and what it says about itself."""

from typing import Any

import pytest

from apportion.models import Config, PodState
from apportion.solver.entry import plan
from kubernetes_objects import (
    NOON,
    NOON_S,
    group_in,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    pod_in,
    priority_class,
    queue,
    snapshot,
)

GATE = [{"name": "kueue.x-k8s.io/admission"}]


@pytest.mark.parametrize(
    ("made", "want"),
    [
        pytest.param({}, PodState.PENDING, id="without a node"),
        pytest.param({"schedulingGates": GATE}, PodState.GATED, id="gated"),
        pytest.param({"nodeName": "n"}, PodState.RUNNING, id="on a node"),
        pytest.param(
            {"nodeName": "n", "status": {"phase": "Pending"}}, PodState.RUNNING, id="bound only"
        ),
        pytest.param(
            {"nodeName": "n", "meta": {"deletionTimestamp": NOON}},
            PodState.TERMINATING,
            id="deleted on its node",
        ),
        pytest.param(
            {"nodeName": "n", "status": {"phase": "Failed"}}, PodState.FAILED, id="failed"
        ),
        pytest.param(
            {
                "nodeName": "n",
                "status": {"phase": "Succeeded"},
                "meta": {"deletionTimestamp": NOON},
            },
            PodState.SUCCEEDED,
            id="finished before it was deleted",
        ),
    ],
)
def test_state_is(made: dict[str, Any], want: PodState) -> None:
    world = snapshot(node(), pod_group("g"), pod("p", annotations=in_group("g"), **made))

    assert pod_in(world, "p").state is want


def test_a_pod_deleted_before_it_had_a_node_is_gone() -> None:
    world = snapshot(pod("p", meta={"deletionTimestamp": NOON}))

    assert (world.pods, world.groups, world.rejected) == ((), (), ())


def test_foreign_pods_are_fixed_where_they_hold_or_were_promised_a_node() -> None:
    world = snapshot(
        node(),
        pod("runs", scheduler="other", nodeName="n"),
        pod("promised", scheduler="other", status={"nominatedNodeName": "n"}),
        pod("waits", scheduler="other"),
        pod("done", scheduler="other", nodeName="n", status={"phase": "Succeeded"}),
        pod("ours"),
    )

    assert [(p.name, p.ours) for p in world.pods] == [
        ("ours", True),
        ("promised", False),
        ("runs", False),
    ]
    assert pod_in(world, "promised").nominated == "n"
    assert world.counted == {"Pod (finished)": 1, "Pod (foreign, pending)": 1}


def test_places_that_our_pods_were_promised_are_nominations() -> None:
    world = snapshot(
        node(),
        pod("waits", status={"nominatedNodeName": "n"}),
        pod("gated", schedulingGates=GATE, status={"nominatedNodeName": "n"}),
        pod("runs", nodeName="n", status={"nominatedNodeName": "n"}),
        pod("late", status={"nominatedNodeName": "gone"}),
        pod("foreign", scheduler="other", status={"nominatedNodeName": "n"}),
        pod("new"),
    )

    assert world.nominations == (("default/waits", "n"),)


def test_a_promised_pod_comes_before_its_elder_and_where_it_was_promised() -> None:
    old, new = ({"creationTimestamp": f"2026-01-05T1{h}:00:00Z"} for h in (0, 1))
    world = snapshot(
        node("a", cpu="1", pods="9"),
        node("b", cpu="1", pods="9"),
        pod("other", nodeName="a"),
        pod("old", meta=old),
        pod("promised", meta=new, status={"nominatedNodeName": "b"}),
    )

    made = plan(world, Config(deterministic=True))

    assert made.places == {"default/promised": "b"}


def test_where_no_pod_is_ours_the_warning_names_the_flag() -> None:
    world = snapshot(
        pod("a", scheduler="volcano"), pod("b", scheduler="volcano"), pod("c", schedulerName=None)
    )

    (warning,) = world.warnings
    assert "2 for volcano, 1 for default-scheduler" in warning.message
    assert "--scheduler-name volcano" in warning.message


def test_several_scheduler_names_are_ours() -> None:
    objects = (pod("a", scheduler="x"), pod("b", scheduler="y"))

    assert len(snapshot(*objects, scheduler_names=("x", "y")).groups) == 2


@pytest.mark.parametrize(
    ("annotations", "labels", "want"),
    [
        pytest.param({}, {}, True, id="nothing said"),
        pytest.param({"volcano.sh/preemptable": "false"}, {}, False, id="annotation"),
        pytest.param({}, {"volcano.sh/preemptable": "false"}, False, id="label"),
        pytest.param(
            {"volcano.sh/preemptable": "true"},
            {"volcano.sh/preemptable": "false"},
            True,
            id="the annotation counts first",
        ),
        pytest.param({"volcano.sh/preemptable": "maybe"}, {}, False, id="not readable: no"),
        pytest.param({"volcano.sh/preemptable": "T"}, {}, True, id="as Go reads it"),
        pytest.param(
            {}, {"quota.scheduling.koordinator.sh/preemptible": "false"}, False, id="Koordinator"
        ),
    ],
)
def test_preemptable(annotations: dict[str, str], labels: dict[str, str], want: bool) -> None:
    world = snapshot(pod("p", annotations=annotations, labels=labels))

    assert pod_in(world, "p").preemptable is want
    assert group_in(world, "p").preemptable is want


def test_priorities_come_from_the_pod_its_class_or_the_global_default() -> None:
    world = snapshot(
        priority_class("high", 100, preemptionPolicy="Never"),
        priority_class("usual", 7, globalDefault=True),
        pod("own", priority=5),
        pod("class", priorityClassName="high"),
        pod("both", priority=3, priorityClassName="high"),
        pod("none"),
        pod("never", preemptionPolicy="Never"),
        pod("system", priorityClassName="system-node-critical"),
        pod("unknown", priorityClassName="nope"),
        pod("kube", namespace="kube-system"),
    )

    want = {
        "own": (5, True, False),
        "class": (100, False, False),
        "both": (3, False, False),
        "none": (7, True, False),
        "never": (7, False, False),
        "system": (2_000_001_000, True, True),
        "unknown": (7, True, False),
        "kube": (7, True, True),
    }
    assert {p.name: (p.priority, p.may_preempt, p.critical) for p in world.pods} == want
    assert {g.name: g.priority for g in world.groups} == {k: v[0] for k, v in want.items()}
    assert ["PriorityClass nope" in w.message for w in world.warnings] == [True]


def test_group_priority_is_its_class_else_the_highest_pod_else_the_default() -> None:
    world = snapshot(
        priority_class("high", 100),
        priority_class("usual", 7, globalDefault=True),
        pod_group("a", priorityClassName="high"),
        pod_group("b"),
        pod_group("c", minMember=2),
        pod("a-0", priority=200, annotations=in_group("a")),
        pod("b-0", priority=3, annotations=in_group("b")),
        pod("b-1", priority=9, annotations=in_group("b")),
    )

    assert {g.name: g.priority for g in world.groups} == {"a": 100, "b": 9, "c": 7}


def test_a_cooling_pod_is_protected_from_when_it_was_scheduled() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOON}
    cooling = {"volcano.sh/cooldown-time": "1h30m"}
    world = snapshot(
        node(),
        pod("a", nodeName="n", annotations=cooling, status={"conditions": [scheduled]}),
        pod("b", nodeName="n", annotations=cooling, status={"startTime": NOON}),
        pod("c", nodeName="n", annotations={"volcano.sh/cooldown-time": "soon"}),
        pod("d", annotations=cooling),
    )

    until = {p.name: p.protected_until_s for p in world.pods}
    assert until == {"a": NOON_S + 5400, "b": NOON_S + 5400, "c": None, "d": None}
    assert [w.object for w in world.warnings] == ["Pod default/c"]


@pytest.mark.parametrize(
    ("annotations", "labels", "want"),
    [
        ({"volcano.sh/task-spec": "ps"}, {"volcano.sh/task-spec": "worker"}, "ps"),
        ({}, {"volcano.sh/task-spec": "worker"}, "worker"),
        ({}, {"kai.scheduler/subgroup-name": "decode"}, "decode"),
        ({}, {"jobset.sigs.k8s.io/replicatedjob-name": "driver"}, "driver"),
        ({}, {"training.kubeflow.org/replica-type": "master"}, "master"),
        ({}, {}, ""),
    ],
)
def test_role_is(annotations: dict[str, str], labels: dict[str, str], want: str) -> None:
    world = snapshot(pod("p", annotations=annotations, labels=labels))

    assert pod_in(world, "p").role == want


def test_task_priority_orders_inside_the_group() -> None:
    world = snapshot(
        pod("a", priority=4, annotations={"volcano.sh/task-priority": "-2"}),
        pod("b", priority=4, labels={"kai.scheduler/task-priority": "8"}),
        pod("c", priority=4),
        pod("d", priority=4, annotations={"volcano.sh/task-priority": "first"}),
    )

    assert {p.name: p.task_priority for p in world.pods} == {"a": -2, "b": 8, "c": 4, "d": 4}


def test_the_moment_is_given_or_the_newest_timestamp_or_zero() -> None:
    old, later = {"creationTimestamp": "2026-01-01T00:00:00Z"}, {"deletionTimestamp": NOON}
    objects = (pod("a", meta=old), pod("b", nodeName="n", meta=later))

    assert snapshot(*objects).taken_at_s == NOON_S
    assert snapshot(*objects, now_s=5).taken_at_s == 5
    assert snapshot(pod("a")).taken_at_s == 0


def test_what_has_no_age_is_new() -> None:
    world = snapshot(pod("a", meta={"creationTimestamp": NOON}), pod("b"))

    assert pod_in(world, "b").created_s == group_in(world, "b").created_s == NOON_S


@pytest.mark.parametrize(
    ("conditions", "want"),
    [
        ([], True),
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "Ready", "status": "False"}], False),
    ],
)
def test_a_node_is_ready_unless_it_says_otherwise(
    conditions: list[dict[str, str]], want: bool
) -> None:
    world = snapshot(obj("v1", "Node", "n", None, status={"conditions": conditions}))

    assert world.nodes[0].ready is want


def test_a_node_offers_its_allocatable_else_its_capacity() -> None:
    world = snapshot(
        obj("v1", "Node", "a", None, status={"allocatable": {"cpu": 1}, "capacity": {"cpu": 2}}),
        obj("v1", "Node", "b", None, status={"capacity": {"cpu": 2, "pods": 5}}),
        obj("v1", "Node", "c", None, spec={"unschedulable": True}),
    )

    a, b, c = world.nodes
    assert dict(a.allocatable) == {"cpu": 1000, "pods": 110}
    assert dict(b.allocatable) == {"cpu": 2000, "pods": 5}
    assert (a.takes_pods, c.takes_pods, c.unschedulable) == (True, False, True)
    assert [w.object for w in world.warnings] == ["Node c"]


def test_pods_on_a_node_that_is_not_there_are_warned_of() -> None:
    world = snapshot(pod("a", nodeName="gone"), pod("b", nodeName="gone"))

    assert [(w.object, "2 of the pods" in w.message) for w in world.warnings] == [
        ("Node gone", True)
    ]


def test_a_whole_gpu_with_a_share_annotation_is_a_whole_gpu() -> None:
    world = snapshot(pod("p", {"nvidia.com/gpu": 1}, annotations={"gpu-memory": "2000"}))

    assert group_in(world, "p").hold == ()


def test_later_and_unknown_kinds_are_counted_and_named() -> None:
    world = snapshot(
        obj("flow.volcano.sh/v1alpha1", "JobFlow", "h"),
        obj("flow.volcano.sh/v1alpha1", "JobFlow", "i"),
        obj("example.com/v1", "Queue", "q", None),
        obj("kueue.x-k8s.io/v1beta1", "ClusterQueue", "cq", None),
        {"kind": "Riddle"},
        queue("q"),
    )

    assert world.counted == {
        "ClusterQueue": 1,
        "JobFlow": 2,
        "Queue.example.com": 1,
        "Riddle": 1,
    }
    assert world.rejected == ()


def test_documents_of_apportion_are_passed_over() -> None:
    world = snapshot({"apiVersion": "apportion.dev/v1alpha1", "kind": "Scenario"})

    assert (world.counted, world.rejected) == ({}, ())
