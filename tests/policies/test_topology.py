"""Topology: pods that must be near each other share a domain; the goal keeps others close."""

from typing import Any

import pytest

from apportion.models import Config, Level, Snapshot, Subgroup, Topology, TopologyRequest
from apportion.policies.testing import accepts, priced, refuses
from apportion.solver.entry import plan

from .builders import Members, after, goal, nodes, placed, queue, reasons, replace, rule, snapshot
from .conftest import Solve

TOPOLOGY = rule("topology")
CLOSENESS = goal("closeness")
BLOCKS = {"left": ("n1", "n2", "n3"), "right": ("n4",)}
RACKS = {"a": ("n1", "n2"), "b": ("n3",), "c": ("n4",)}
NET = Topology("net", (Level("block", BLOCKS), Level("rack", RACKS)))


def asks(required: str = "", preferred: str = "") -> TopologyRequest:
    return TopologyRequest("net", required, preferred)


def world(
    *groups: Members, hosts: str = "n1 n2 n3 n4 n5", cpu: int = 4, **wishes: TopologyRequest
) -> Snapshot:
    """Return a cluster with levels (n5 is outside); wishes by group name."""
    made = snapshot(*nodes(hosts, cpu=cpu), queue("q"), *groups)
    asking = [replace(g, topology=wishes[g.name]) if g.name in wishes else g for g in made.groups]
    return replace(made, groups=tuple(asking), topologies=(NET,))


def split(made: Snapshot, group: str, **of: tuple[str, TopologyRequest]) -> Snapshot:
    """Put pods, by the ends of their names, into subgroups that ask for something."""
    wishes = {name: wish for name, wish in of.values()}
    parts = tuple(Subgroup(name, wish) for name, wish in sorted(wishes.items()))
    groups = [replace(g, subgroups=parts) if g.name == group else g for g in made.groups]
    pods = [replace(p, subgroups=(of[p.name][0],)) if p.name in of else p for p in made.pods]
    return replace(made, groups=tuple(groups), pods=tuple(pods))


@pytest.mark.parametrize(
    ("level", "starts", "want"),
    [
        ("rack", "g0@n1 g1@n1", True),
        ("rack", "g0@n1 g1@n2", True),
        ("rack", "g0@n1 g1@n3", False),
        ("block", "g0@n1 g1@n3", True),
        ("block", "g0@n1 g1@n4", False),
        ("block", "g0@n5 g1@n5", False),
        ("no such level", "g0@n1 g1@n1", False),
    ],
)
def test_all_of_a_group_share_a_domain_of_the_required_level(
    level: str, starts: str, want: bool
) -> None:
    outcome = after(world(Members("g", "q", waiting=2), g=asks(level)), starts)

    assert bool(accepts(TOPOLOGY, outcome)) is want
    assert bool(refuses(TOPOLOGY, outcome, "group x/g")) is not want


def test_what_is_said_names_the_domains() -> None:
    made = world(Members("g", "q", waiting=3), g=asks("rack"))

    assert refuses(
        TOPOLOGY, after(made, "g0@n1 g1@n3 g2@n2"), "group x/g", "share one rack: 2 in a, 1 in b"
    )
    assert refuses(TOPOLOGY, after(made, "g0@n5"), "group x/g", "1 of its pods would be outside")


def test_members_that_run_count() -> None:
    made = world(Members("g", "q", on=["n1"], waiting=1), g=asks("rack"))

    assert accepts(TOPOLOGY, after(made, "g1@n2"))
    assert refuses(TOPOLOGY, after(made, "g1@n3"), "group x/g")


def test_group_that_runs_apart_already_starts_nothing_more() -> None:
    made = world(Members("g", "q", on=["n1", "n4"], waiting=1), g=asks("rack"))

    assert accepts(TOPOLOGY, after(made))
    assert refuses(TOPOLOGY, after(made, "g2@n1"), "group x/g")


def test_a_preferred_level_refuses_nothing() -> None:
    made = world(Members("g", "q", waiting=2), g=asks("", "rack"))

    assert accepts(TOPOLOGY, after(made, "g0@n1 g1@n5"))


