"""What a conflict says of domains: where pods have to lie, how many fit, and what is amiss."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.ask.explain import explain
from apportion.models import Config, GroupKey, Level, Node, Snapshot, Topology, TopologyRequest
from apportion.models.snapshot import read, write
from apportion.models.topology import Subgroup
from apportion.solver.process import SolverProcess
from oracle.build import Members, foreign, node, queue, snapshot

G = GroupKey("x/g")
Domains = Mapping[str, tuple[str, ...]]
RACKS: Domains = {"r0": ("n0", "n1"), "r1": ("n2", "n3")}
BLOCKS: Domains = {"b0": ("n0", "n1", "n2", "n3")}
ONLY_R0: Domains = {"r0": ("n0",)}
RACK = TopologyRequest("net", "rack")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def gang(pods: int, wish: TopologyRequest | None = RACK, cpu: int = 2, **rest: Any) -> Members:
    return Members("g", "q", cpu, waiting=pods, topology=wish, **{"minimum": pods, **rest})


def world(
    *others: Any, levels: Mapping[str, Domains] | None = None, nodes: Sequence[Node] = ()
) -> Snapshot:
    """Return four nodes of four cores, in racks of two unless said otherwise."""
    there = nodes or [node(f"n{i}", 4) for i in range(4)]
    of = {"rack": RACKS} if levels is None else levels
    net = Topology("net", tuple(Level(name, domains) for name, domains in of.items()))
    return replace(snapshot(*there, queue("q"), *others), topologies=(net,))


SSD = {"disk": "ssd"}


@pytest.mark.parametrize(
    ("start", "want"),
    [
        pytest.param(
            world(gang(5)),
            "its 5 pods have to lie in one rack; at most 4 fit in one, such as r0",
            id="a rack is too small",
        ),
        pytest.param(
            world(gang(5), foreign("f", 4, "n0")),
            "its 5 pods have to lie in one rack; at most 4 fit in one, in r1",
            id="one rack has the most room",
        ),
        pytest.param(
            world(
                gang(5, TopologyRequest("net", "block")),
                levels={"block": {"b0": ("n0", "n1"), "b1": ("n2", "n3")}, "rack": RACKS},
            ),
            "its 5 pods have to lie in one block; at most 4 fit in one, such as b0",
            id="a block is too small",
        ),
        pytest.param(
            world(gang(5, TopologyRequest("net", "zone")), levels={"zone": RACKS, "rack": ONLY_R0}),
            "its 5 pods have to lie in one zone; at most 4 fit in one, such as r0",
            id="a zone is too small",
        ),
        pytest.param(
            world(
                gang(5, TopologyRequest("net", "tier 1")),
                levels={"tier 2": BLOCKS, "tier 1": RACKS},
            ),
            "its 5 pods have to lie in one HyperNode of tier 1; at most 4 fit in one, such as r0",
            id="a HyperNode is too small",
        ),
        pytest.param(
            world(
                gang(4, spec={"node_selector": (("disk", "ssd"),)}),
                nodes=[
                    node("n0", 4, labels=SSD),
                    node("n1", 4),
                    node("n2", 4, labels=SSD),
                    node("n3", 4),
                ],
            ),
            "its 4 pods have to lie in one rack; at most 2 fit in one, such as r0",
            id="of a rack only what pods may be on counts",
        ),
        pytest.param(
            world(gang(3), levels={"rack": ONLY_R0}),
            "its 3 pods have to lie in one rack; at most 2 fit in one, in r0; 3 nodes with room "
            "lie in none",
            id="nodes without a rack are told",
        ),
        pytest.param(
            world(gang(2, minimum=5, on=["n0", "n0", "n1"])),
            "its 2 pods have to lie in rack r0, where its 3 running pods lie; at most 1 fits there",
            id="the rack where it runs is full",
        ),
        pytest.param(
            world(gang(1, minimum=2, on=["n3"]), levels={"rack": ONLY_R0}),
            "its pod has to lie in one rack; its running pod lies in none",
            id="it runs outside",
        ),
        pytest.param(
            world(gang(1, minimum=3, on=["n0", "n3"])),
            "its pod has to lie in one rack; its 2 running pods lie in several: r0, r1",
            id="it runs in two racks already",
        ),
        pytest.param(
            world(gang(2, TopologyRequest("net", "slot"))),
            "its 2 pods have to lie in one slot; topology net has no level slot, only rack",
            id="there is no such level",
        ),
        pytest.param(
            world(gang(2, TopologyRequest("net", "tier 3")), levels={"tier 1": RACKS}),
            "its 2 pods have to lie in one HyperNode of tier 3; topology net has no level tier 3, "
            "only tier 1",
            id="there is no such tier",
        ),
        pytest.param(
            world(gang(2, TopologyRequest("mesh", "rack"))),
            "its 2 pods have to lie in one rack; there is no topology mesh",
            id="there is no such topology",
        ),
        pytest.param(
            world(gang(2), levels={"rack": {}}),
            "its 2 pods have to lie in one rack; no node lies in any",
            id="no node is in a rack",
        ),
    ],
)
def test_what_keeps_pods_out_of_one_domain(
    start: Snapshot, want: str, solver: SolverProcess
) -> None:
    assert said(start, solver)["group x/g"] == want


def test_pods_of_a_subgroup_are_told_apart(solver: SolverProcess) -> None:
    left = gang(5, None, subgroups=(Subgroup("left", RACK),), pod={"subgroups": ("left",)})

    assert said(world(left), solver) == {
        "group x/g subgroup left": (
            "its 5 pods have to lie in one rack; at most 4 fit in one, such as r0"
        )
    }


def said(start: Snapshot, solver: SolverProcess) -> dict[str, str]:
    """Return what the rule of domains says, by what it is about."""
    config = Config(deterministic=True, budget_ms=2000)
    # Read back, equal pods share their spec, as they do in a cluster.
    found = explain(read(write(start)), config, G, process=solver, changes=False)
    assert (found.held_by, found.minimal) == ("rules", True)
    return {m.about: m.message for m in found.conflict if m.rule == "topology"}
