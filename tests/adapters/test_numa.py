"""NUMA cells of nodes, what pods ask of them, and what they hold."""

from typing import Any

import pytest

from apportion.models import AlignedAsk, Amounts, Cell, CellShare, Numa, Snapshot
from kubernetes_objects import container, node, obj, pod, pod_in, snapshot

GPU = "nvidia.com/gpu"
API = "topology.node.k8s.io/v1alpha2"


def zone(name: str, **of: Any) -> dict[str, Any]:
    """Return a zone with as much of each resource as is given: allocatable, or all three."""
    resources = []
    for r, said in of.items():
        a, b, c = said if isinstance(said, tuple) else (said, said, said)
        known = {"cpu": "cpu", "gpu": GPU, "memory": "memory"}[r]
        amounts = {"capacity": a, "allocatable": b, "available": c}
        resources.append({"name": known, **{k: v for k, v in amounts.items() if v is not None}})
    return {"name": name, "type": "Node", "resources": resources}


def topology(*zones: Any, name: str = "n", **fields: Any) -> dict[str, Any]:
    fields.setdefault("attributes", [{"name": "topologyManagerPolicy", "value": "restricted"}])
    return obj(API, "NodeResourceTopology", name, None, zones=list(zones), **fields)


def numa_of(world: Snapshot, name: str = "n") -> Numa | None:
    assert world.rejected == ()
    return world.nodes_by_name[name].numa


def test_zones_become_cells_in_order_of_their_numbers() -> None:
    world = snapshot(
        node(), topology(zone("node-1", cpu=("4", "3", "1")), zone("node-0", cpu=("4", "4", "0")))
    )

    assert numa_of(world) == Numa(
        "restricted",
        "container",
        (
            Cell(0, Amounts({"cpu": 4000}), Amounts({"cpu": 4000}), Amounts()),
            Cell(1, Amounts({"cpu": 3000}), Amounts({"cpu": 4000}), Amounts({"cpu": 1000})),
        ),
    )


def test_what_is_not_said_is_as_little_as_is_said() -> None:
    world = snapshot(node(), topology(zone("node-0", gpu=("4", None, None))))

    numa = numa_of(world)

    assert numa is not None
    assert numa.cells == (Cell(0, Amounts({GPU: 4000}), Amounts({GPU: 4000}), None),)


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"topologyPolicies": ["SingleNUMANodePodLevel"]}, ("single-numa-node", "pod")),
        ({"topologyPolicies": ["Restricted"]}, ("restricted", "container")),
        ({"topologyPolicies": ["BestEffortPodLevel"]}, ("best-effort", "pod")),
        (
            {
                "topologyPolicies": ["None"],
                "attributes": [
                    {"name": "topologyManagerPolicy", "value": "single-numa-node"},
                    {"name": "topologyManagerScope", "value": "pod"},
                    {"name": "nodeTopologyPodsFingerprint", "value": "pfp0v0019e0420efb37746c6"},
                ],
            },
            ("single-numa-node", "pod"),
        ),
        ({}, ("none", "container")),
    ],
)
def test_policy_and_scope_are_read_in_both_ways(
    fields: dict[str, Any], want: tuple[str, str]
) -> None:
    numa = numa_of(
        snapshot(node(), topology(zone("node-0", cpu=4), **{"attributes": [], **fields}))
    )

    assert numa is not None
    assert (numa.policy, numa.scope) == want


@pytest.mark.parametrize(
    ("bad", "path", "says"),
    [
        (topology(topologyPolicies=["Strict"]), "topologyPolicies[0]", "write None, BestEffort"),
        (
            topology(attributes=[{"name": "topologyManagerPolicy", "value": "strict"}]),
            "attributes[0].value",
            "write none, best-effort",
        ),
        (topology(zone("left", cpu=4)), "zones[0].name", "such as node-0"),
        (topology(zone("node-0"), zone("node-0")), "zones[1].name", "of its own"),
        (
            topology(zone("node-0", cpu=("much", None, None))),
            "zones[0].resources[0].capacity",
            "quantity",
        ),
        (topology({"type": "Node"}), "zones[0].name", "is missing"),
    ],
)
def test_a_bad_topology_is_listed_and_its_node_stays(
    bad: dict[str, Any], path: str, says: str
) -> None:
    world = snapshot(node(), bad)

    assert [(r.object, r.path) for r in world.rejected] == [("NodeResourceTopology n", path)]
    assert says in world.rejected[0].message
    assert world.nodes_by_name["n"].numa is None


# Volcano


