"""Wishes about the place: what is granted and what is not wanted, by weight."""

from collections import Counter
from typing import Any

import pytest

from apportion.models import (
    NodeName,
    NodeSelectorTerm,
    PodTerm,
    Requirement,
    Snapshot,
    SpreadConstraint,
    Taint,
    Toleration,
)
from apportion.policies.testing import priced
from apportion.solver.process import SolverProcess

from .agreement import Told
from .builders import (
    HOST,
    Members,
    after,
    goal,
    node,
    nodes,
    only,
    placed,
    queue,
    replace,
    scene,
    snapshot,
    term,
)
from .conftest import Solve

WISHES = goal("wishes")


def zone(value: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement("zone", "In", (value,)),))


def world_of(peer: dict[str, Any] | None = None, **spec: Any) -> Snapshot:
    return snapshot(
        *nodes("a1 a2", zone="a"),
        *nodes("b1", zone="b"),
        queue("q"),
        Members("peer", "q", on=["a1"], spec=peer or {}),
        Members("g", "q", waiting=2, minimum=0, spec=spec),
    )


def value(world: Snapshot, starts: str) -> int:
    return priced(WISHES, after(world, starts))


def test_preferred_nodes_count_by_weight_pod_by_pod() -> None:
    world = world_of(preferred_nodes=((30, zone("a")), (5, zone("b")), (7, zone("a"))))

    assert value(world, "") == 0
    assert value(world, "g0@a1") == 37
    assert value(world, "g0@b1") == 5
    assert value(world, "g0@a1 g1@b1") == 42


@pytest.mark.parametrize(
    ("about", "taints", "tolerations", "want"),
    [
        ("a soft taint costs 1", (Taint("k", "PreferNoSchedule"),), (), -1),
        ("each of them", (Taint("k", "PreferNoSchedule"), Taint("l", "PreferNoSchedule")), (), -2),
        (
            "not where it is borne",
            (Taint("k", "PreferNoSchedule"),),
            (Toleration("k", "Exists"),),
            0,
        ),
        ("a hard one is no wish", (Taint("k", "NoSchedule"),), (Toleration("", "Exists"),), 0),
    ],
)
def test_soft_taints(
    about: str, taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], want: int
) -> None:
    world = snapshot(
        node("n1", 4, taints=taints),
        queue("q"),
        Members("g", "q", waiting=1, spec={"tolerations": tolerations}),
    )

    assert value(world, "g0@n1") == want, about


@pytest.mark.parametrize(
    ("about", "key", "at", "want"),
    [
        ("the same host", HOST, "a1", 10),
        ("another host", HOST, "a2", 0),
        ("the same zone", "zone", "a2", 10),
        ("another zone", "zone", "b1", 0),
        ("no such label", "rack", "a1", 0),
    ],
)
def test_company_counts_in_the_domain_of_a_peer_and_against_it_where_it_is_not_wanted(
    about: str, key: str, at: str, want: int
) -> None:
    near, apart = ((10, term("peer", key)),), ((10, term("peer", key)),)

    assert value(world_of(preferred_affinity=near), f"g0@{at}") == want, about
    assert value(world_of(preferred_anti_affinity=apart), f"g0@{at}") == -want, about


def test_what_those_who_stand_there_wish_counts_too() -> None:
    assert value(world_of({"preferred_affinity": ((10, term("g")),)}), "g0@a1") == 10
    assert value(world_of({"preferred_anti_affinity": ((10, term("g")),)}), "g0@a1") == -10


def test_peers_of_other_namespaces_do_not_count() -> None:
    elsewhere = PodTerm(HOST, term("peer").selector, frozenset({"y"}))

    assert value(world_of(preferred_affinity=((10, elsewhere),)), "g0@a1") == 0


# Soft spread


def spreading(n: int, skew: int = 1, key: str = "zone", **more: Any) -> Snapshot:
    """Return zones a (two nodes) and b, a node without a zone, a pod in a, and n that wait."""
    level = SpreadConstraint(skew, key, False, only("g"), **more.pop("level", {}))
    return snapshot(
        *nodes("a1 a2", zone="a"),
        *nodes("b1", zone="b"),
        node("bare", 4),
        queue("q"),
        Members("g", "q", on=["a1"], waiting=n, minimum=0, spec={"spread": (level,), **more}),
    )


