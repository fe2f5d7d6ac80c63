"""Wishes about the place: what is granted and what is not wanted, by weight."""

from typing import Any

import pytest

from apportion.models import NodeSelectorTerm, PodTerm, Requirement, Snapshot, Taint, Toleration
from apportion.policies.testing import priced

from .builders import HOST, Members, after, goal, node, nodes, placed, queue, snapshot, term
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