def numatopology(**spec: Any) -> dict[str, Any]:
    spec.setdefault(
        "policies", {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"}
    )
    spec.setdefault("cpuDetail", {str(i): {"numa": i // 2, "core": i} for i in range(4)})
    return obj("nodeinfo.volcano.sh/v1alpha1", "Numatopology", "n", None, spec=spec)


def cpus(n: int) -> Amounts:
    return Amounts({"cpu": 1000 * n})


def test_free_cpus_of_volcano_are_counted_by_cell() -> None:
    world = snapshot(node(), numatopology(numares={"cpu": {"allocatable": "1,2-3"}}))

    assert numa_of(world) == Numa(
        "single-numa-node",
        "container",
        (Cell(0, cpus(2), cpus(2), cpus(1)), Cell(1, cpus(2), cpus(2), cpus(2))),
    )


def test_cpus_that_the_kubelet_keeps_are_the_first() -> None:
    world = snapshot(
        node(), numatopology(resReserved={"cpu": "500m"}, numares={"cpu": {"allocatable": "0-3"}})
    )

    numa = numa_of(world)

    assert numa is not None
    assert numa.cells[0] == Cell(0, cpus(1), cpus(2), cpus(1))


def test_without_a_static_cpu_manager_no_cpus_are_handed_out_by_cell() -> None:
    policies = {"CPUManagerPolicy": "none", "TopologyManagerPolicy": "restricted"}

    numa = numa_of(snapshot(node(), numatopology(policies=policies)))

    assert numa == Numa("restricted", "container", (Cell(0), Cell(1)))


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"numares": {"cpu": {"allocatable": "3-1"}}}, "spec.numares.cpu.allocatable"),
        ({"numares": {"cpu": {"allocatable": "0-99999999"}}}, "spec.numares.cpu.allocatable"),
        ({"numares": {"cpu": {"allocatable": "x"}}}, "spec.numares.cpu.allocatable"),
        ({"cpuDetail": {"first": {"numa": 0}}}, "spec.cpuDetail.first"),
        ({"cpuDetail": {"0": {"numa": -1}}}, "spec.cpuDetail.0.numa"),
        ({"policies": {"TopologyManagerPolicy": "x"}}, "spec.policies.TopologyManagerPolicy"),
        ({"resReserved": {"cpu": "-1"}}, "spec.resReserved.cpu"),
    ],
)
def test_a_bad_numatopology_is_listed(spec: dict[str, Any], path: str) -> None:
    world = snapshot(node(), numatopology(**spec))

    assert [(r.object, r.path) for r in world.rejected] == [("Numatopology n", path)]


def test_of_two_reports_the_topology_counts() -> None:
    world = snapshot(node(), numatopology(), topology(zone("node-0", cpu=4)))

    assert numa_of(world) is not None
    assert [w.object for w in world.warnings] == ["Numatopology n"]


# What pods ask


def guaranteed(**limits: Any) -> dict[str, Any]:
    return container(None, limits={"memory": "1Gi", **limits})


def aligned(*, topologies: bool = True, **spec: Any) -> list[tuple[dict[str, int], bool]]:
    there = [topology(zone("node-0", cpu=4))] if topologies else []
    world = snapshot(node(), *there, pod("p", **spec))
    assert world.rejected == ()
    return [(dict(a.amounts), a.init) for a in pod_in(world, "p").spec.aligned]


GI = 1 << 30


@pytest.mark.parametrize(
    ("about", "containers", "want"),
    [
        ("guaranteed", [guaranteed(cpu="2")], [({"cpu": 2000, "memory": GI}, False)]),
        (
            "limits and requests that are the same",
            [container({"cpu": "2", "memory": "1Gi"}, limits={"cpu": "2", "memory": "1Gi"})],
            [({"cpu": 2000, "memory": GI}, False)],
        ),
        ("parts of a core", [guaranteed(cpu="1500m")], [({"memory": GI}, False)]),
        ("no limits", [container({"cpu": "2", "memory": "1Gi"})], []),
        ("no memory", [container(None, limits={"cpu": "2"})], []),
        ("one that is not", [guaranteed(cpu="2"), container({"cpu": "1"})], []),
        ("devices, whatever the class", [container({"cpu": "2", GPU: 1})], [({GPU: 1000}, False)]),
        (
            "two containers",
            [guaranteed(cpu="2"), guaranteed(cpu="1", **{"hugepages-2Mi": "4Mi"})],
            [
                ({"cpu": 2000, "memory": GI}, False),
                ({"cpu": 1000, "hugepages-2Mi": 1 << 22, "memory": GI}, False),
            ],
        ),
    ],
)
def test_what_a_pod_asks_of_cells(
    about: str, containers: list[Any], want: list[tuple[dict[str, int], bool]]
) -> None:
    assert aligned(containers=containers) == want, about


def test_init_containers_come_first_and_sidecars_stay() -> None:
    side = {**guaranteed(cpu="1"), "restartPolicy": "Always"}

    got = aligned(initContainers=[guaranteed(cpu="3"), side], containers=[guaranteed(cpu="2")])

    assert [(a["cpu"], init) for a, init in got] == [(3000, True), (1000, False), (2000, False)]


def test_requests_of_the_pod_as_a_whole_get_no_cores_of_their_own() -> None:
    whole = {"limits": {"cpu": "2", "memory": "1Gi"}}

    assert aligned(containers=[guaranteed(cpu="2")], resources=whole) == []


def test_where_nobody_speaks_of_cells_nothing_is_read() -> None:
    assert aligned(topologies=False, containers=[guaranteed(cpu="2")]) == []


