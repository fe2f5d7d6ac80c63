"""Taints: every NoSchedule and NoExecute taint is tolerated, as kube-scheduler decides it."""

from typing import Any

import pytest

from apportion.models import Snapshot, Taint, Toleration
from apportion.policies.testing import accepts, refuses

from .builders import Members, after, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

TAINTS = rule("taints")
GPU_ONLY = Taint("gpu", "NoSchedule", "only")
EVERYTHING = Toleration("", "Exists")


def world_of(taints: tuple[Taint, ...], *tolerations: Toleration) -> Snapshot:
    group = Members("g", "q", waiting=1, spec={"tolerations": tolerations})
    return snapshot(node("n1", 4, taints=taints), queue("q"), group)


@pytest.mark.parametrize(
    ("effect", "want"), [("NoSchedule", False), ("NoExecute", False), ("PreferNoSchedule", True)]
)
def test_hard_effects_keep_pods_away_and_the_soft_one_does_not(effect: str, want: bool) -> None:
    outcome = after(world_of((Taint("k", effect),)), "g0@n1")

    assert bool(accepts(TAINTS, outcome)) is want
    assert bool(refuses(TAINTS, outcome, "node n1", f"has the taint k:{effect}")) is not want


@pytest.mark.parametrize(
    ("about", "toleration", "want"),
    [
        ("key, value and effect", Toleration("gpu", "Equal", "only", "NoSchedule"), True),
        ("any effect", Toleration("gpu", "Equal", "only"), True),
        ("another value", Toleration("gpu", "Equal", "other"), False),
        ("no value", Toleration("gpu"), False),
        ("another effect", Toleration("gpu", "Equal", "only", "NoExecute"), False),
        ("another key", Toleration("cpu", "Equal", "only"), False),
        ("the key exists", Toleration("gpu", "Exists"), True),
        ("the key exists, another effect", Toleration("gpu", "Exists", "", "NoExecute"), False),
        ("another key exists", Toleration("cpu", "Exists"), False),
        ("anything exists", EVERYTHING, True),
        ("anything of that effect", Toleration("", "Exists", "", "NoSchedule"), True),
        ("anything of another effect", Toleration("", "Exists", "", "NoExecute"), False),
    ],
)
def test_a_toleration_bears_a_taint(about: str, toleration: Toleration, want: bool) -> None:
    outcome = after(world_of((GPU_ONLY,), toleration), "g0@n1")

    assert bool(accepts(TAINTS, outcome)) is want, about
    assert bool(refuses(TAINTS, outcome, "node n1", "gpu=only:NoSchedule")) is not want, about


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_equal_numbers_are_neither_greater_nor_less(operator: str) -> None:
    world = world_of((Taint("level", "NoSchedule", "5"),), Toleration("level", operator, "5"))

    assert refuses(TAINTS, after(world, "g0@n1"), "node n1")


def test_every_taint_is_to_be_borne() -> None:
    two = (GPU_ONLY, Taint("lab", "NoExecute"))
    one, other = Toleration("gpu", "Exists"), Toleration("lab", "Exists")

    assert refuses(TAINTS, after(world_of(two, one), "g0@n1"), "node n1", "lab:NoExecute")
    assert refuses(TAINTS, after(world_of(two, other), "g0@n1"), "node n1", "gpu=only:NoSchedule")
    assert accepts(TAINTS, after(world_of(two, one, other), "g0@n1"))


def test_running_pods_stay_whatever_the_taint_is() -> None:
    world = snapshot(node("n1", 4, taints=(GPU_ONLY,)), queue("q"), Members("old", "q", on=["n1"]))

    assert accepts(TAINTS, after(world))


def test_the_reason_names_the_taint_and_counts_the_nodes(solve: Solve) -> None:
    plan = solve(world_of((GPU_ONLY,)))

    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("capacity", "group x/g")
    assert "1 of 1 nodes: taints: has the taint gpu=only:NoSchedule" in reason.message


@pytest.mark.parametrize(
    ("about", "tolerations", "want"),
    [("free nodes only", (), {"g0": "n2"}), ("both", (EVERYTHING,), {"g0": "n1", "g1": "n2"})],
)
def test_pods_go_where_they_bear_the_taints(
    about: str, tolerations: tuple[Toleration, ...], want: dict[str, Any], solve: Solve
) -> None:
    world = snapshot(
        node("n1", 1, taints=(GPU_ONLY,)),
        node("n2", 1),
        queue("q"),
        Members("g", "q", waiting=2, minimum=0, spec={"tolerations": tolerations}),
    )

    assert placed(solve(world)) == want, about
