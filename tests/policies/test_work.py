"""The tiers of work: repair, work inside entitlements, work beyond them, level by level."""

import pytest

from apportion.models import GroupKey, Snapshot
from apportion.policies.fairness import missing_of, weights_of, work_tiers
from apportion.policies.levels import Level, Levels, Tier, Worth, scale_of, worth
from apportion.policies.testing import priced

from .builders import GPU, Members, after, goal, node, placed, queue, scene, snapshot, standing
from .conftest import Solve

FIRST, FIRST_ELASTIC = Level(1, 0), Level(1, 0, elastic=True)
SECOND = Level(1, 1)


def world_of() -> Snapshot:
    return snapshot(
        node("n1", 9),
        queue("q"),
        Members("a", "q", waiting=4, minimum=2),
        Members("b", "q", waiting=1),
    )


def levels() -> Levels:
    """Return a's minimum (worth 3) and elastic members (2 each), then b's minimum (5)."""
    a, b = GroupKey("x/a"), GroupKey("x/b")
    return Levels(
        {a: Worth(FIRST, 3), b: Worth(SECOND, 5)}, {a: Worth(FIRST_ELASTIC, 2), b: Worth(SECOND, 1)}
    )


def value(starts: str, tier: Tier = "entitled") -> int:
    outcome = after(world_of(), starts)
    outcome.levels = levels()
    return priced(goal(tier), outcome)


def test_a_level_weighs_more_than_all_that_comes_later() -> None:
    """b's level reaches 5; a's two elastic members reach 4 · 6; its minimum stands above both."""
    weights = weights_of(scene(world_of()), levels(), "entitled")

    assert weights == {SECOND: 1, FIRST_ELASTIC: 6, FIRST: 6 * (4 + 1)}


@pytest.mark.parametrize(
    ("starts", "want"),
    [
        ("", 0),
        ("b0@n1", 5),
        ("a0@n1 a1@n1", 30 * 3),
        ("a0@n1 a1@n1 a2@n1", 30 * 3 + 6 * 2),
        ("a0@n1 a1@n1 a2@n1 a3@n1 b0@n1", 30 * 3 + 6 * 4 + 5),
    ],
)
def test_work_is_what_starts_by_the_weight_of_its_level(starts: str, want: int) -> None:
    assert value(starts) == want


def test_work_of_other_tiers_does_not_count() -> None:
    assert value("a0@n1 a1@n1 b0@n1", "surplus") == 0
    assert value("a0@n1 a1@n1 b0@n1", "repair") == 0


def test_the_tiers_are_in_order_and_more_work_is_better() -> None:
    tiers = work_tiers()

    assert [t.name for t in tiers] == ["repair", "entitled", "surplus"]
    assert {t.sense for t in tiers} == {"max"}


@pytest.mark.parametrize(
    ("about", "group", "want"),
    [
        ("a new group lacks its minimum", Members("g", "q", waiting=3, minimum=2), 2),
        ("a broken one what is missing", Members("g", "q", on=["n1"], waiting=3, minimum=3), 2),
        ("a whole one nothing", Members("g", "q", on=["n1"] * 2, waiting=3, minimum=2), 0),
        ("one without a need nothing", Members("g", "q", waiting=3, minimum=0), 0),
    ],
)
def test_how_many_are_missing(about: str, group: Members, want: int) -> None:
    here = scene(snapshot(node("n1", 9), queue("q"), group))

    assert missing_of(here.roster[group.group.key]) == want, about


def test_worth_is_the_dominant_share_in_whole_steps() -> None:
    small = Members("s", "q", waiting=1)
    large = Members("l", "q", cpu=1, gpus=2, waiting=1)
    table = standing(snapshot(node("n1", 16, 4), queue("q"), small, large))
    scale = scale_of(table, [small.pods, large.pods])

    assert scale == 8 * 16 + 1
    assert worth(table, small.pods, scale) == 8
    assert worth(table, large.pods, scale) == 129 // 2
    assert worth(table, [], scale) == 1


# Plans


def test_a_broken_gang_is_completed_before_anything_new_starts(solve: Solve) -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("broken", "q", on=["n1"], waiting=1, minimum=2, broken_since_s=0),
        Members("new", "q", waiting=1, priority=9),
    )

    assert placed(solve(world)) == {"broken1": "n1"}


def test_work_inside_the_due_comes_before_work_beyond_it(solve: Solve) -> None:
    world = snapshot(
        node("n1", 3),
        queue("a", due=1),
        queue("b", due=2),
        Members("a", "a", waiting=3, minimum=0, priority=9),
        Members("b", "b", waiting=3, minimum=0),
    )

    assert sorted(placed(solve(world))) == ["a0", "b0", "b1"]


def test_priority_comes_first_inside_a_queue(solve: Solve) -> None:
    world = snapshot(
        node("n1", 2),
        queue("q"),
        Members("low", "q", cpu=2, waiting=1),
        Members("high", "q", cpu=1, waiting=1, priority=1),
    )

    assert placed(solve(world)) == {"high0": "n1"}


def test_surplus_goes_to_the_poorest_branch_by_weight(solve: Solve) -> None:
    world = snapshot(
        node("n1", 6),
        queue("a", due=0, weight=2),
        queue("b", due=0),
        Members("a", "a", waiting=9, minimum=0),
        Members("b", "b", waiting=9, minimum=0),
    )

    assert sorted(placed(solve(world))) == ["a0", "a1", "a2", "a3", "b0", "b1"]


def test_the_dominant_resource_counts(solve: Solve) -> None:
    """Each may have half: two devices of four, or four cores of eight."""
    world = snapshot(
        node("n1", 8, 4),
        queue("a"),
        queue("b"),
        Members("a", "a", cpu=0, gpus=1, waiting=9, minimum=0),
        Members("b", "b", cpu=2, gpus=1, waiting=9, minimum=0),
    )

    plan = solve(world)

    assert sorted(placed(plan)) == ["a0", "a1", "b0", "b1"]
    assert {q.name: q.dominant_share for q in plan.queues} == {"a": 0.5, "b": 0.5}
    assert {q.name: q.allocated[GPU] for q in plan.queues} == {"a": 2000, "b": 2000}