def test_a_policy_that_is_none_is_warned_of() -> None:
    asks = {"volcano.sh/numa-topology-policy": "strict"}
    world = snapshot(
        node(),
        topology(zone("node-0", cpu=4)),
        pod("p", containers=[guaranteed(cpu=1)], annotations=asks),
    )

    assert pod_in(world, "p").spec.numa_policy == "none"
    assert "is no policy" in world.warnings[0].message


# What pods hold

OBSERVED = "kai.scheduler/numa-placement-observed"
PREDICTED = "kai.scheduler/numa-placement-predicted"
DECISION = "volcano.sh/topology-decision"
ON_1 = '[{"zone":"node-1","amount":{"cpu":"2"}}]'
ON_0 = '[{"zone":"node-0","amount":{"cpu":2}}]'


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({OBSERVED: ON_1, PREDICTED: ON_0}, 1),
        ({PREDICTED: ON_0}, 0),
        ({DECISION: '{"numa":{"1":{"cpu":"2-3"}}}', PREDICTED: ON_0}, 1),
        ({OBSERVED: "null", PREDICTED: ON_0}, 0),
        ({}, None),
    ],
)
def test_where_a_running_pod_lies_is_read(annotations: dict[str, str], want: int | None) -> None:
    world = snapshot(
        node(), topology(zone("node-0", cpu=2), zone("node-1", cpu=2)),
        pod("p", nodeName="n", containers=[guaranteed(cpu=2)], annotations=annotations),
    )  # fmt: skip

    assert pod_in(world, "p").cells == (() if want is None else (CellShare(want, cpus(2)),))
    assert world.warnings == ()


@pytest.mark.parametrize("written", ["node-1", "1"])
def test_a_note_of_the_cell_is_read(written: str) -> None:
    world = snapshot(
        node(), topology(zone("node-0", cpu=2), zone("node-1", cpu=2)),
        pod("p", nodeName="n", containers=[guaranteed(cpu=2)], annotations={"a.b/numa": written}),
    )  # fmt: skip

    assert [s.cell for s in pod_in(world, "p").cells] == [1]


@pytest.mark.parametrize(
    "written",
    ["[", "{}", '[{"zone":"left","amount":{}}]', '[{"zone":"node-0","amount":{"cpu":"x"}}]'],
)
def test_what_cannot_be_read_of_a_place_is_warned_of(written: str) -> None:
    world = snapshot(
        node(), topology(zone("node-0", cpu=2)),
        pod("p", nodeName="n", containers=[guaranteed(cpu=2)], annotations={OBSERVED: written}),
    )  # fmt: skip

    assert pod_in(world, "p").cells == ()
    assert [w.path for w in world.warnings] == [f'metadata.annotations["{OBSERVED}"]']


def test_what_volcano_gave_a_pod_is_found_by_uid_or_name() -> None:
    given = [
        {"uid": "u1", "containerAllocations": [{"allocations": {"cpu": "2"}}]},
        {
            "name": "b",
            "namespace": "default",
            "containerAllocations": [{"allocations": {"cpu": "0-1"}}],
        },
    ]
    world = snapshot(
        node(), numatopology(podAllocations=given),
        pod("a", nodeName="n", meta={"uid": "u1"}, containers=[guaranteed(cpu=1)]),
        pod("b", nodeName="n", containers=[guaranteed(cpu=2)]),
    )  # fmt: skip

    assert pod_in(world, "a").cells == (CellShare(1, cpus(1)),)
    assert pod_in(world, "b").cells == (CellShare(0, cpus(2)),)


# Refusals


@pytest.mark.parametrize(
    ("about", "ages_s", "want"),
    [
        ("three of late", (10, 20, 600), ("n",)),
        ("two", (10, 20), ()),
        ("one of them is old", (10, 20, 601), ()),
    ],
)
def test_a_node_that_refused_three_pods_of_an_owner_is_left_out(
    about: str, ages_s: tuple[int, ...], want: tuple[str, ...]
) -> None:
    failed = [
        pod(
            f"f{i}", nodeName="n", owner=("ReplicaSet", "web"),
            status={"phase": "Failed", "reason": "TopologyAffinityError"},
            meta={"creationTimestamp": f"2026-01-05T11:{59 - age // 60:02}:{59 - age % 60:02}Z"},
        )
        for i, age in enumerate(ages_s)
    ]  # fmt: skip
    now = snapshot(
        node(), *failed, pod("next", owner=("ReplicaSet", "web")), pod("other"),
        now_s=1767614399,
    )  # fmt: skip

    assert pod_in(now, "next").spec.refused_by == want, about
    assert pod_in(now, "other").spec.refused_by == ()


def test_aligned_asks_are_kept_in_a_snapshot() -> None:
    from apportion.models.snapshot import read, write

    world = snapshot(
        node(), topology(zone("node-0", cpu=("4", "3", "1"))),
        pod("p", nodeName="n", containers=[guaranteed(cpu=2)], annotations={OBSERVED: ON_0}),
    )  # fmt: skip

    again = read(write(world))

    assert again == world
    assert again.digest == world.digest
    asks = pod_in(again, "p").spec.aligned
    assert asks == (AlignedAsk(Amounts({"cpu": 2000, "memory": GI})),)
