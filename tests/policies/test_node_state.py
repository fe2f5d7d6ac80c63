"""Node state: pods start on nodes that are ready, and on cordoned ones only if they bear that."""

from typing import Any

import pytest

from apportion.models import Snapshot, Taint, Toleration
from apportion.policies.testing import accepts, refuses

from .builders import NOW, Members, after, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

STATE = rule("node-state")
STARTS = Taint("node.kubernetes.io/not-ready", effect="NoSchedule")
LOST = Taint("node.kubernetes.io/unreachable", effect="NoSchedule")
ALL = Toleration("", "Exists")
BEARS = Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule")


def world_of(*tolerations: Toleration, **state: Any) -> Snapshot:
    spec = {"tolerations": tolerations}
    return snapshot(node("n1", 4, **state), queue("q"), Members("g", "q", waiting=1, spec=spec))


@pytest.mark.parametrize(
    ("about", "state", "tolerations", "why"),
    [
        ("ready and open", {}, (), ""),
        ("not ready", {"ready": False}, (), "is not ready"),
        (
            "not ready, whatever is borne",
            {"ready": False},
            (Toleration("", "Exists"),),
            "not ready",
        ),
        ("starting up", {"ready": False, "taints": (STARTS,)}, (), "is not ready"),
        ("starting up, borne", {"ready": False, "taints": (STARTS,)}, (ALL,), ""),
        ("lost", {"ready": False, "taints": (LOST,)}, (ALL,), "is not ready"),
        ("starting up and lost", {"ready": False, "taints": (STARTS, LOST)}, (ALL,), "not ready"),
        ("cordoned", {"unschedulable": True}, (), "is cordoned"),
        ("cordoned, borne", {"unschedulable": True}, (BEARS,), ""),
        ("cordoned, all is borne", {"unschedulable": True}, (Toleration("", "Exists"),), ""),
        (
            "cordoned, another effect is borne",
            {"unschedulable": True},
            (Toleration(BEARS.key, "Exists", effect="NoExecute"),),
            "is cordoned",
        ),
    ],
)
def test_node_state_decides_who_starts_there(
    about: str, state: dict[str, Any], tolerations: tuple[Toleration, ...], why: str
) -> None:
    outcome = after(world_of(*tolerations, **state), "g0@n1")

    assert bool(accepts(STATE, outcome)) is (not why), about
    assert bool(refuses(STATE, outcome, "node n1", why)) is bool(why), about


def test_the_reason_counts_the_nodes_and_says_why(solve: Solve) -> None:
    world = snapshot(
        node("n1", 4, ready=False),
        node("n2", 4, unschedulable=True),
        queue("q"),
        Members("g", "q", waiting=1),
    )

    [reason] = reasons(solve(world), "g")

    assert reason.about == "group x/g"
    assert "0 of 1 members would fit" in reason.message
    assert "2 of 2 nodes: node-state: is not ready and 1 other reasons" in reason.message


def test_only_open_nodes_are_used(solve: Solve) -> None:
    world = snapshot(
        node("n1", 4, ready=False),
        node("n2", 4),
        node("n3", 4, unschedulable=True),
        queue("q"),
        Members("g", "q", waiting=1),
    )

    assert placed(solve(world)) == {"g0": "n2"}


def test_a_node_of_another_shard_takes_nobody_and_counts_for_nobody(solve: Solve) -> None:
    world = snapshot(
        node("n1", 2, elsewhere=True), node("n2", 2), queue("q"),
        Members("g", "q", waiting=2, minimum=2),
        Members("late", "q", waiting=1, created_s=NOW),
    )  # fmt: skip

    made = solve(world)

    assert placed(made) == {"g0": "n2", "g1": "n2"}
    assert made.queues[0].dominant_share == 1.0
    assert any("is of another shard" in r.message for r in reasons(made, "late"))
