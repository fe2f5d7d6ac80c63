"""Kinds of neighbourhoods: of each a plan that only it makes better, with so many nodes."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Config,
    Device,
    DeviceShare,
    Level,
    Node,
    NodeName,
    PodKey,
    Snapshot,
    Topology,
    TopologyRequest,
)
from apportion.models.config import TierSettings
from apportion.policies.goals import goals_for
from apportion.policies.legality import is_legal
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import improve
from apportion.solver.allowance import Allowance
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.greedy import rank_and_place
from apportion.solver.held import Held
from apportion.solver.leveling import levels_of
from apportion.solver.neighbourhood import Part
from apportion.solver.one_domain import OneDomain
from apportion.solver.rows import vector_of
from apportion.solver.shared_devices import SharedDevices
from apportion.solver.turns import Kind
from apportion.solver.two_queues import TwoQueues
from apportion.solver.victims_nodes import VictimsNodes
from oracle.build import GPU, Members, node, queue, snapshot

from .children import InProcess

CONFIG = Config(deterministic=True, tiers=TierSettings(slices=1))


def planned(of: Snapshot, places: dict[str, str], evicted: Sequence[str] = ()) -> Outcome:
    """Return what follows from a plan that starts and evicts these pods."""
    scene = Scene(of, CONFIG, rules_for(CONFIG))
    levels = levels_of(scene, rank_and_place(scene))
    at = {PodKey(f"x/{p}"): scene.index[n] for p, n in places.items()}
    outcome = outcome_of(scene, Decision(at, frozenset(PodKey(f"x/{p}") for p in evicted)), levels)
    assert is_legal(outcome)
    return outcome


def better(outcome: Outcome, kind: Kind, size: int) -> Outcome | None:
    """Return what comes of the first of the kind's neighbourhoods that is better, if one is."""
    goals = goals_for(CONFIG, outcome.scene.rules)
    for turn in range(kind.turns if kind.size else 0):
        of = kind.around(min(size, kind.size), turn)
        assert len(of.nodes) <= size
        answer = Part(outcome, of).more_work(goals, InProcess(), None, Allowance(4.0))
        if answer.decision is not None:
            assert outcome.levels is not None
            after = outcome_of(outcome.scene, answer.decision, outcome.levels)
            assert is_legal(after)
            if vector_of(after, goals) > vector_of(outcome, goals):
                return after
    return None


def half_used_racks() -> Outcome:
    """Return a gang that needs a rack; the only one that could be cleared has a single pod.

    In the other racks one of two nodes is taken by what may not leave.
    """
    gang = Members(
        "gang", "q", 4, waiting=2, minimum=2, topology=TopologyRequest("net", required="rack")
    )
    fixed = Members("fixed", "q", 4, on=["n2", "n4", "n6"], preemptable=False)
    racks = {f"r{i}": (f"n{2 * i}", f"n{2 * i + 1}") for i in range(4)}
    of = snapshot(
        *(node(f"n{i}", 4) for i in range(8)), queue("q"), gang, fixed,
        Members("single", "q", 4, waiting=1, priority=9),
    )  # fmt: skip
    of = replace(of, topologies=(Topology("net", (Level("rack", racks),)),))
    return planned(of, {"single0": "n0"})


def one_large_for_two_small() -> Outcome:
    """Return a node that one queue's pod of three cores has, where two of the other queue fit."""
    of = snapshot(
        node("n0", 4), queue("rich", 3), queue("poor", 4),
        Members("large", "rich", 3, waiting=1),
        Members("small", "poor", 2, waiting=1),
        Members("other", "poor", 2, waiting=1),
    )  # fmt: skip
    return planned(of, {"large0": "n0"})


def two_victims_for_one() -> Outcome:
    """Return a plan that evicts two pods where one would do."""
    of = snapshot(
        node("n0", 4), node("n1", 4), queue("lender", 0, weight=0), queue("owner", 8),
        Members("two", "lender", 2, on=["n0", "n0"], minimum=2),
        Members("one", "lender", 4, on=["n1"]),
        Members("due", "owner", 4, waiting=1),
    )  # fmt: skip
    return planned(of, {"due0": "n0"}, ["two0", "two1"])


def shares_apart() -> Outcome:
    """Return two shares on two nodes, and a pod of two devices that waits.

    Two other nodes have as much left, as halves of devices.
    """

    def devices(name: str, n: int) -> Node:
        amounts = Amounts({"cpu": 64_000, GPU: n * 1000, "pods": 20})
        return Node(
            NodeName(name), amounts, devices=(Device(),) * n, hands_out=("whole", "reservation")
        )

    def half(name: str, on: str = "", at: int = 0) -> Members:
        made = Members(
            name, "q", 1, on=[on] if on else [], waiting=int(not on), preemptable=not on,
            spec={"share": DeviceShare(memory_ppm=500_000)}, priority=9,
            pod={"devices": (at,) if on else ()},
        )  # fmt: skip
        requests = Amounts({"cpu": 1000, GPU: 500})
        made.pods = [replace(p, spec=replace(p.spec, requests=requests)) for p in made.pods]
        return made

    of = snapshot(
        *(devices(f"broken{i}", 4) for i in range(2)), *(devices(f"n{i}", 2) for i in range(2)),
        queue("q"), half("a"), half("b"), Members("whole", "q", 1, gpus=2, waiting=1),
        *(half(f"there{i}{k}", f"broken{i}", k) for i in range(2) for k in range(4)),
    )  # fmt: skip
    return planned(of, {"a0": "n0", "b0": "n1"})


CASES: list[tuple[Any, Any, int]] = [
    (half_used_racks, OneDomain, 3),
    (one_large_for_two_small, TwoQueues, 1),
    (two_victims_for_one, VictimsNodes, 2),
    (shares_apart, SharedDevices, 2),
]


@pytest.mark.parametrize(("world", "best", "size"), CASES, ids=[b.name for _, b, _ in CASES])
def test_each_kind_finds_what_no_other_does(world: Any, best: Any, size: int) -> None:
    outcome = world()
    held = Held(outcome)

    found = {k.name for k in improve.KINDS if better(outcome, k(held), size) is not None}

    assert found == {best.name}


def test_victim_is_spared_where_another_costs_less() -> None:
    outcome = two_victims_for_one()

    after = better(outcome, VictimsNodes(Held(outcome)), 2)

    assert after is not None
    assert after.evicted == {"x/one0"}
