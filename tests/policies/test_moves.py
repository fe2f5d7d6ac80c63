"""Moves: what may be moved, and what the checker says of moves in the cluster as it is."""

from collections.abc import Mapping
from typing import Any

import pytest

from apportion.models import Budget, Config, GroupKey, Move, NodeName, PodKey, PodState
from apportion.policies.moves import REST_S, check_moves, why_not
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene

from .builders import NOW, Members, budget, but, node, queue, replace, snapshot

GIVEN = Move(PodKey("x/v0"), GroupKey("x/v"), NodeName("b"), GroupKey("x/g"))
STARTS = {PodKey("x/g0"): NodeName("a")}


def world(victim: Members | None = None, *more: Any, **settings: Any) -> Scene:
    """Return a cluster in which v0 runs on node a, and g0 waits for all of it."""
    parts = (
        node("a", 2), node("b", 2), queue("q"), queue("r"),
        victim if victim is not None else Members("v", "q", on=["a"]),
        Members("g", "q", cpu=2, waiting=1),
    )  # fmt: skip
    config = Config(**{"moves": 1, **settings})
    return Scene(snapshot(*parts, *more), config, rules_for(config))


def said(scene: Scene, *moves: Move, evicted: tuple[str, ...] = (),
         places: Mapping[PodKey, NodeName] = STARTS) -> list[str]:  # fmt: skip
    found = check_moves(scene, moves, [PodKey(k) for k in evicted], places)
    return [f"{v.about} {v.message}" for v in found]


@pytest.mark.parametrize(
    ("victim", "why"),
    [
        (Members("v", "q", on=["a"]), ""),
        (Members("v", "q", on=["a"], preemptable=False), "may not be evicted"),
        (Members("v", "q", on=["a"], pod={"critical": True}), "may not be evicted"),
        (Members("v", "q", on=["a"], pod={"protected_until_s": NOW + 1}), "may not be evicted"),
        (Members("v", "nowhere", on=["a"]), "may not be evicted"),
        (but(Members("v", "q", on=["a"]), 0, state=PodState.TERMINATING), "does not run"),
        (Members("v", "q", on=["a"], waiting=1, minimum=2), "runs too few members"),
        (Members("v", "q", on=["lost"]), "on a node that is not in the input"),
        (Members("v", "q", on=["a"], pod={"started_s": NOW - REST_S}), ""),
        (Members("v", "q", on=["a"], pod={"started_s": NOW - REST_S + 1}), "for less than"),
    ],
)
def test_each_thing_that_keeps_a_pod_from_being_moved(victim: Members, why: str) -> None:
    scene = world(victim)

    found = why_not(scene, scene.pods[PodKey("x/v0")])

    assert found if why else not found
    assert why in found


def test_a_right_move_is_right() -> None:
    assert said(world(), GIVEN) == []


@pytest.mark.parametrize(
    ("move", "wrong"),
    [
        (replace(GIVEN, node=NodeName("")), "is to run on node none, which is not in the input"),
        (replace(GIVEN, node=NodeName("a")), "is to run again where it runs"),
        (replace(GIVEN, node=NodeName("a"), devices=(0,)), "is to run again where it runs"),
        (replace(GIVEN, pod=PodKey("x/none")), "is moved, but is not in the input"),
        (replace(GIVEN, pod=PodKey("x/g0")), "is a member of group x/g, not of x/v"),
        (replace(GIVEN, room_for=GroupKey("x/v")), "makes room for x/v, which does not start"),
    ],
)
def test_each_way_in_which_a_move_is_wrong(move: Move, wrong: str) -> None:
    assert said(world(), move) == [f"pod {move.pod} {wrong}"]


def test_no_more_are_moved_than_the_setting_says() -> None:
    assert said(world(moves=0), GIVEN) == ["plan moves 1 pods, at most 0 may be"]
    assert "plan moves 2 pods, at most 1 may be" in said(world(), GIVEN, GIVEN)
    assert "pod x/v0 is moved 2 times" in said(world(moves=2), GIVEN, GIVEN)


def test_settings_of_evictions_hold_for_moves() -> None:
    other = Members("v", "r", on=["a"])

    assert said(world(evictions="queue"), GIVEN) == []
    assert said(world(other), GIVEN) == []
    assert said(world(other, evictions="queue"), GIVEN) == ["pod x/v0 may not be moved for x/g"]
    assert said(world(evictions="none"), GIVEN) == ["pod x/v0 may not be moved for x/g"]


@pytest.mark.parametrize(("allowed", "wrong"), [(1, 0), (0, 1)])
def test_budgets_bear_moves_like_evictions(allowed: int, wrong: int) -> None:
    protected: Budget = budget("v", allowed)

    found = said(world(None, protected), GIVEN)

    assert len(found) == wrong
    assert all("1 leave with the moves" in f for f in found)


def test_nobody_is_moved_of_a_group_that_gives_up_pods() -> None:
    scene = world(Members("v", "q", on=["a", "a"]))

    assert "pod x/v0 is moved, and others of group x/v are evicted" in said(
        scene, GIVEN, evicted=("x/v1",)
    )


def test_who_is_evicted_besides_is_so_by_right_as_the_cluster_is() -> None:
    lost = Members("w", "q", on=["b"])

    assert said(world(None, lost), GIVEN, evicted=("x/w0",)) == [
        "group x/w is evicted for nobody with a right"
    ]
