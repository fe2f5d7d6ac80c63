"""In brief: one change that starts a held group, tried on a copy, in words for a condition."""

from collections.abc import Iterator
from typing import Any

import pytest

from apportion.adapters.ask.brief import Brief, briefs
from apportion.models import Config, GroupKey, Snapshot
from apportion.models.edit import edited
from apportion.models.edits import AddNodes
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from kubernetes_objects import Data, in_group, node, pod, pod_group, queue, snapshot

GREEDY = Config(engine="greedy", deterministic=True)
GPU = "nvidia.com/gpu"
G = GroupKey("default/g")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    """Give a process that nobody starts: the greedy engine needs none."""
    process = SolverProcess()
    yield process
    process.kill()


def brief(solver: SolverProcess, *objects: Data, **options: Any) -> Brief:
    world = snapshot(*objects, **options)
    (found,) = briefs(world, GREEDY, [G], solver)
    return found


def gang(n: int, requests: Data, group: Data | None = None, **spec: Any) -> list[Data]:
    pods = [pod(f"m{i}", requests, annotations=in_group("g"), **spec) for i in range(n)]
    return [pod_group("g", minMember=n, **(group or {})), *pods]


def gpus(name: str, rack: str, n: int = 1) -> Data:
    made = node(name, cpu="8", pods="9", **{GPU: str(n)})
    made["metadata"]["labels"] = {"rack": rack}
    return made


def tainted(made: Data) -> Data:
    made["spec"] = {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}
    return made


def runs(name: str, requests: Data, priority: int = 0) -> list[Data]:
    held = pod(name, requests, annotations=in_group(name), nodeName="n", priority=priority)
    return [pod_group(name, minMember=1), held]


IN_ONE_RACK = {"networkTopology": {"mode": "hard", "highestTierName": "rack"}}
LIMITED = queue("research", capability={"cpu": 4})
WANT: list[tuple[str, list[Data], str]] = [
    ("a limit", [node("n"), LIMITED, *gang(2, {"cpu": "3"}, {"queue": "research"})],
     "with a limit of 6 cpu for queue research, 2 more"),
    ("nodes", [node("n"), *gang(10, {"cpu": "1"})], "with 1 more node like n"),
    ("devices", [gpus("n", "r", 2), *gang(5, {GPU: "1"})],
     "with 2 more nodes like n (2 nvidia.com/gpu each)"),
    ("a cordon", [node("n"), {**node("m"), "spec": {"unschedulable": True}},
                  *gang(2, {"cpu": "5"})],
     "if node m took pods again"),
    ("a taint", [tainted(node("n")), *gang(1, {"cpu": "1"})],
     "if it tolerated team=a:NoSchedule"),
    ("a selector", [node("n"), *gang(1, {"cpu": "1"}, nodeSelector={"gone": "yes"})],
     "without its node selector gone"),
    ("a minimum", [node("n"), *gang(2, {"cpu": "8"}, nodeSelector={"kubernetes.io/hostname": "n"})],
     "with a minimum of 1"),
    ("nothing that helps", [node("n"), *gang(1, {"cpu": "9"})], ""),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "want"), [pytest.param(o, w, id=i) for i, o, w in WANT])
def test_the_first_change_that_does_is_told(
    objects: list[Data], want: str, solver: SolverProcess
) -> None:
    assert brief(solver, *objects).says == want


def test_nodes_of_the_domain_that_a_gang_asks_for(solver: SolverProcess) -> None:
    racks = [gpus(f"n{i}", "r1" if i < 2 else "r2") for i in range(5)]

    found = brief(
        solver, *racks, *gang(4, {GPU: "1"}, IN_ONE_RACK), topology_labels=("rack",)
    )  # fmt: skip

    assert found.says == "with 1 more node like n2 (1 nvidia.com/gpu, rack r2)"


def test_what_is_told_starts_the_group_and_less_does_not(solver: SolverProcess) -> None:
    world = snapshot(gpus("n", "r", 2), *gang(5, {GPU: "1"}))
    (found,) = briefs(world, GREEDY, [G], solver)

    starts = [len(plan(edited(world, [AddNodes("n", k)]), GREEDY).binds) for k in (1, 2)]

    assert "with 2 more nodes" in found.says
    assert starts == [0, 5]


def test_more_evictions_than_without_the_change_are_told(solver: SolverProcess) -> None:
    found = brief(
        solver, node("n"), *runs("other", {"cpu": "8"}, priority=3),
        *gang(1, {"cpu": "8"}, nodeSelector={"kubernetes.io/hostname": "n"}),
    )  # fmt: skip

    assert found.says == "with priority 4, once others have left, evicting 1 more pod"


def test_of_a_group_that_starts_or_lacks_pods_nothing_is_told(solver: SolverProcess) -> None:
    starts = brief(solver, node("n"), *gang(1, {"cpu": "1"}))
    lacks = brief(solver, node("n"), pod_group("g", minMember=1))

    assert (starts, lacks) == (Brief(G), Brief(G))


def world_of_two() -> Snapshot:
    return snapshot(
        node("n"), *gang(9, {"cpu": "1"}), pod_group("h", minMember=1),
        pod("h0", {"cpu": "9"}, annotations=in_group("h")),
    )  # fmt: skip


def test_several_are_answered_in_order_and_those_that_are_gone_left_out(
    solver: SolverProcess,
) -> None:
    gone, other = GroupKey("default/gone"), GroupKey("default/h")

    found = list(briefs(world_of_two(), GREEDY, [other, gone, G], solver))

    assert [(b.group, b.says) for b in found] == [(other, ""), (G, "with 1 more node like n")]


def test_when_time_is_over_nothing_more_is_told(solver: SolverProcess) -> None:
    left = [False, False]  # before the group, and before its first plan

    found = list(briefs(world_of_two(), GREEDY, [G], solver, lambda: left.pop(0) if left else True))

    assert found == []
