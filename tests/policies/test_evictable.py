"""Which running work may be evicted at all, which groups are given up, and at what priority."""

from typing import Any

import pytest

from apportion.models import Budget, Config, LabelSelector, PodState
from apportion.policies.evictable import evictable, given_up, grace_is_over, victim_priority
from apportion.policies.testing import accepts, refuses

from .builders import (
    NOW,
    Members,
    after,
    budget,
    but,
    foreign,
    node,
    queue,
    rule,
    scene,
    snapshot,
)

PREEMPTION = rule("preemption")


def victims(**fields: Any) -> Members:
    return Members("v", "q", on=["n1"], **fields)


def world_of(*parts: Any) -> Any:
    return snapshot(node("n1", 9), queue("q"), Members("g", "q", waiting=1, priority=9), *parts)


@pytest.mark.parametrize(
    ("about", "group", "want"),
    [
        ("running and preemptable", {}, True),
        ("the group is not preemptable", {"preemptable": False}, False),
        ("the pod is not preemptable", {"pod": {"preemptable": False}}, False),
        ("critical for the system", {"pod": {"critical": True}}, False),
        ("cooling down", {"pod": {"protected_until_s": NOW + 1}}, False),
        ("cooled down this very second", {"pod": {"protected_until_s": NOW}}, True),
    ],
)
def test_each_thing_that_keeps_a_pod(about: str, group: dict[str, Any], want: bool) -> None:
    world = world_of(victims(**group))
    pod = next(p for p in world.pods if p.name == "v0")

    outcome = after(world, "g0@n1", "v0")

    assert evictable(scene(world), pod) is want, about
    assert bool(accepts(PREEMPTION, outcome)) is want, about
    assert bool(refuses(PREEMPTION, outcome, "pod x/v0", "may not be evicted")) is not want, about


@pytest.mark.parametrize(
    "state", [PodState.PENDING, PodState.GATED, PodState.TERMINATING, PodState.SUCCEEDED]
)
def test_only_what_runs_is_evicted(state: PodState) -> None:
    world = world_of(but(victims(), 0, state=state))

    outcome = after(world, "g0@n1", "v0")

    assert refuses(PREEMPTION, outcome, "pod x/v0", "does not run, or is not ours")


def test_foreign_pods_stay() -> None:
    there = foreign("f", 1, "n1")
    world = world_of(type(there)("x", "f0", there.spec, there.state, node=there.node))

    assert refuses(PREEMPTION, after(world, "g0@n1", "f0"), "pod x/f0", "is not ours")


def test_one_critical_pod_keeps_the_whole_gang_but_not_its_other_elastic_members() -> None:
    world = world_of(but(Members("v", "q", on=["n1"] * 3, minimum=1), 0, critical=True))

    assert refuses(PREEMPTION, after(world, "g0@n1", "v0 v1 v2"), "pod x/v0", "may not be evicted")
    assert accepts(PREEMPTION, after(world, "g0@n1", "v1 v2"))


@pytest.mark.parametrize(
    ("about", "second", "may"),
    [
        ("one budget", None, True),
        ("two that allow it", Budget("x", "second", LabelSelector(), 9), False),
        ("the second of another namespace", Budget("y", "second", LabelSelector(), 9), True),
        ("the second selects nothing", Budget("x", "second", None, 9), True),
    ],
)
def test_a_pod_under_two_budgets_is_no_victim_as_the_api_server_refuses(
    about: str, second: Budget | None, may: bool
) -> None:
    first = Budget("x", "first", LabelSelector(), 9)
    world = world_of(victims(), first, *([] if second is None else [second]))

    outcome = after(world, "g0@n1", "v0")

    assert bool(accepts(PREEMPTION, outcome)) is may, about
    assert bool(refuses(PREEMPTION, outcome, "pod x/v0", "may not be evicted")) is not may, about


def test_a_broken_group_under_two_budgets_is_not_given_up() -> None:
    two = [Budget("x", name, LabelSelector(), 9) for name in ("a", "b")]
    world = snapshot(node("n1", 9), queue("q"), broken("v", 2), *two)
    here = scene(world)

    assert not given_up(here, here.roster[world.groups[-1].key])


# Giving up


@pytest.mark.parametrize(
    ("since_s", "grace_s", "want"),
    [(NOW - 60, 60, True), (NOW - 59, 60, False), (NOW, 0, True), (None, 60, True)],
)
def test_grace_is_over_after_its_last_second(since_s: int | None, grace_s: int, want: bool) -> None:
    world = world_of(Members("v", "q", on=["n1"], minimum=2, broken_since_s=since_s))
    here = scene(world, Config(grace_s=grace_s))
    members = here.roster[world.groups[-1].key]

    assert grace_is_over(members, NOW, grace_s) is want
    assert given_up(here, members) is want


@pytest.mark.parametrize(
    ("about", "changes", "want"),
    [
        ("broken for long", {}, True),
        ("whole", {"minimum": 1}, False),
        ("with a critical pod", {"pod": {"critical": True}}, False),
        ("not preemptable", {"preemptable": False}, True),
        ("cooling down", {"pod": {"protected_until_s": NOW + 9}}, True),
    ],
)
def test_what_is_given_up(about: str, changes: dict[str, Any], want: bool) -> None:
    world = world_of(Members("v", "q", on=["n1"], **{"minimum": 2, "broken_since_s": 0, **changes}))
    here = scene(world)

    assert given_up(here, here.roster[world.groups[-1].key]) is want, about


def broken(name: str, n: int) -> Members:
    return Members(name, "q", on=["n1"] * n, minimum=9, broken_since_s=0)


@pytest.mark.parametrize(
    ("allowed", "want"), [(0, ""), (1, "c"), (2, "a"), (3, "ac"), (4, "ac"), (5, "ab"), (6, "abc")]
)
def test_groups_are_given_up_by_their_keys_as_far_as_the_budget_bears_it(
    allowed: int, want: str
) -> None:
    every = Budget("x", "every", LabelSelector(), allowed)
    world = snapshot(
        node("n1", 9), queue("q"), broken("a", 2), broken("b", 3), broken("c", 1), every
    )
    here = scene(world)

    found = "".join(m.group.name for m in here.roster.values() if given_up(here, m))

    assert found == want


def test_a_group_that_no_budget_covers_is_given_up_in_any_case() -> None:
    world = snapshot(node("n1", 9), queue("q"), broken("a", 2), broken("b", 1), budget("a", 1))
    here = scene(world)

    assert [m.group.name for m in here.roster.values() if given_up(here, m)] == ["b"]


# Priority


@pytest.mark.parametrize(
    ("group", "pods", "want"), [(3, (0, 0), 3), (3, (0, 5), 5), (-2, (-5, -3), -2)]
)
def test_a_victims_priority_is_the_larger_of_its_groups_and_its_running_pods(
    group: int, pods: tuple[int, int], want: int
) -> None:
    v = Members("v", "q", on=["n1"] * 2, waiting=1, priority=group)
    for i, priority in enumerate((*pods, 99)):
        but(v, i, priority=priority)
    world = world_of(v)

    assert victim_priority(scene(world).roster[v.group.key]) == want
