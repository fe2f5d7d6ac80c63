"""What a cycle makes goes with it: a scheduler that runs for months keeps none of its scenes."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from apportion.models import Config
from apportion.policies.memory import Memory
from apportion.policies.scene import Scene
from apportion.solver import entry
from apportion.solver.heap import one_cycle
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


@pytest.mark.parametrize("engine", ["auto", "greedy"])
def test_no_scene_outlives_its_plan_and_what_is_left_to_the_next_holds_none(
    monkeypatch: pytest.MonkeyPatch, engine: Any
) -> None:
    scenes: list[weakref.ref[Scene]] = []

    def noted(*args: Any) -> Scene:
        scene = Scene(*args)
        scenes.append(weakref.ref(scene))
        return scene

    monkeypatch.setattr(entry, "Scene", noted)
    due = queue("due", due=2)
    world = snapshot(
        node("n1", 4), due, queue("other", due=2),
        Members("runs", "other", on=["n1"] * 4), Members("waits", "due", waiting=2, minimum=2),
    )  # fmt: skip

    memory = Memory()
    made = [
        entry.plan(world, Config(engine=engine, deterministic=True), memory=memory)
        for _ in range(2)
    ]
    gc.collect()

    assert all(plan.evictions for plan in made)
    assert len(scenes) >= 2
    assert [s() for s in scenes if s() is not None] == []


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
