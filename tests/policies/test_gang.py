"""Gang: a group runs with its minimum, in total and per role, or not at all."""

from typing import Any

import pytest

from apportion.models import Amounts, Choice, PodSpec, PodState, Reason, Snapshot
from apportion.policies.testing import accepts, held, refuses

from .builders import Members, after, but, evicted, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

GANG = rule("gang")
ROLES = {"roles": ["lead", "work", "work", "work"], "role_minimum": {"lead": 1, "work": 2}}
LONG_AGO, JUST_NOW = 0, 9_990


def world_of(group: Members, cpu: int = 9) -> Snapshot:
    return snapshot(node("n1", cpu), queue("q"), group)


def gang(**fields: Any) -> Members:
    return Members("g", "q", **fields)


def starting(n: int) -> str:
    return " ".join(f"g{i}@n1" for i in range(n))


@pytest.mark.parametrize(("n", "want"), [(0, True), (1, False), (2, True), (3, True)])
def test_gang_starts_with_its_minimum_or_not_at_all(n: int, want: bool) -> None:
    outcome = after(world_of(gang(waiting=3, minimum=2)), starting(n))

    assert bool(accepts(GANG, outcome)) is want
    assert bool(refuses(GANG, outcome, "group x/g", f"{n} of at least 2 would run")) is not want


@pytest.mark.parametrize(
    ("about", "starts", "want"),
    [
        ("a lead and two workers", "g0@n1 g1@n1 g2@n1", True),
        ("a lead and one worker", "g0@n1 g1@n1", False),
        ("three workers, no lead", "g1@n1 g2@n1 g3@n1", False),
    ],
)
def test_gang_needs_every_role(about: str, starts: str, want: bool) -> None:
    outcome = after(world_of(gang(waiting=4, minimum=1, **ROLES)), starts)

    assert bool(accepts(GANG, outcome)) is want, about
    assert bool(refuses(GANG, outcome, "group x/g", "of role")) is not want, about


PARTS = {"roles": [*"aabbcd"], "minimum": 1}
"""Six members: two of part a, two of part b, one each of parts c and d."""


@pytest.mark.parametrize(
    ("about", "starts", "want"),
    [
        ("nobody", "", True),
        ("the first two parts", "g0@n1 g1@n1 g2@n1 g3@n1", True),
        ("others", "g2@n1 g3@n1 g4@n1", True),
        ("the same, and one more", "g0@n1 g2@n1 g3@n1 g4@n1", True),
        ("one part, and one half", "g0@n1 g1@n1 g2@n1", False),
        ("two members, one of each part", "g0@n1 g2@n1", False),
        ("an inner choice, met by its other half", "g0@n1 g1@n1 g5@n1", True),
        ("an inner choice met twice is one part", "g4@n1 g5@n1", False),
    ],
)
def test_gang_needs_as_many_parts_as_are_said_whichever(
    about: str, starts: str, want: bool
) -> None:
    two = Choice(2, {"a": 2, "b": 2}, (Choice(1, {"c": 1, "d": 1}),))
    outcome = after(world_of(gang(waiting=6, choices=(two,), **PARTS)), starts)

    assert bool(accepts(GANG, outcome)) is want, about
    assert bool(refuses(GANG, outcome, "group x/g", "of which it needs 2")) is not want, about


def test_parts_leave_as_long_as_enough_of_them_stay() -> None:
    one = gang(on=["n1"] * 6, choices=(Choice(1, {"a": 2, "b": 2}),), **PARTS)

    assert accepts(GANG, after(world_of(one), gone="g0 g1 g4"))
    assert accepts(GANG, after(world_of(one), gone="g2 g3 g4 g5"))
    assert accepts(GANG, after(world_of(one), gone="g0 g1 g2 g3 g4 g5"))
    assert refuses(GANG, after(world_of(one), gone="g0 g2"), "group x/g", "would be left broken")


def test_members_of_a_part_that_have_succeeded_count_for_it() -> None:
    two = Choice(2, {"a": 2, "b": 2, "c": 1})
    done = but(gang(waiting=6, choices=(two,), **PARTS), 0, state=PodState.SUCCEEDED)

    assert accepts(GANG, after(world_of(done), "g1@n1 g4@n1"))
    assert refuses(GANG, after(world_of(done), "g2@n1 g4@n1"), "group x/g", "of which it needs 2")


def test_the_parts_that_fit_are_chosen(solve: Solve) -> None:
    one = gang(waiting=4, roles=[*"aabb"], choices=(Choice(1, {"a": 2, "b": 2}),))
    one = but(one, 0, 1, spec=PodSpec(Amounts({"cpu": 3000})))

    plan = solve(world_of(one, cpu=4))

    assert placed(plan) == {"g2": "n1", "g3": "n1"}


