"""Why a group is held: always at least one reason, with the numbers that stand against it."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from apportion.models import GroupKey, PodState, QueueState, Snapshot, Taint
from apportion.policies.outcome import Outcome
from apportion.solver.reasons import reasons_for
from oracle.build import Members, cores, node, queue, snapshot
from oracle.worlds import settings, world

from .parts import after, model_of


def why(world_: Snapshot, group: str, places: Mapping[str, str] | None = None) -> list[str]:
    found = reasons_for(after(world_, places or {}), GroupKey(f"x/{group}"))
    return [f"{r.rule}: {r.message}" for r in found]


def only_reason(world_: Snapshot, group: str, places: Mapping[str, str] | None = None) -> str:
    (one,) = why(world_, group, places)
    return one


def test_group_that_can_never_run_says_how_many_members_would_fit() -> None:
    said = only_reason(
        snapshot(node("n1", 3), queue("q"), Members("g", "q", 2, waiting=3, minimum=3)), "g"
    )

    assert said.startswith("capacity: cannot run on this cluster even when it is empty")
    assert "1 of 3 members would fit" in said
    assert "1 of 1 nodes: too little cpu" in said


def test_a_cluster_without_nodes_is_told() -> None:
    said = only_reason(snapshot(queue("q"), Members("g", "q", waiting=2, minimum=2)), "g")

    assert said.endswith("0 of 2 members would fit; there are no nodes")


def test_room_taken_by_the_plan_is_a_reason() -> None:
    said = only_reason(
        snapshot(
            node("n1", 2), queue("q"), Members("first", "q", 2, waiting=1),
            Members("g", "q", waiting=1),
        ),
        "g", {"first0": "n1"},
    )  # fmt: skip

    assert said == "capacity: 0 of 1 members would fit; 1 of 1 nodes: too little cpu"


def test_elastic_member_is_told_of_by_itself() -> None:
    said = only_reason(
        snapshot(
            node("n1", 3), queue("q"), Members("other", "q", on=["n1"]),
            Members("g", "q", on=["n1", "n1"], waiting=1),
        ),
        "g",
    )  # fmt: skip

    assert said.startswith("capacity: no node takes one more member")


def test_member_that_its_own_group_leaves_no_room_for_does_not_fit() -> None:
    said = only_reason(
        snapshot(node("n1", 2), queue("q"), Members("g", "q", on=["n1", "n1"], waiting=1)), "g"
    )

    assert "0 of 1 members would fit" in said


def test_filters_are_counted_by_node() -> None:
    kept = (Taint("kept", "NoSchedule"),)
    said = only_reason(
        snapshot(
            node("n1", 2, taints=kept), node("n2", 2, taints=kept), node("n3", 0), queue("q"),
            Members("g", "q", waiting=1),
        ),
        "g",
    )  # fmt: skip

    assert "2 of 3 nodes: taints" in said
    assert "1 of 3 nodes: too little cpu" in said


def test_limit_is_a_reason_with_its_numbers() -> None:
    said = why(
        snapshot(
            node("n1", 9), queue("q", capability=cores(2)), Members("run", "q", 2, on=["n1"]),
            Members("g", "q", waiting=1, created_s=9_999),
        ),
        "g",
    )  # fmt: skip

    assert any(s.startswith("quota: ") and "2" in s for s in said)


def test_gated_group_waits_for_its_gates() -> None:
    group = Members("g", "q", waiting=1, pod={"gates": ("b", "a")})
    group.pods = [replace(p, state=PodState.GATED) for p in group.pods]

    said = only_reason(snapshot(node("n1", 9), queue("q"), group), "g")

    assert said.endswith("wait for scheduling gates: a, b")


def test_group_that_could_start_is_told_that_others_come_first() -> None:
    said = only_reason(snapshot(node("n1", 9), queue("q"), Members("g", "q", waiting=1)), "g")

    assert said == "order: room is kept for work that comes before it"


def test_closed_queue_is_the_only_reason() -> None:
    said = why(
        snapshot(node("n1", 0), queue("q", state=QueueState.CLOSED), Members("g", "q", waiting=1)),
        "g",
    )

    assert len(said) == 1
    assert "closed" in said[0].lower()


@pytest.mark.parametrize("seed", range(0, 90, 3))
def test_whoever_is_held_has_a_reason(seed: int) -> None:
    model = model_of(world(seed, "small"), settings(seed))
    nodes = model.scene.nodes
    places = {k: nodes[i].name for k, i in model.greedy.places.items()}
    outcome = Outcome(model.scene, places, model.greedy.evicted)
    for m in model.scene.roster.values():
        if any(p.key not in places for p in m.pending):
            reasons = list(reasons_for(outcome, m.key))
            assert reasons
            assert all(r.rule and r.about and r.message for r in reasons)
