"""Volumes: a pod goes where its volumes are or can be made, and where their driver is."""

from typing import Any

import pytest

from apportion.models import NodeSelectorTerm, Requirement, Snapshot, Volume
from apportion.policies.testing import accepts, held, refuses

from .builders import Members, after, node, placed, queue, reasons, rule, snapshot
from .conftest import Solve

VOLUMES = rule("volumes")
MISSING = "PersistentVolumeClaim x/c not found; create it"


def in_zone(*zones: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement("zone", "In", zones),))


def world(*volumes: Volume, waiting: int = 1, **more: Any) -> Snapshot:
    return snapshot(
        node("a", 4, labels={"zone": "a"}, drivers={"csi.example.com": None}),
        node("b", 4, labels={"zone": "b"}),
        queue("q"),
        Members("g", "q", waiting=waiting, spec={"volumes": volumes}, **more),
    )


@pytest.mark.parametrize(
    ("about", "volumes", "want"),
    [
        ("no volume", (), "ab"),
        ("a volume without a place", (Volume(),), "ab"),
        ("a volume of one zone", (Volume(places=((in_zone("a"),),)),), "a"),
        ("a class of both zones", (Volume(places=((in_zone("a", "b"),),)),), "ab"),
        ("either of two terms", (Volume(places=((in_zone("c"), in_zone("b")),)),), "b"),
        ("both of two lists", (Volume(places=((in_zone("a", "b"),), (in_zone("b"),))),), "b"),
        ("two volumes", (Volume(places=((in_zone("a"),),)), Volume(places=((in_zone("b"),),))), ""),
        ("a place that is nowhere", (Volume(places=((),)),), ""),
        ("a driver that one node has", (Volume(driver="csi.example.com"),), "a"),
        ("a driver that no node has", (Volume(driver="other.example.com"),), ""),
        ("a claim that is missing", (Volume(problem=MISSING),), ""),
    ],
)
def test_a_pod_goes_where_all_its_volumes_are(
    about: str, volumes: tuple[Volume, ...], want: str
) -> None:
    there = world(*volumes)

    for name in "ab":
        assert bool(accepts(VOLUMES, after(there, f"g0@{name}"))) is (name in want), about


def test_a_node_without_the_driver_is_named() -> None:
    outcome = after(world(Volume(driver="csi.example.com")), "g0@b")

    assert refuses(VOLUMES, outcome, "node b", "its CSINode does not list the driver csi.example")


def test_a_group_is_held_by_the_claim_that_is_missing(solve: Solve) -> None:
    plan = solve(world(Volume(problem=MISSING)))

    [reason] = reasons(plan, "g")
    assert (reason.rule, reason.about, reason.message) == ("volumes", "pod x/g0", MISSING)


@pytest.mark.parametrize(("minimum", "want"), [(1, 0), (2, 1)])
def test_members_whose_claims_are_there_can_be_enough(minimum: int, want: int) -> None:
    there = snapshot(
        node("a", 4),
        queue("q"),
        mixed := Members("g", "q", waiting=2, minimum=minimum),
    )
    bad = Members("g", "q", waiting=2, spec={"volumes": (Volume(problem=MISSING),)}).pods[1]
    there = snapshot(node("a", 4), queue("q"), _but(mixed, bad))

    assert len(held(VOLUMES, after(there), "x/g")) == want


def _but(group: Members, bad: Any) -> Members:
    group.pods[1] = bad
    return group


def test_the_plan_follows_the_volume(solve: Solve) -> None:
    plan = solve(world(Volume(places=((in_zone("b"),),)), waiting=2, minimum=2))

    assert placed(plan) == {"g0": "b", "g1": "b"}