def test_too_few_parts_with_members_are_said(solve: Solve) -> None:
    plan = solve(world_of(gang(waiting=3, roles=[*"abb"], choices=(Choice(2, {"a": 2, "b": 2}),))))

    [reason] = reasons(plan, "g")
    assert reason.message == (
        "needs 2 of these 2: 2 of role a, 2 of role b; there are enough members for b"
    )


def test_members_that_have_succeeded_count() -> None:
    world = world_of(but(gang(waiting=3, minimum=3), 2, state=PodState.SUCCEEDED))

    assert accepts(GANG, after(world, "g0@n1 g1@n1"))
    assert refuses(GANG, after(world, "g0@n1"), "group x/g", "1 of at least 2 would run")


def test_succeeded_members_of_a_role_count_for_that_role() -> None:
    done = but(gang(waiting=4, **ROLES), 1, state=PodState.SUCCEEDED)

    assert accepts(GANG, after(world_of(done), "g0@n1 g2@n1"))
    assert refuses(GANG, after(world_of(done), "g2@n1 g3@n1"), "group x/g", "of role lead")


def test_a_gang_leaves_whole_or_gives_up_what_is_above_its_minimum() -> None:
    world = world_of(gang(on=["n1"] * 3, minimum=2))

    assert accepts(GANG, after(world, gone="g2"))
    assert accepts(GANG, after(world, gone="g0 g1 g2"))
    assert refuses(
        GANG, after(world, gone="g1 g2"), "group x/g", "would be left broken: 1 of at least 2"
    )


def test_a_group_does_not_start_and_lose_pods_at_once() -> None:
    outcome = after(world_of(gang(on=["n1"] * 2, waiting=1)), "g2@n1", "g1")

    assert refuses(GANG, outcome, "group x/g", "starts pods and loses pods at once")


def test_elastic_members_start_one_by_one_beside_a_whole_gang() -> None:
    assert accepts(GANG, after(world_of(gang(on=["n1"] * 2, waiting=2, minimum=2)), "g2@n1"))


def test_only_pending_pods_start() -> None:
    gated = but(gang(waiting=2, minimum=2), 1, state=PodState.GATED)

    assert refuses(GANG, after(world_of(gated), starting(2)), "pod x/g1", "is gated, not pending")


def test_a_group_on_hold_does_not_start() -> None:
    why = Reason("door", "group x/g", "waits for its volume")
    world = world_of(gang(waiting=1, hold=(why,)))

    assert refuses(GANG, after(world, "g0@n1"), "group x/g", "waits for its volume")
    assert held(GANG, after(world), "x/g") == [why]


def test_too_few_members_are_said_with_the_gates_that_the_others_wait_for(solve: Solve) -> None:
    group = but(gang(waiting=3, minimum=3), 1, 2, state=PodState.GATED, gates=("stock", "ok"))

    plan = solve(world_of(group))

    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("gang", "group x/g")
    assert reason.message == (
        "only 1/3 members exist that can be scheduled; 2 more wait for scheduling gates: ok, stock"
    )


def test_too_few_of_a_role_are_said_with_the_role(solve: Solve) -> None:
    plan = solve(world_of(gang(waiting=2, **ROLES)))

    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about) == ("gang", "role work of x/g")
    assert reason.message == "only 1/2 members exist that can be scheduled"


def broken(since_s: int | None, cpu: int) -> Snapshot:
    return world_of(gang(on=["n1"], waiting=1, minimum=2, broken_since_s=since_s), cpu)


@pytest.mark.parametrize(
    ("about", "since_s", "cpu", "want_placed", "want_evicted"),
    [
        ("there is room", LONG_AGO, 2, {"g1": "n1"}, set()),
        ("no room, grace over", LONG_AGO, 1, {}, {"g0"}),
        ("no room, unknown since when", None, 1, {}, {"g0"}),
        ("no room, inside its grace", JUST_NOW, 1, {}, set()),
    ],
)
def test_a_broken_gang_is_completed_or_given_up_after_its_grace(
    about: str,
    since_s: int | None,
    cpu: int,
    want_placed: dict[str, str],
    want_evicted: set[str],
    solve: Solve,
) -> None:
    plan = solve(broken(since_s, cpu))

    assert (placed(plan), evicted(plan)) == (want_placed, want_evicted), about


@pytest.mark.parametrize(("grace_s", "want"), [(10, {"g0"}), (11, set())])
def test_grace_is_over_at_its_last_second(grace_s: int, want: set[str], solve: Solve) -> None:
    plan = solve(broken(JUST_NOW, cpu=1), grace_s=grace_s)

    assert evicted(plan) == want


def test_a_plan_that_keeps_a_broken_gang_past_its_grace_is_refused() -> None:
    world = broken(LONG_AGO, cpu=1)

    assert refuses(GANG, after(world), "group x/g", "neither completed nor given up")
    assert accepts(rule("preemption"), after(world))
    assert accepts(GANG, after(world, gone="g0"))
    assert accepts(GANG, after(broken(JUST_NOW, cpu=1)))