def test_each_subgroup_chooses_for_itself() -> None:
    made = world(Members("g", "q", waiting=4), g=asks("block"))
    rack = asks("rack")
    made = split(made, "g", g0=("s", rack), g1=("s", rack), g2=("t", rack), g3=("t", rack))

    assert accepts(TOPOLOGY, after(made, "g0@n1 g1@n2 g2@n3 g3@n3"))
    assert refuses(
        TOPOLOGY, after(made, "g0@n1 g1@n3 g2@n3 g3@n3"), "group x/g subgroup s", "one rack"
    )
    assert refuses(TOPOLOGY, after(made, "g0@n1 g1@n2 g2@n4 g3@n4"), "group x/g", "one block")


@pytest.mark.parametrize(
    ("starts", "want"),
    [
        ("g0@n1 g1@n2", 0),
        ("g0@n1 g1@n3", 1),  # another rack
        ("g0@n1 g1@n4", 2),  # and another block
        ("g0@n1 g1@n5", 2),  # outside is one domain of each level
        ("g0@n5 g1@n5", 0),
        ("g0@n1 g1@n3 g2@n4", 3),
    ],
)
def test_closeness_counts_domains_beyond_the_first(starts: str, want: int) -> None:
    made = world(Members("g", "q", minimum=2, waiting=3), g=asks("", "rack"))

    assert priced(CLOSENESS, after(made, starts)) == want


def test_levels_are_counted_from_below_the_required_one() -> None:
    made = world(Members("g", "q", waiting=2), g=asks("block", "rack"))

    assert priced(CLOSENESS, after(made, "g0@n1 g1@n3")) == 1
    assert priced(CLOSENESS, after(world(Members("g", "q", waiting=2), g=asks("", "block")),
                                   "g0@n1 g1@n3")) == 0  # fmt: skip


def test_domains_of_running_members_cost_nothing_more() -> None:
    made = world(Members("g", "q", on=["n1", "n4"], waiting=2), g=asks("", "rack"))

    assert priced(CLOSENESS, after(made)) == 0
    assert priced(CLOSENESS, after(made, "g2@n4")) == 0
    assert priced(CLOSENESS, after(made, "g2@n3")) == 1


def test_the_rack_that_holds_all_is_chosen(solve: Solve) -> None:
    pair = Members("g", "q", minimum=2, cpu=3, waiting=2)
    busy = Members("h", "q", cpu=2, on=["n1"])

    assert placed(solve(world(pair, busy, g=asks("rack")))) == {}
    assert placed(solve(world(pair, g=asks("rack")))) in (
        {"g0": "n1", "g1": "n2"},
        {"g0": "n2", "g1": "n1"},
    )


def test_reason_tells_what_the_best_domain_has_room_for(solve: Solve) -> None:
    made = solve(world(Members("g", "q", minimum=3, cpu=3, waiting=3), g=asks("rack")))

    (said,) = reasons(made, "g")
    assert said.rule == "topology"
    assert "needs 3 pods of 3 cpu in one rack" in said.message
    assert "a, the best, has room for 2" in said.message


def test_reason_of_a_member_tells_where_the_others_are(solve: Solve) -> None:
    made = solve(world(Members("g", "q", cpu=3, waiting=3), g=asks("rack")))

    (said,) = reasons(made, "g")
    assert "a, where its other pods are, has room for 0" in said.message


def test_without_the_rule_nobody_asks() -> None:
    made = world(Members("g", "q", cpu=3, waiting=3), g=asks("rack"))

    plan_made = plan(made, Config(deterministic=True, off=("topology",)))

    assert len(plan_made.binds) == 3


def test_many_subgroups_find_their_racks(solve: Solve) -> None:
    """Eight pairs, and racks of two places each: every pair has one of its own."""
    hosts = " ".join(f"m{i}" for i in range(8))
    racks = {f"r{i}": (f"m{i}",) for i in range(8)}
    group = Members("g", "q", cpu=2, waiting=16)
    made = replace(
        snapshot(*nodes(hosts, cpu=4), queue("q"), group),
        topologies=(Topology("net", (Level("rack", racks),)),),
    )
    of: dict[str, Any] = {f"g{i}": (f"s{i // 2}", asks("rack")) for i in range(16)}

    plan_made = solve(split(made, "g", **of))

    at = placed(plan_made)
    assert len(at) == 16
    assert all(at[f"g{2 * i}"] == at[f"g{2 * i + 1}"] for i in range(8))
