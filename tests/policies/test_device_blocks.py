"""Device blocks: allowed numbers, from the fewest blocks; the plan names the devices."""

from random import Random
from typing import Any

import pytest

from apportion.models import (
    Amounts,
    Config,
    DeviceBlocks,
    Node,
    NodeName,
    PodSpec,
    Snapshot,
    snapshot_of,
)
from apportion.policies.device_blocks import DeviceBlocks as Rule
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.testing import accepts, agrees, refuses
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.worlds import GPU, settings, world

from .agreement import Told, decisions
from .builders import Members, after, but, evicted, node, placed, queue, reasons, replace, rule
from .builders import snapshot as of
from .conftest import Solve

NPU = "huawei.com/Ascend910"
BLOCKS = rule("device-blocks")
MODULE = DeviceBlocks(NPU, (4, 4), (1, 2, 4, 8))


def board(name: str = "n1", blocks: DeviceBlocks = MODULE) -> Node:
    devices = sum(blocks.sizes) - len(blocks.absent)
    offered = Amounts({"cpu": 90_000, "pods": 20, blocks.resource: 1000 * devices})
    return replace(node(name, 90), allocatable=offered, blocks=(blocks,))


def group(name: str, npus: int, resource: str = NPU, **more: Any) -> Members:
    """Return a group whose pods ask for so many; ``at`` says which devices running ones hold."""
    at = more.pop("at", ())
    more.setdefault("waiting", 1)
    g = Members(name, "q", **more)
    asks = Amounts({"cpu": 1000, resource: 1000 * npus})
    for i, p in enumerate(g.pods):
        but(g, i, spec=replace(p.spec, requests=asks))
    for i, devices in enumerate(at):
        but(g, i, devices=devices)
    return g


@pytest.mark.parametrize(
    ("about", "asked", "want"),
    [
        ("a half", [4], True),
        ("both halves", [8], True),
        ("two halves", [4, 4], True),
        ("halves in parts", [2, 2, 1, 1, 1, 1], True),
        ("what is left of both halves", [2, 2, 2, 1, 1], True),
        ("more than both", [8, 1], False),
        ("two in each half, and then four", [1, 1, 1, 1, 1, 4], False),
    ],
)
def test_a_request_lies_in_one_half_or_has_both(about: str, asked: list[int], want: bool) -> None:
    groups = [group(f"g{k}x", n) for k, n in enumerate(asked)]

    outcome = after(
        of(board(), queue("q"), *groups), " ".join(f"g{k}x0@n1" for k in range(len(asked)))
    )

    assert bool(accepts(BLOCKS, outcome)) is want, about


@pytest.mark.parametrize(
    ("asked", "says"), [(3, "gives 1, 2, 4 or 8"), (6, "not 6"), (16, "not 16")]
)
def test_other_numbers_are_refused(asked: int, says: str, solve: Solve) -> None:
    w = of(board(), queue("q"), group("g", asked))

    assert refuses(BLOCKS, after(w, "g0@n1"), "node n1", says)
    (why,) = reasons(solve(w), "g")
    assert says in why.message


def test_broken_devices_are_missing_in_their_half() -> None:
    w = of(board(blocks=replace(MODULE, absent=(5,))), queue("q"), group("g", 4, waiting=2))

    assert accepts(BLOCKS, after(w, "g0@n1"))
    assert refuses(BLOCKS, after(w, "g0@n1 g1@n1"))
    eight = of(board(blocks=replace(MODULE, absent=(5,))), queue("q"), group("g", 8))
    assert refuses(BLOCKS, after(eight, "g0@n1"), saying="no smallest set of blocks has 8")


def test_devices_that_run_count_in_their_half() -> None:
    old = group("old", 1, on=["n1", "n1"], waiting=0, at=[(0,), (4,)])
    w = of(board(), queue("q"), old, group("g", 4), group("h", 2))

    assert refuses(BLOCKS, after(w, "g0@n1"))
    assert accepts(BLOCKS, after(w, "h0@n1"))
    assert accepts(BLOCKS, after(w, "g0@n1", "old0"))


def test_reported_devices_say_which_half_is_free() -> None:
    old = group("old", 2, on=["n1"], waiting=0)
    known = replace(MODULE, free=(2, 3, 4, 5, 6, 7))
    w = of(board(blocks=known), queue("q"), old, group("g", 4), group("h", 2))

    assert accepts(BLOCKS, after(w, "g0@n1 h0@n1"))
    unknown = of(board(), queue("q"), old, group("g", 4), group("h", 2))
    assert refuses(BLOCKS, after(unknown, "g0@n1"))
    assert accepts(BLOCKS, after(unknown, "h0@n1"))


def test_the_plan_names_devices_of_one_half(solve: Solve) -> None:
    old = group("old", 1, on=["n1"], waiting=0, at=[(1,)])
    w = of(board(), queue("q"), old, group("a", 4), group("b", 2), group("c", 1))

    made = solve(w)

    given = {str(b.pod): b.devices for b in made.binds}
    assert given["x/a0"] == (4, 5, 6, 7)
    assert sorted((*given["x/b0"], *given["x/c0"])) == [0, 2, 3]
    assert accepts(BLOCKS, Outcome.of_plan(Scene(w, Config(), rules_for(Config())), made))


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ((2, 3, 4, 5), "fewest blocks"),
        ((0, 1, 2), "not as many"),
        ((0, 0, 1, 2), "not as many"),
        ((5, 6, 7, 8), "fewest blocks"),
        ((3, 2, 1, 7), "fewest blocks"),
    ],
)
def test_devices_that_a_plan_names_are_judged(devices: tuple[int, ...], says: str) -> None:
    w = of(board(), queue("q"), group("g", 4))
    scene = Scene(w, Config(), rules_for(Config()))

    outcome = Outcome(scene, {w.pods[0].key: NodeName("n1")}, devices={w.pods[0].key: devices})

    assert refuses(BLOCKS, outcome, "pod x/g0", says)


