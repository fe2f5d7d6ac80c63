"""A DaemonSet that nobody has submitted yet is planned as a pod for each node that takes one."""

from typing import Any

import pytest

from apportion.models import Config
from apportion.solver.entry import plan
from kubernetes_objects import Data, container, node, obj, pod, snapshot

GREEDY = Config(engine="greedy", deterministic=True)


def daemons(**spec: Any) -> Data:
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"schedulerName": "apportion", "containers": [container({"cpu": 1})], **spec},
    }
    return obj("apps/v1", "DaemonSet", "d", spec={"template": template})


def tainted(name: str, key: str, effect: str = "NoSchedule") -> Data:
    return node(name) | {"spec": {"taints": [{"key": key, "effect": effect}]}}


def labelled(name: str, gpu: str) -> Data:
    one = node(name)
    one["metadata"]["labels"]["gpu"] = gpu
    return one


def affinity(*terms: Data) -> Data:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


LABELLED: Data = {"key": "gpu", "operator": "Exists"}
WISH = [{"weight": 1, "preference": {"matchExpressions": [LABELLED]}}]


@pytest.mark.parametrize(
    ("of", "nodes", "want"),
    [
        pytest.param(daemons(), [node("n1"), node("n2")], {"n1", "n2"}, id="one a node"),
        pytest.param(
            daemons(nodeSelector={"gpu": "a"}),
            [labelled("n1", "a"), labelled("n2", "b"), node("n3")],
            {"n1"}, id="selected nodes",
        ),
        pytest.param(
            daemons(affinity=affinity({"matchExpressions": [LABELLED]})),
            [labelled("n1", "a"), node("n2")],
            {"n1"}, id="nodes of its affinity, which gives way to the name",
        ),
        pytest.param(daemons(), [tainted("n1", "x"), node("n2")], {"n2"}, id="no tainted ones"),
        pytest.param(
            daemons(), [tainted("n1", "x", "PreferNoSchedule")], {"n1"}, id="a soft taint"
        ),
        pytest.param(
            daemons(tolerations=[{"operator": "Exists"}]), [tainted("n1", "x")],
            {"n1"}, id="what it bears",
        ),
        pytest.param(
            daemons(),
            [
                tainted("n1", "node.kubernetes.io/unschedulable"),
                tainted("n2", "node.kubernetes.io/disk-pressure"),
                tainted("n3", "node.kubernetes.io/network-unavailable"),
            ],
            {"n1", "n2"}, id="what all DaemonSets bear",
        ),
        pytest.param(
            daemons(hostNetwork=True), [tainted("n1", "node.kubernetes.io/network-unavailable")],
            {"n1"}, id="what those on the network of the host bear",
        ),
    ],
)  # fmt: skip
def test_each_node_that_takes_one_has_a_pod_that_starts_there(
    of: Data, nodes: list[Data], want: set[str]
) -> None:
    world = snapshot(of, *nodes)

    assert {p.name for p in world.pods} == {f"d-{n}" for n in want}
    assert {(b.pod, b.node) for b in plan(world, GREEDY).binds} == {
        (f"default/d-{n}", n) for n in want
    }
    assert [g.effective_minimum for g in world.groups] == [1] * len(want)
    assert not world.warnings


def test_a_full_node_has_a_pod_that_waits_for_room_there() -> None:
    world = snapshot(daemons(), node("n1", cpu="500m", pods="110"), node("n2"))

    made = plan(world, GREEDY)

    assert [b.pod for b in made.binds] == ["default/d-n2"]
    assert [h.group for h in made.held] == ["default/d-n1"]


def test_wishes_about_nodes_stay() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": WISH}
    (one,) = snapshot(daemons(affinity={"nodeAffinity": preferred}), node("n1")).pods

    assert [weight for weight, _ in one.spec.preferred_nodes] == [1]
    assert one.owner == "DaemonSet/d"


def test_no_node_that_takes_one_is_told_of() -> None:
    world = snapshot(daemons(nodeSelector={"gpu": "a"}), node("n1"))

    assert world.pods == ()
    assert [(w.object, w.message) for w in world.warnings][:1] == [
        (
            "DaemonSet default/d",
            "makes a pod on each node that takes it; the input has none: add it",
        )
    ]


def test_one_that_has_pods_makes_its_own() -> None:
    there = pod("d-x", owner=("DaemonSet", "d"))

    assert [p.name for p in snapshot(daemons(), there, node("n1")).pods] == ["d-x"]


def test_what_is_wrong_in_its_template_is_said_of_it_once() -> None:
    bad = daemons(tolerations=[{"key": "x", "operator": "Sometimes"}])
    world = snapshot(bad, node("n1"))

    assert [(r.object, r.path) for r in world.rejected] == [
        ("DaemonSet default/d", "spec.template.spec.tolerations[0].operator")
    ]