@pytest.mark.parametrize(
    ("skew", "starts", "want"),
    [
        (1, "", 0),
        (1, "g1@b1", 0),
        (1, "g1@a2", -10),
        (1, "g1@a2 g2@b1", 0),
        (1, "g1@a1 g2@a2", -20),
        (2, "g1@a1 g2@a2", -10),
        (3, "g1@a1 g2@a2", 0),
        (1, "g1@b1 g2@b1 g3@b1", -10),
        (1, "g1@bare", -10),
        (1, "g1@bare g2@bare g3@b1", -20),
    ],
)
def test_soft_spread_costs_what_is_beyond_the_skew(skew: int, starts: str, want: int) -> None:
    """Where new pods come, against the least; and each pod on a node outside all zones."""
    assert value(spreading(3, skew), starts) == want


def test_domains_that_take_no_new_pod_cost_nothing() -> None:
    world = spreading(1)
    there = (replace(p, node=NodeName("a1")) if p.node else p for p in world.pods)
    crowd = Members("h", "q", on=["a1"] * 3, minimum=0, pod={"labels": {"app": "g"}})
    world = replace(world, pods=(*there, *crowd.pods), groups=(*world.groups, crowd.group))

    assert value(world, "g1@b1") == 0
    assert value(world, "g1@a1") == -40


def test_who_leaves_does_not_count() -> None:
    world = spreading(1)

    assert priced(WISHES, after(world, "g1@a2", gone="g0")) == 0


def test_nodes_that_the_pod_may_not_use_take_no_part() -> None:
    only_a: Any = {"node_selector": (("zone", "a"),)}

    assert value(spreading(2, **only_a), "g1@a1 g2@a2") == 0
    assert value(spreading(2, level={"honor_affinity": False}, **only_a), "g1@a1 g2@a2") == -20


def test_hard_constraints_are_no_wish() -> None:
    world = spreading(2)
    hard = {"spread": (SpreadConstraint(1, "zone", True, only("g")),)}
    pods = (replace(p, spec=replace(p.spec, **hard)) for p in world.pods)

    assert value(replace(world, pods=tuple(pods)), "g1@a1 g2@a2") == 0


def test_pods_spread_over_zones_where_they_can(solve: Solve) -> None:
    made = placed(solve(spreading(3)))

    assert Counter(n[0] for n in made.values()) == {"a": 1, "b": 2}
    assert "bare" not in made.values()


def test_pods_spread_over_nodes_where_they_can(solve: Solve) -> None:
    there = Counter(["a1", *placed(solve(spreading(4, key=HOST))).values()])

    assert sorted(there) == ["a1", "a2", "b1"]
    assert max(there.values()) - min(there.values()) == 1


def test_a_spread_that_cannot_be_had_keeps_nobody_waiting(solve: Solve) -> None:
    world = snapshot(
        *nodes("a1", 9, zone="a"),
        *nodes("b1", 1, zone="b"),
        queue("q"),
        Members(
            "g", "q", waiting=6, spec={"spread": (SpreadConstraint(1, "zone", False, only("g")),)}
        ),
    )

    assert Counter(placed(solve(world)).values()) == {"a1": 5, "b1": 1}


def test_merged_nodes_promise_what_the_best_of_them_is_worth(process: SolverProcess) -> None:
    """The board may promise more than a plan can keep, and never less: its bound stays true."""
    soft = (Taint("k", "PreferNoSchedule"),)
    both = node("n1", 2, taints=soft), node("n2", 2)
    world = snapshot(*both, queue("q"), Members("g", "q", waiting=1))

    board = Told(scene(world), process, goal=WISHES, exact_pairs=0)
    values = board.values(after(world, "g0@n2"))

    assert [c.size for c in board.board.classes] == [2]
    assert values is not None
    assert board.best(values) == 0 == value(world, "g0@n2")
    assert value(world, "g0@n1") == -1


# Plans


def test_more_granted_weight_is_better() -> None:
    assert WISHES.sense == "max"


def test_pods_go_where_they_would_rather_be(solve: Solve) -> None:
    world = world_of(preferred_nodes=((1, zone("b")),))

    assert set(placed(solve(world)).values()) == {"b1"}


def test_the_heavier_wish_is_granted(solve: Solve) -> None:
    near = ((40, term("peer")),)

    assert (
        placed(solve(world_of(preferred_nodes=((39, zone("b")),), preferred_affinity=near)))["g0"]
        == "a1"
    )
    assert (
        placed(solve(world_of(preferred_nodes=((41, zone("b")),), preferred_affinity=near)))["g0"]
        == "b1"
    )


@pytest.mark.parametrize(("n", "want"), [(2, ["n2", "n2"]), (3, ["n1", "n2", "n2"])])
def test_soft_taints_are_avoided_while_there_is_another_node(
    n: int, want: list[str], solve: Solve
) -> None:
    world = snapshot(
        node("n1", 2, taints=(Taint("k", "PreferNoSchedule"),)),
        node("n2", 2),
        queue("q"),
        Members("g", "q", waiting=n),
    )

    assert sorted(placed(solve(world)).values()) == want