def test_a_right_victim_clears_a_half(solve: Solve) -> None:
    old = group("old", 2, on=["n1", "n1", "n1"], waiting=0, minimum=1, at=[(0, 1), (4, 5), (6, 7)])
    w = of(board(), queue("q"), old, group("g", 4, priority=1))

    made = solve(w)

    assert evicted(made) == {"old0"}
    assert placed(made) == {"g0": "n1"}


def test_any_resource_may_be_declared(solve: Solve) -> None:
    fpga = "example.com/fpga"
    offered = Amounts({"cpu": 90_000, "pods": 20, fpga: 5000})
    w = of(replace(node("n1", 90), allocatable=offered), queue("q"),
           group("g", 2, fpga, waiting=3, minimum=1), group("h", 3, fpga))  # fmt: skip
    declared = {"device-blocks": {"alignments": {fpga: {"block": 2, "numbers": [1, 2]}}}}

    made = solve(w, options=declared)

    assert sorted(placed(made)) == ["g0", "g1"]
    (why,) = reasons(made, "h")
    assert "gives 1 or 2 example.com/fpga to a pod, not 3" in why.message


@pytest.mark.parametrize(
    "bad", [{"block": 0}, {"numbers": [0]}, {"size": 2}, {"block": True}, {"numbers": "12"}]
)
def test_a_declaration_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"example\.com/fpga needs block"):
        Rule(alignments={"example.com/fpga": bad})


# On random clusters


def blocked(seed: int) -> Snapshot:
    """Return the world of the seed, its nodes with devices in two blocks that pods ask for."""
    base = world(seed, "tiny")
    rng = Random(f"blocks {seed}")
    sizes = {n.name: (rng.randint(1, 3), rng.randint(1, 3)) for n in base.nodes}
    free = {n: [list(range(a)), list(range(a, a + b))] for n, (a, b) in sizes.items()}
    specs: dict[tuple[int, int], PodSpec] = {}
    pods = []
    for p in base.pods:
        count = rng.choice((0, 1, 2, 2, 3))
        devices: tuple[int, ...] = ()
        if p.holds:
            block = next((b for b in free[p.node or NodeName("")] if len(b) >= count), [])
            count = min(count, len(block))
            devices = tuple(block[:count])
            del block[:count]
        key = (id(p.spec), count)
        if key not in specs:
            asks = {r: a for r, a in p.spec.requests.items() if r != GPU}
            specs[key] = replace(p.spec, requests=Amounts({**asks, GPU: 1000 * count}))
        pods.append(replace(p, spec=specs[key], devices=devices))
    nodes = [
        replace(
            n,
            allocatable=Amounts({**n.allocatable, GPU: 1000 * sum(sizes[n.name])}),
            blocks=(DeviceBlocks(GPU, sizes[n.name]),),
        )
        for n in base.nodes
    ]
    return snapshot_of(
        taken_at_s=base.taken_at_s, nodes=nodes, queues=base.queues, groups=base.groups,
        pods=pods, budgets=base.budgets, nominations=base.nominations,
    )  # fmt: skip


def can_be_given(sizes: tuple[int, ...], free: list[int], asked: list[int]) -> bool:
    """Try every block for every request, and both blocks for those that no block could hold."""
    if not asked:
        return True
    first, rest = asked[0], asked[1:]
    if first > max(sizes):
        return first <= sum(free) and can_be_given(sizes, [sum(free) - first, 0], rest)
    for b in range(len(free)):
        if free[b] >= first:
            left = [f - first if i == b else f for i, f in enumerate(free)]
            if can_be_given(sizes, left, rest):
                return True
    return False


def test_both_halves_say_what_trying_every_block_says(process: SolverProcess) -> None:
    said = {True: 0, False: 0}
    for seed in range(150):
        w = blocked(seed)
        if not any(p.spec.requests[GPU] for p in w.pods):
            continue
        config = settings(seed)
        scene = Scene(w, config, rules_for(config))
        board_ = Told(scene, process, BLOCKS)
        told: list[tuple[Outcome, int]] = []
        for outcome in decisions(scene, process, Random(seed)):
            same = board_.as_told(outcome)
            assert same is not None
            told.append((same[0], board_.best(same[1]) is not None))
            want = _all_fit(w, same[0])
            assert want == (not list(BLOCKS.check(same[0]))), (seed, same[0].places)
            said[want] += 1
        assert agrees(BLOCKS, told), seed
        made = plan(w, replace(config, deterministic=True), process=process)
        assert made.solver.engine == "exact", made.solver.detail
        assert _all_fit(w, Outcome.of_plan(scene, made))
    assert min(said.values()) > 10, said


def _all_fit(w: Snapshot, outcome: Outcome) -> bool:
    for i, n in enumerate(w.nodes):
        (blocks,) = n.blocks
        free = list(blocks.sizes)
        for p in w.pods:
            gone = p.key in outcome.evicted or p.state == "terminating"
            if p.node == n.name and p.holds and not gone:
                for d in p.devices:
                    b = blocks.block_of(d)
                    assert b is not None
                    free[b] -= 1
        asked = [p.spec.requests[GPU] // 1000 for p, j in outcome.new_pods if j == i]
        if not can_be_given(blocks.sizes, free, sorted(filter(None, asked))):
            return False
    return True
