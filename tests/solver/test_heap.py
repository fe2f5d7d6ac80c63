"""What a cycle makes goes with it: a scheduler that runs for months keeps none of its scenes."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.large import Large, large

from apportion.models import Config, Snapshot
from apportion.policies.memory import Memory
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.standing import standing_of
from apportion.solver import entry
from apportion.solver.heap import let_go, one_cycle
from apportion.solver.hunt import LARGE
from oracle.build import Members, node, queue, snapshot


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def frozen() -> Iterator[None]:
    """What exists is frozen, as the mirror of a large cluster does."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Scene]]:
    """Every scene that a plan is made of from now on."""
    out: list[weakref.ref[Scene]] = []

    def noted(*args: Any) -> Scene:
        scene = Scene(*args)
        out.append(weakref.ref(scene))
        return scene

    monkeypatch.setattr(entry, "Scene", noted)
    return out


@pytest.fixture
def world() -> Snapshot:
    """Return a cluster in which somebody has to leave for others."""
    return snapshot(
        node("n1", 4), queue("due", due=2), queue("other", due=2),
        Members("runs", "other", on=["n1"] * 4), Members("waits", "due", waiting=2, minimum=2),
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "greedy"])
def test_no_scene_outlives_its_plan_and_what_is_left_to_the_next_holds_none(
    scenes: list[weakref.ref[Scene]], world: Snapshot, engine: Any
) -> None:
    memory = Memory()
    made = [
        entry.plan(world, Config(engine=engine, deterministic=True), memory=memory)
        for _ in range(2)
    ]
    gc.collect()

    assert all(plan.evictions for plan in made)
    assert len(scenes) >= 2
    assert [s() for s in scenes if s() is not None] == []


def test_the_scene_of_a_large_cluster_goes_with_its_plan_without_a_collector(
    scenes: list[weakref.ref[Scene]],
) -> None:
    many = large(Large(80, 160, queues=5))
    assert len(many.pods) > LARGE
    gc.disable()
    try:
        made = entry.plan(many, Config(engine="greedy", budget_ms=1))

        assert made.evictions
        assert [s() for s in scenes] == [None]
    finally:
        gc.enable()


def test_what_has_been_let_go_is_found_out_again(world: Snapshot) -> None:
    scene = Scene(world, Config(), rules_for(Config()))
    before = standing_of(scene)

    with let_go(scene), let_go(None):
        pass

    after = standing_of(scene)
    assert after is not before
    assert after.entitlement == before.entitlement


@pytest.mark.usefixtures("frozen")
def test_garbage_from_before_a_cycle_is_found_after_it() -> None:
    ring = Ring()
    seen = weakref.ref(ring)
    del ring

    with one_cycle():
        pass
    gc.collect()

    assert seen() is None


def test_what_there_was_before_is_left_alone_during_a_cycle_only() -> None:
    gc.unfreeze()  # another test may have a large mirror

    with one_cycle():
        assert gc.get_freeze_count() > 0

    assert gc.get_freeze_count() == 0
