"""Required pod affinity, as kube-scheduler's InterPodAffinity decides it."""

from typing import Any

import pytest

from apportion.models import PodState, PodTerm, Snapshot
from apportion.policies.testing import accepts, refuses

from .builders import (
    HOST,
    Members,
    after,
    budget,
    foreign,
    near,
    nodes,
    only,
    placed,
    queue,
    replace,
    rule,
    snapshot,
    term,
    zoned,
)
from .conftest import Solve

AFFINITY = rule("pod-affinity")


def peer(on: str, **more: Any) -> Members:
    return Members("peer", "q", on=[on], preemptable=False, **more)


@pytest.mark.parametrize(
    ("about", "key", "at", "want"),
    [
        ("the same host", HOST, "a1", True),
        ("another host", HOST, "a2", False),
        ("the same zone", "zone", "a2", True),
        ("another zone", "zone", "b1", False),
        ("a node without the label", "zone", "none", False),
    ],
)
def test_a_pod_stands_in_the_domain_of_a_peer(about: str, key: str, at: str, want: bool) -> None:
    world = zoned(peer("a1"), Members("g", "q", waiting=1, spec=near(term("peer", key))))

    outcome = after(world, f"g0@{at}")

    assert bool(accepts(AFFINITY, outcome)) is want, about
    assert bool(refuses(AFFINITY, outcome, "pod x/g0")) is not want, about


def test_a_peer_may_start_in_the_same_plan_and_may_not_leave_in_it() -> None:
    world = zoned(
        peer("a1"),
        Members("more", "q", waiting=1, pod={"labels": {"app": "peer"}}),
        Members("g", "q", waiting=1, spec=near(term("peer"))),
    )

    assert accepts(AFFINITY, after(world, "more0@b1 g0@b1"))
    assert refuses(AFFINITY, after(world, "more0@b1 g0@a2"), "pod x/g0", f"no peer in {HOST} a2")
    assert refuses(AFFINITY, after(world, "g0@a1", "peer0"), "pod x/g0", f"no peer in {HOST} a1")


def test_terminating_peers_are_gone_and_foreign_ones_count() -> None:
    group = Members("g", "q", waiting=1, spec=near(term("peer")))

    def with_foreign(state: PodState) -> Snapshot:
        there = replace(foreign("f", 1, "a1", state), labels={"app": "peer"})
        return zoned(group, there)

    assert accepts(AFFINITY, after(with_foreign(PodState.RUNNING), "g0@a1"))
    assert refuses(AFFINITY, after(with_foreign(PodState.TERMINATING), "g0@a1"), "pod x/g0")


@pytest.mark.parametrize(
    ("namespaces", "want"),
    [(None, True), (frozenset({"x", "y"}), True), (frozenset({"y"}), False)],
)
def test_peers_are_looked_for_in_the_named_namespaces(
    namespaces: frozenset[str] | None, want: bool
) -> None:
    spec = near(term("peer", namespaces=namespaces))
    world = zoned(peer("a1"), Members("g", "q", waiting=1, spec=spec))

    assert bool(accepts(AFFINITY, after(world, "g0@a1"))) is want


def test_a_term_without_a_selector_matches_nobody() -> None:
    spec = near(PodTerm(HOST, None, None))
    world = zoned(peer("a1"), Members("g", "q", waiting=1, spec=spec))

    assert refuses(AFFINITY, after(world, "g0@a1"), "pod x/g0")


def test_a_peer_matches_all_terms_and_each_terms_domain_holds_one() -> None:
    both = {"labels": {"app": "peer", "tier": "t"}}
    tier = replace(only("t"), requirements=(replace(only("t").requirements[0], key="tier"),))
    spec = near(term("peer", HOST), PodTerm("zone", tier, None))
    full = Members("g", "q", waiting=1, spec=spec)

    assert accepts(AFFINITY, after(zoned(peer("a1", pod=both), full), "g0@a1"))
    assert refuses(AFFINITY, after(zoned(peer("a1", pod=both), full), "g0@a2"), "pod x/g0", HOST)
    assert refuses(AFFINITY, after(zoned(peer("a1"), full), "g0@a1"), "pod x/g0")


def own_kind(waiting: int = 2, **more: Any) -> Members:
    return Members("g", "q", waiting=waiting, spec=near(term("g", "zone")), **more)


def test_the_first_of_its_kind_may_stand_alone_and_the_second_stands_with_it() -> None:
    world = zoned(own_kind())

    assert accepts(AFFINITY, after(world, "g0@a1"))
    assert accepts(AFFINITY, after(world, "g0@a1 g1@a2"))
    assert refuses(AFFINITY, after(world, "g0@a1 g1@b1"), "pod x/g1", "no peer in zone b")


def test_one_that_does_not_match_its_own_terms_is_no_first() -> None:
    world = zoned(Members("g", "q", waiting=1, spec=near(term("h", "zone"))))

    assert refuses(AFFINITY, after(world, "g0@a1"), "pod x/g0")


def test_the_first_of_its_kind_too_needs_a_node_with_the_label() -> None:
    assert refuses(AFFINITY, after(zoned(own_kind()), "g0@none"), "pod x/g0", "none has no zone")


def test_peers_outside_of_all_domains_do_not_count() -> None:
    outside = Members("old", "q", on=["none"], pod={"labels": {"app": "g"}})

    assert accepts(AFFINITY, after(zoned(outside, own_kind()), "g0@a1"))


# Plans


def test_a_gang_that_keeps_together_stays_in_one_zone(solve: Solve) -> None:
    world = snapshot(
        *nodes("a1 a2", cpu=1, zone="a"),
        *nodes("b1 b2 b3", cpu=1, zone="b"),
        queue("q"),
        Members("g", "q", waiting=3, minimum=3, spec=near(term("g", "zone"))),
    )

    assert sorted(placed(solve(world)).values()) == ["b1", "b2", "b3"]


@pytest.mark.parametrize(
    "company",
    [
        pytest.param({"on": ["a1"], "preemptable": False}, id="that stays in any case"),
        pytest.param({"on": ["a1"]}, id="that might be evicted"),
        pytest.param({"waiting": 1}, id="that starts in the same plan"),
    ],
)
def test_a_pod_that_asks_for_company_goes_there(company: dict[str, Any], solve: Solve) -> None:
    world = zoned(
        Members("peer", "q", **company), Members("g", "q", waiting=1, spec=near(term("peer")))
    )

    assert "g0" in placed(solve(world))


def test_the_solver_does_not_count_on_company_that_it_evicts(solve: Solve) -> None:
    world = snapshot(
        *nodes("n1", cpu=1),
        *nodes("n2", cpu=2),
        queue("q"),
        Members("low", "q", on=["n1"], pod={"labels": {"app": "peer"}}),
        Members("safe", "q", on=["n2"]),
        budget("safe", 0),
        replace(foreign("f", 1, "n2"), labels={"app": "peer"}),
        Members("g", "q", waiting=1, priority=1, spec=near(term("peer"))),
    )

    plan = solve(world)

    assert placed(plan) == {}
    assert (plan.solver.engine, plan.solver.detail) == ("exact", "")
