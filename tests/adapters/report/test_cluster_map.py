"""Who is drawn on which device, and in which domain."""

import pytest

from apportion.adapters.report.ceilings import Ceilings
from apportion.adapters.report.claimed import claimed_of
from apportion.adapters.report.domains import Domain, domains_of, natural
from apportion.adapters.report.jobs import MOST, jobs_of
from apportion.adapters.report.occupancy import Row, devices_asked_for, rows_of, stays
from apportion.adapters.report.page import Report, written
from apportion.adapters.report.queues import borrowed, queues_section
from apportion.models import (
    UNLIMITED,
    AllocatedDevice,
    Allocation,
    Amounts,
    Bind,
    Claim,
    Config,
    Eviction,
    Group,
    GroupKey,
    Level,
    Node,
    NodeName,
    Nomination,
    Plan,
    Pod,
    PodClaim,
    PodKey,
    PodSpec,
    PodState,
    PoolDevice,
    Queue,
    QueueName,
    QueueRow,
    Topology,
    snapshot_of,
)

GPU = "nvidia.com/gpu"
N = NodeName("n")


def pod(name: str, gpu: int, devices: tuple[int, ...] = (), runs: bool = True) -> Pod:
    spec = PodSpec(Amounts({GPU: gpu, "cpu": 1000}))
    if runs:
        return Pod(
            "x", name, spec, PodState.RUNNING, GroupKey(f"x/{name}"), node=N, devices=devices
        )
    return Pod("x", name, spec, PodState.PENDING, GroupKey(f"x/{name}"))


def drawn(plan: Plan, *pods: Pod, gpus: int = 4) -> Row:
    queue = QueueName("q")
    snapshot = snapshot_of(
        nodes=[Node(N, Amounts({GPU: gpus * 1000, "cpu": 8000}))], queues=[Queue(queue)],
        groups=[Group(p.namespace, p.name, queue) for p in pods], pods=pods,
    )  # fmt: skip
    [row] = rows_of(snapshot.nodes[0], stays(plan, snapshot)[N], devices_asked_for(snapshot))
    return row


def cells(row: Row) -> list[list[tuple[str, str, float]]]:
    return [[(str(h.group), h.state, h.part) for h in cell] for cell in row.cells]


def test_a_pod_is_drawn_on_the_devices_that_it_has() -> None:
    row = drawn(Plan("", ""), pod("a", 2000, (1, 3)), pod("b", 1000))

    a, b = ("x/a", "runs", 1.0), ("x/b", "runs", 1.0)
    assert cells(row) == [[b], [a], [], [a]]
    assert (row.used, row.amount) == (3000, 4000)


def test_shares_of_a_device_lie_side_by_side() -> None:
    row = drawn(Plan("", ""), pod("a", 250, (0,)), pod("b", 500, (0,)), gpus=1)

    assert cells(row) == [[("x/a", "runs", 0.25), ("x/b", "runs", 0.5)]]


def test_who_comes_is_drawn_over_who_leaves() -> None:
    key = PodKey("x/old"), GroupKey("x/old"), N
    made = Plan(
        "", "", evictions=(Eviction(*key),),
        nominations=(Nomination(PodKey("x/new"), GroupKey("x/new"), N),),
        binds=(Bind(PodKey("x/now"), GroupKey("x/now"), N),),
    )  # fmt: skip

    row = drawn(made, pod("old", 3000), pod("new", 2000, runs=False), pod("now", 1000, runs=False))

    assert [c[0][:2] for c in cells(row)] == [
        ("x/now", "starts"), ("x/new", "promised"), ("x/new", "promised"), ("x/old", "leaving"),
    ]  # fmt: skip
    assert row.used == 3000


def test_many_devices_are_one_bar() -> None:
    row = drawn(Plan("", ""), pod("a", 5000), gpus=20)

    assert row.is_bar
    assert cells(row) == [[("x/a", "runs", 0.25)]]


def claimed_cells(plan: Plan, *pods: Pod, taken: bool = False) -> list[list[tuple[str, str]]]:
    """Return who has which of four devices of a driver, the last of them in use elsewhere."""
    ids = [f"gpu.example.com/n/g{i}" for i in range(4)]
    offered = tuple(PoolDevice(i, taken=taken and i == ids[3]) for i in ids)
    snapshot = snapshot_of(
        nodes=[Node(N, Amounts({"cpu": 8000}), pool_devices=offered)], pods=pods,
        groups=[Group(p.namespace, p.name, QueueName("q")) for p in pods],
        claims=[Claim("x", "shared", allocated=True, devices=(ids[1],))],
    )  # fmt: skip
    row = claimed_of(plan, snapshot).row(snapshot.nodes[0], stays(plan, snapshot)[N])
    assert row is not None
    return [[(str(h.group), h.state) for h in cell] for cell in row.cells]


