"""NUMA: what a strict kubelet would refuse is refused, and said in words."""

from typing import Any

import pytest

from apportion.models import (
    AlignedAsk,
    Amounts,
    Cell,
    CellShare,
    Node,
    NodeName,
    Numa,
    PodState,
    Snapshot,
)  # fmt: skip
from apportion.policies.testing import accepts, refuses

from .builders import (
    GPU,
    Members,
    after,
    but,
    cores,
    evicted,
    foreign,
    goal,
    node,
    placed,
    queue,
    reasons,
    replace,
    rule,
    snapshot,
)  # fmt: skip
from .conftest import Solve

NUMA = rule("numa")
SINGLE, RESTRICTED = "single-numa-node", "restricted"


def celled(
    *cpus: int, policy: str = SINGLE, scope: str = "container", free: tuple[int, ...] = ()
) -> Node:
    """Return node n1 with so many cores in each cell, and perhaps what was reported as free."""
    reported = [None if not free else Amounts(cores(f)) for f in free or cpus]
    cells = tuple(
        Cell(i, Amounts(cores(c)), free=f)
        for i, (c, f) in enumerate(zip(cpus, reported, strict=True))
    )
    numa = Numa(policy, scope, cells)  # type: ignore[arg-type]  # one of the words
    return replace(node("n1", sum(cpus)), numa=numa)


def asks(*cpus: int, init: int = 0) -> dict[str, Any]:
    """Return what a pod of containers with so many cores says of cells."""
    first = (AlignedAsk(Amounts(cores(init)), init=True),) if init else ()
    return {"aligned": (*first, *(AlignedAsk(Amounts(cores(c))) for c in cpus))}


def group(name: str, *cpus: int, **more: Any) -> Members:
    more.setdefault("waiting", 1)
    return Members(name, "q", cpu=sum(cpus), spec=asks(*cpus, init=more.pop("init", 0)), **more)


def world(at: Node, *groups: Members) -> Snapshot:
    return snapshot(at, queue("q"), *groups)


@pytest.mark.parametrize(
    ("about", "at", "pods", "want"),
    [
        ("as much as a cell has", celled(4, 4), [(4,)], True),
        ("more than any cell has", celled(4, 4), [(5,)], False),
        ("distributed", celled(4, 4), [(3,), (3,), (1,), (1,)], True),
        ("not to be distributed", celled(4, 4), [(3,), (3,), (2,)], False),
        ("two containers of a cell each", celled(4, 4), [(4, 4)], True),
        ("two containers as one", celled(4, 4, scope="pod"), [(4, 4)], False),
        ("two cells where one is too small", celled(4, 4, policy=RESTRICTED), [(6,)], True),
        ("beside what fits into the rest", celled(4, 4, policy=RESTRICTED), [(6,), (2,)], True),
        ("no two cells where one would do", celled(3, 1, 3, policy=RESTRICTED), [(2,), (2,), (2,)],
         False),
        ("anything goes", celled(4, 4, policy="best-effort"), [(5,), (3,)], True),
        ("nothing is asked of cells", celled(4, 4), [(), ()], True),
    ],
)  # fmt: skip
def test_pods_start_where_their_kubelet_admits_them(
    about: str, at: Node, pods: list[tuple[int, ...]], want: bool
) -> None:
    groups = [group(f"g{k}x", *cpus) for k, cpus in enumerate(pods)]

    outcome = after(world(at, *groups), " ".join(f"g{k}x0@n1" for k, _ in enumerate(pods)))

    assert bool(accepts(NUMA, outcome)) is want, about


def test_each_device_counts_in_the_cell_of_its_cores() -> None:
    """Two cores are in either cell, and both devices in cell 1."""
    cells = (Cell(0, Amounts(cores(4))), Cell(1, Amounts(cores(2, 2))))
    at = replace(node("n1", 6, 2), numa=Numa("single-numa-node", "container", cells))
    both = {"aligned": (AlignedAsk(Amounts(cores(2, 1))),)}
    w = world(at, Members("g", "q", cpu=2, gpus=1, waiting=2, spec=both))

    assert accepts(NUMA, after(w, "g0@n1"))
    assert refuses(NUMA, after(w, "g0@n1 g1@n1"), "node n1", "in the end")


