"""Moves: found wherever the brute force finds them, as few as it needs, and none without need."""

import time
from random import Random

import pytest

from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import Config, PodKey, Snapshot
from apportion.solver.again import drafted
from apportion.solver.entry import plan
from apportion.solver.moves import make_room
from apportion.solver.search import Clock
from oracle.build import Members, node, queue, snapshot
from oracle.moving import fewest_moves

MOVING = Config(moves=2, engine="greedy", deterministic=True)


def tiny(seed: int) -> tuple[Snapshot, int | None]:
    """Return a cluster in which one group waits, and how few moves start it (at most two)."""
    rng = Random(f"moves {seed}")
    room = [rng.randint(2, 5) for _ in range(rng.randint(2, 4))]
    free, running = list(room), []
    for _ in range(rng.randint(1, 6)):
        at, size = rng.randrange(len(room)), rng.randint(1, 3)
        if size <= free[at]:
            free[at] -= size
            running.append((size, at))
    waiting = [rng.randint(1, 4)] * rng.randint(1, 2)
    parts = [node(f"n{i}", cpu) for i, cpu in enumerate(room)]
    groups = [
        Members(f"r{k}-", "q", cpu=size, on=[f"n{at}"]) for k, (size, at) in enumerate(running)
    ]
    new = Members("new", "q", cpu=waiting[0], waiting=len(waiting), minimum=len(waiting))
    return snapshot(*parts, queue("q"), *groups, new), fewest_moves(room, running, waiting, 2)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_moves_are_found_where_there_are_some_and_no_more_than_it_takes(first: int) -> None:
    found: dict[int | None, int] = {}
    for seed in range(first, first + 20):
        world, want = tiny(seed)
        made = plan(world, MOVING)
        starts = PodKey("x/new0") in made.places

        assert violations_of(made, scene_of(world, MOVING)) == [], seed
        assert (len(made.moves) if starts else None) == want, seed
        assert starts or not made.moves, seed
        found[want] = found.get(want, 0) + 1

    assert {None, 0, 1} <= found.keys()


def test_moves_have_time_after_a_search_that_took_all_of_its_own() -> None:
    world = snapshot(
        node("a", 2), node("b", 2), queue("q"), *(Members(f"r{n}", "q", on=[n]) for n in "ab"),
        Members("new", "q", cpu=2, waiting=1),
    )  # fmt: skip
    scene = scene_of(world, MOVING)
    before = drafted(scene)

    late = make_room(before, Clock(100.0, time.monotonic() - 80.0))
    over = make_room(before, Clock(100.0, time.monotonic() - 100.0))

    assert late is not None
    assert list(late.for_whom.values()) == ["x/new"]
    assert over is None


def test_two_pods_change_places_on_the_way_to_room_for_a_third() -> None:
    world = snapshot(
        node("a", 4), node("b", 3), node("c", 2), queue("q"),
        Members("large", "q", cpu=3, on=["a"]), Members("small", "q", cpu=2, on=["b"]),
        Members("new", "q", cpu=4, waiting=1),
    )  # fmt: skip

    made = plan(world, MOVING)

    assert made.moved == {"x/large0": "b", "x/small0": "c"}
    assert [n.pod for n in made.nominations] == ["x/new0"]
    assert {e.pod for e in made.evictions} == made.moved.keys()


@pytest.mark.parametrize("changes", [{"moves": 0}, {"evictions": "none"}, {"moves": 1}])
def test_what_the_settings_do_not_allow_is_not_moved(changes: dict[str, object]) -> None:
    world = snapshot(
        node("a", 2), node("b", 2), node("c", 2), node("d", 2), queue("q"),
        *(Members(f"r{n}", "q", on=[n]) for n in "abcd"),
        Members("new", "q", cpu=2, waiting=2, minimum=2),
    )  # fmt: skip
    settings = Config(engine="greedy", deterministic=True, **changes)  # type: ignore[arg-type]

    made = plan(world, settings)

    assert not made.moves
    assert not made.evictions
    assert [h.group for h in made.held] == ["x/new"]


def test_many_equal_nodes_are_not_all_tried_in_pairs() -> None:
    world = snapshot(
        *(node(f"n{i}", 4) for i in range(60)), queue("q"),
        *(Members(f"r{i}-", "q", cpu=2, on=[f"n{i}"]) for i in range(60)),
        Members("new", "q", cpu=4, waiting=3, minimum=3),
    )  # fmt: skip

    settings = Config(moves=5, engine="greedy", deterministic=True)

    made = plan(world, settings)

    assert len(made.moves) == 3
    assert violations_of(made, scene_of(world, settings)) == []