def test_devices_of_claims_are_drawn_one_by_one() -> None:
    runs = Pod(
        "x", "runs", PodSpec(claims=(PodClaim("c", "x/shared"),)), PodState.RUNNING,
        GroupKey("x/runs"), node=N, claimed=("gpu.example.com/n/g0",),
    )  # fmt: skip
    comes = Pod("x", "comes", PodSpec(), PodState.PENDING, GroupKey("x/comes"))
    given = AllocatedDevice("r", "gpu.example.com", "n", "g2")
    made = Plan(
        "", "", binds=(Bind(comes.key, GroupKey("x/comes"), N),),
        allocations=(Allocation(comes.key, "c", "", N, (given,)),),
    )  # fmt: skip

    assert claimed_cells(made, runs, comes, taken=True) == [
        [("x/runs", "runs")], [("x/runs", "runs")], [("x/comes", "starts")], [("None", "runs")],
    ]  # fmt: skip


def test_a_node_without_such_devices_has_no_row_for_them() -> None:
    made = snapshot_of(nodes=[Node(N, Amounts({"cpu": 1000}))], groups=[])

    assert claimed_of(Plan("", ""), made).row(made.nodes[0], []) is None


def node(name: str, **labels: str) -> Node:
    return Node(NodeName(name), labels={k.replace("_", "/"): v for k, v in labels.items()})


def shape(of: Domain) -> object:
    inside = {f"{d.level} {d.name}".strip(): shape(d) for d in of.domains}
    names = [str(n.name) for n in of.nodes]
    return (inside, names) if inside and names else inside or names


def test_domains_are_the_levels_of_the_topology() -> None:
    racks = {"b0/r0": ("n1", "n2"), "b0/r1": ("n3",), "b1/r2": ("n10",)}
    levels = (
        Level("block", {"b0": ("n1", "n2", "n3"), "b1": ("n10",)}), Level("rack", racks),
    )  # fmt: skip
    names = ("n1", "n2", "n3", "n10", "out")

    made = snapshot_of(
        nodes=[node(n) for n in names], groups=[], topologies=[Topology("t", levels)]
    )

    blocks = {
        "block b0": {"rack r0": ["n1", "n2"], "rack r1": ["n3"]},
        "block b1": {"rack r2": ["n10"]},
    }
    assert shape(domains_of(made)) == (blocks, ["out"])


def test_without_a_topology_they_are_well_known_labels_that_tell_nodes_apart() -> None:
    nodes = [node(f"n{i}", zone="z", rack=f"r{i // 2}") for i in (10, 9, 8, 11)]

    made = snapshot_of(nodes=nodes, groups=[])

    assert shape(domains_of(made)) == {"rack r4": ["n8", "n9"], "rack r5": ["n10", "n11"]}


@pytest.mark.parametrize(
    ("names", "want"),
    [
        (["n10", "n9"], ["n9", "n10"]),
        (["b", "a1", "1"], ["1", "a1", "b"]),
        (["n" + "9" * 30, "n1"], ["n1", "n" + "9" * 30]),
        (["n٣", "n²", ""], ["", "n²", "n٣"]),
    ],
    ids=["numbers", "words and numbers", "too long to be a number", "other digits"],
)
def test_names_are_in_the_order_that_people_count_in(names: list[str], want: list[str]) -> None:
    assert sorted(names, key=natural) == want


def test_the_largest_groups_have_looks_and_no_two_the_same() -> None:
    sizes = {GroupKey(f"x/{i}"): i for i in range(MOST + 5)}

    jobs = jobs_of(sizes)

    looks = [jobs.look(g) for g in sorted(sizes, key=lambda g: -sizes[g])]
    assert len(set(looks[:MOST])) == MOST
    assert set(looks[MOST:]) == {"jo"}
    assert jobs.mark(GroupKey("x/0")) == ""


def test_borrowed_is_what_is_used_beyond_a_named_due() -> None:
    row = QueueRow(
        "q", Amounts({GPU: 5000, "cpu": 9000, "memory": 7}),
        {GPU: 3000, "memory": UNLIMITED, "cpu": 9000}, Amounts(), 0.5,
    )  # fmt: skip

    assert borrowed(row) == {GPU: 2000}


def test_a_queue_above_its_limit_is_told() -> None:
    row = QueueRow("q", Amounts({GPU: 5000}), {GPU: 3000}, Amounts(), 0.5)
    limit = Ceilings({"q": {GPU: 4000}}, {GPU: 9000})

    drawn = queues_section([(0, row)], limit).markup

    assert "gpu: 5 used, due 3, 2 borrowed, limit 4, 1 above it" in drawn


def test_whose_number_is_which_is_told_for_those_that_only_run() -> None:
    queue = QueueName("q")
    runs = [pod("a", 2000), pod("b", 1000)]
    snapshot = snapshot_of(
        nodes=[Node(N, Amounts({GPU: 4000, "cpu": 8000}))], queues=[Queue(queue)],
        groups=[Group(p.namespace, p.name, queue) for p in runs], pods=runs,
    )  # fmt: skip

    page = written(Report(Plan("", ""), snapshot, Config()))

    told = page[page.index("Groups by their number") : page.index("The same as a table")]
    assert told.index("x/a") < told.index("x/b")
    assert told.count('class="chip"') == 2