def test_where_running_pods_lie_is_deduced() -> None:
    """Three of four cores each: they cannot be in one cell, whatever was reported."""
    old = group("old", 3, on=["n1", "n1"], waiting=0)

    stale = world(celled(4, 4, free=(4, 4)), old, group("g", 2), group("h", 1))

    assert refuses(NUMA, after(stale, "g0@n1"))
    assert accepts(NUMA, after(stale, "h0@n1"))


def test_reported_figures_count_where_they_agree_with_what_runs() -> None:
    old = group("old", 2, on=["n1", "n1"], waiting=0)

    assert accepts(NUMA, after(world(celled(4, 4, free=(0, 4)), old, group("g", 4)), "g0@n1"))
    assert refuses(NUMA, after(world(celled(4, 4, free=(2, 2)), old, group("g", 4)), "g0@n1"))
    assert refuses(NUMA, after(world(celled(4, 4, free=(1, 4)), old, group("g", 4)), "g0@n1"))


def test_one_that_comes_alone_is_admitted_wherever_the_others_lie() -> None:
    """One cell is free; which one, nobody knows, and two pods might take the wrong one."""
    w = world(celled(4, 4), group("old", 3, on=["n1"], waiting=0), group("g", 4), group("h", 1))

    assert accepts(NUMA, after(w, "g0@n1"))
    assert accepts(NUMA, after(w, "h0@n1"))
    assert refuses(NUMA, after(w, "g0@n1 h0@n1"))


def lying(g: Members, *cells: int) -> Members:
    for i, cell in enumerate(cells):
        amounts = g.pods[i].spec.aligned[0].amounts
        but(g, i, cells=(CellShare(cell, amounts),))
    return g


def test_where_a_pod_is_said_to_lie_counts() -> None:
    old = lying(group("old", 3, on=["n1"], waiting=0), 1)
    w = world(celled(4, 4), old, group("g", 4), group("h", 1))

    assert accepts(NUMA, after(w, "g0@n1 h0@n1"))


def test_a_victim_frees_the_cell_in_which_it_lies() -> None:
    old = lying(group("old", 2, on=["n1", "n1"], waiting=0), 0, 1)
    w = world(celled(3, 4), old, group("g", 4), group("h", 3))

    assert refuses(NUMA, after(w, "g0@n1", "old0"))
    assert accepts(NUMA, after(w, "g0@n1", "old1"))
    assert accepts(NUMA, after(w, "h0@n1", "old0"))


def test_victims_of_whom_nothing_is_known_free_cells_together() -> None:
    w = world(celled(4, 4), group("old", 2, on=["n1", "n1"], waiting=0), group("g", 4, waiting=2))

    assert refuses(NUMA, after(w, "g0@n1 g1@n1", "old0"))
    assert accepts(NUMA, after(w, "g0@n1 g1@n1", "old0 old1"))


def test_who_starts_at_once_finds_cells_beside_those_who_leave() -> None:
    ends = foreign("f", 3, "n1", PodState.TERMINATING, **asks(3))
    w = snapshot(celled(4, 4), queue("q"), ends, group("g", 4, waiting=2))

    assert accepts(NUMA, after(w, "g0@n1 g1@n1"))
    assert accepts(NUMA, after(w, "g0@n1", at_once="g0"))
    assert refuses(NUMA, after(w, "g0@n1 g1@n1", at_once="g0 g1"), "node n1", "at once")


def test_a_place_that_another_scheduler_has_promised_may_be_in_any_cell() -> None:
    theirs = foreign("f", 2, "n1", **asks(2))
    theirs = replace(theirs, state=PodState.PENDING, node=None, nominated=NodeName("n1"))
    w = snapshot(celled(4, 4), queue("q"), theirs, group("g", 3), group("h", 2, waiting=2))

    assert refuses(NUMA, after(w, "g0@n1"))
    assert accepts(NUMA, after(w, "h0@n1 h1@n1"))


@pytest.mark.parametrize(
    ("about", "at", "spec", "says"),
    [
        ("single", celled(4, 2), asks(5), "no NUMA cell has 5 cpu"),
        (
            "restricted",
            celled(4, 2, policy=RESTRICTED),
            asks(7),
            "no smallest set of NUMA cells has",
        ),
        ("together", celled(4, 4), asks(4, 3, 2), "no NUMA cells for all of its containers"),
        ("init", celled(2, 4), asks(3, init=1), "may start an init container"),
        ("no cells", replace(node("n1", 8), numa=Numa("restricted")), asks(1), "publishes no NUMA"),
        ("policy", celled(4, 4), {"numa_policy": RESTRICTED}, "no topology manager of policy"),
        ("policy, nothing known", node("n1", 8), {"numa_policy": SINGLE}, "no topology manager"),
        ("refused", node("n1", 8), {"refused_by": ("n1",)}, "refused pods of the same owner"),
    ],
)
def test_it_is_said_why_a_node_takes_no_such_pod(
    about: str, at: Node, spec: dict[str, Any], says: str, solve: Solve
) -> None:
    w = world(at, Members("g", "q", cpu=1, waiting=1, spec=spec))

    assert refuses(NUMA, after(w, "g0@n1"), "node n1", says), about
    (why,) = reasons(solve(w), "g")
    assert says in why.message


def test_an_init_container_that_asks_for_as_much_binds_nobody() -> None:
    w = world(celled(4, 4), group("g", 2, 1, init=3))

    assert accepts(NUMA, after(w, "g0@n1"))


def test_an_init_container_leads_the_others_to_the_lowest_cell_that_it_fits() -> None:
    """What runs may lie in either cell, so that the second pod is not led to a full one."""
    runs = Members("r", "q", cpu=3, on=("n1",), spec=asks(3))
    alone = world(celled(4, 4), group("g", 3, 1, waiting=2, minimum=1, init=1))
    beside = world(celled(4, 4), runs, group("g", 3, 1, init=1))

    assert accepts(NUMA, after(alone, "g0@n1"))
    assert refuses(NUMA, after(alone, "g0@n1 g1@n1"))
    assert refuses(NUMA, after(beside, "g0@n1"))


def test_the_plan_fills_cells(solve: Solve) -> None:
    w = world(
        celled(4, 4), group("a", 3, waiting=3, minimum=1), group("b", 1, waiting=3, minimum=1)
    )

    made = solve(w)

    assert made.solver.engine == "exact"
    assert sorted(placed(made)) == ["a0", "a1", "b0", "b1"]


def test_binds_are_listed_in_an_order_that_the_kubelet_admits(solve: Solve) -> None:
    """The kubelet puts one core into cell 0 first, where four could no longer be."""
    w = world(celled(4, 6), group("a", 1), group("b", 4), group("c", 5))

    made = solve(w)

    assert len(made.binds) == 3
    order = [str(b.pod) for b in made.binds]
    assert order.index("x/b0") < order.index("x/a0")


def test_who_lies_in_the_right_cell_leaves(solve: Solve) -> None:
    old = lying(group("old", 2, on=["n1", "n1"], waiting=0, minimum=1), 1, 0)
    w = world(celled(3, 4), old, group("g", 4, priority=1))

    made = solve(w)

    assert evicted(made) == {"old0"}
    assert made.nominations


def test_turned_off_it_says_nothing(solve: Solve) -> None:
    made = solve(world(celled(4, 4), group("g", 5)), off=("numa",))

    assert placed(made) == {"g0": "n1"}


def test_devices_are_named_in_the_reason(solve: Solve) -> None:
    cells = tuple(Cell(i, Amounts({GPU: 2000})) for i in range(2))
    at = replace(node("n1", 8, 4), numa=Numa("single-numa-node", "container", cells))
    spec = {"aligned": (AlignedAsk(Amounts({GPU: 3000})),)}

    (why,) = reasons(solve(world(at, Members("g", "q", gpus=3, waiting=1, spec=spec))), "g")

    assert f"no NUMA cell has 3 {GPU}" in why.message


@pytest.mark.parametrize("policy", ["best-effort", RESTRICTED])
def test_fewer_cells_are_preferred(policy: str, solve: Solve) -> None:
    small, large = celled(2, 2, 2, 2, policy=policy), celled(4, 4, policy=policy)
    near = replace(large, name=NodeName("n2"))
    w = snapshot(small, near, queue("q"), group("g", 4), group("h", 2, on=["n1"], waiting=0))

    assert placed(solve(w)) == {"g0": "n2"}
    assert goal("wishes").measure(after(w, "g0@n1")) == -10
    assert goal("wishes").measure(after(w, "g0@n2")) == 0
