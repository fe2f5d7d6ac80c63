"""Shares and whole devices on nodes: what fits, what the plan names, what both halves say."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.models import (
    Amounts,
    Bind,
    Config,
    Device,
    DeviceShare,
    GroupKey,
    NodeName,
    Plan,
    PodKey,
    PodSpec,
    PodState,
    Snapshot,
)
from apportion.models import Node as NodeValue
from apportion.policies.capacity import Capacity
from apportion.policies.device_packing import Devices as State
from apportion.policies.devices import Devices
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.testing import accepts, agrees, refuses
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.devices import can_be_on
from oracle.envy import objections
from oracle.legality import violations
from oracle.search import Oversize, optimum, worth
from oracle.share_worlds import crowded, sharing
from oracle.worlds import settings
from properties.solved import solved

from .agreement import Told
from .builders import GPU, Members, after, but, node, queue, reasons, snapshot
from .conftest import Solve

RULE = Devices()


def cards(name: str, n: int = 2, mib: int = 100, **more: Any) -> NodeValue:
    """Return a node of so many devices."""
    fields = {"devices": (Device(mib),) * n, "hands_out": ("reservation", "whole"), **more}
    return replace(node(name, 40, n, pods=90), **fields)


def share(name: str, percent: int = 0, mib: int = 0, each: int = 1, **more: Any) -> Members:
    """Return a group of pods that ask for a share: a percentage, or MiB."""
    of = DeviceShare("reservation", each, mib, percent * 10_000, **more.pop("share", {}))
    made = Members(name, "q", cpu=1, **more)
    charge = {"cpu": 1000, GPU: each * max(1, percent * 10 or mib * 10)}
    spec = PodSpec(Amounts(charge), share=of)
    return but(made, *range(len(made.pods)), spec=spec)


def at(group: Members, *devices: int) -> Members:
    """Let every running pod of the group hold these devices."""
    return but(group, *range(len(group.pods)), devices=devices)


def world(*parts: Any) -> Snapshot:
    return snapshot(queue("q"), *parts)


# What the rule says


def test_shares_up_to_a_whole_device_fit() -> None:
    w = world(cards("n", 1), share("a", 60, waiting=1), share("b", 40, waiting=1))

    assert accepts(RULE, after(w, "a0@n b0@n"))


def test_a_millionth_more_does_not_fit() -> None:
    tight = share("b", 40, waiting=1)
    spec = replace(tight.pods[0].spec, share=DeviceShare(memory_ppm=400_001))
    w = world(cards("n", 1), share("a", 60, waiting=1), but(tight, 0, spec=spec))

    assert refuses(RULE, after(w, "a0@n b0@n"), "node n", "do not hold the shares")


def test_room_in_sum_is_not_room_on_a_device() -> None:
    w = world(cards("n", 2), share("a", 60, waiting=3))

    assert accepts(RULE, after(w, "a0@n a1@n"))
    assert refuses(RULE, after(w, "a0@n a1@n a2@n"))


def test_a_running_share_keeps_its_device() -> None:
    here = [at(share(f"r{i}", 60, on=["n"]), i) for i in (0, 1)]
    loose = [share(f"r{i}", 40, on=["n"]) for i in (0, 1)]
    fixed = [at(share(f"r{i}", 40, on=["n"]), i) for i in (0, 1)]
    new = share("a", 80, waiting=1)

    assert refuses(RULE, after(world(cards("n", 2), *here, new), "a0@n"))
    assert refuses(RULE, after(world(cards("n", 2), *fixed, new), "a0@n"))
    assert accepts(RULE, after(world(cards("n", 2), *loose, new), "a0@n"))


def test_whole_devices_are_those_without_shares() -> None:
    whole = Members("w", "q", gpus=1, waiting=1)
    one = at(share("a", 30, on=["n"]), 0)
    two = at(share("b", 30, on=["n"]), 1)

    assert accepts(RULE, after(world(cards("n", 2), one, whole), "w0@n"))
    assert refuses(RULE, after(world(cards("n", 2), one, two, whole), "w0@n"))


def test_a_share_on_two_devices_needs_two() -> None:
    pair = share("p", 50, each=2, waiting=3)

    assert accepts(RULE, after(world(cards("n", 3), pair), "p0@n p1@n p2@n"))
    assert refuses(
        RULE, after(world(cards("n", 3), pair, share("x", 1, waiting=1)), "p0@n p1@n p2@n x0@n")
    )
    assert refuses(RULE, after(world(cards("n", 1), pair), "p0@n"), "node n", "1 of its devices")


def test_a_broken_device_is_no_room(solve: Solve) -> None:
    """Also where the node offers it still, and where the share on it is all that runs."""
    broken = cards("n", 2, devices=(Device(100), Device(100, healthy=False)))
    there = at(share("r", 40, on=["n"]), 1)
    one, whole = share("a", 100, waiting=1), Members("w", "q", gpus=1, minimum=1, waiting=2)

    assert accepts(RULE, after(world(broken, there, one), "a0@n"))
    assert refuses(RULE, after(world(broken, whole), "w0@n w1@n"))
    assert refuses(RULE, after(world(broken, there, one, whole), "a0@n w0@n"))
    for w, starts in ((world(broken, there, one), 1), (world(broken, whole), 1)):
        made = solve(w)
        assert (made.solver.engine, len(made.binds)) == ("exact", starts)


def test_cores_and_slots_are_bounded_too() -> None:
    def hami(name: str, cores: int, **more: Any) -> Members:
        made = share(name, 10, **more)
        of = DeviceShare("hami", 1, memory_ppm=100_000, cores_percent=cores)
        return but(made, 0, spec=replace(made.pods[0].spec, share=of))

    n = cards("n", 1, hands_out=("hami",), devices=(Device(100, slots=2),))
    a, b, c = (hami(x, 50, waiting=1) for x in "abc")
    assert accepts(RULE, after(world(n, a, b), "a0@n b0@n"))
    wide = replace(n, devices=(Device(100),))
    assert refuses(RULE, after(world(wide, a, b, c), "a0@n b0@n c0@n"))
    little = [hami(f"z{i}", 10, waiting=1) for i in range(3)]
    assert refuses(RULE, after(world(n, *little), "z00@n z10@n z20@n"))
    assert accepts(RULE, after(world(wide, *little), "z00@n z10@n z20@n"))
    none = hami("none", 0, waiting=1)
    assert refuses(RULE, after(world(wide, a, b, none), "a0@n b0@n none0@n"))
    alone = hami("alone", 100, waiting=1)
    assert refuses(RULE, after(world(wide, alone, none), "alone0@n none0@n"))


def test_what_the_plan_names_is_judged() -> None:
    w = world(cards("n", 2), at(share("r", 60, on=["n"]), 0), share("a", 50, waiting=1))

    def named(*devices: int) -> Outcome:
        bind = Bind(PodKey("x/a0"), GroupKey("x/a"), NodeName("n"), devices)
        scene = Scene(w, Config(), rules_for(Config()))
        return Outcome.of_plan(scene, Plan("", "", binds=(bind,)))

    assert accepts(RULE, named(1))
    assert accepts(RULE, named())
    assert refuses(RULE, named(0), "pod x/a0", "device 0, which has too little left")
    assert refuses(RULE, named(7), "pod x/a0", "device 7, which is not there")
    assert refuses(RULE, named(0, 1), "pod x/a0", "asks for 1 distinct devices")


def test_what_leaves_still_holds_its_device() -> None:
    gone = at(but(share("r", 60, on=["n"]), 0, state=PodState.TERMINATING), 0)
    w = world(cards("n", 1), gone, share("a", 50, waiting=1))

    assert accepts(RULE, after(w, "a0@n"))
    assert refuses(RULE, after(w, "a0@n", at_once="a0"), "node n", "at once")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hands_out": ("whole",)}, "no device that is shared by reservation"),
        ({"hands_out": ("whole",), "labels": {"nvidia.com/mig.strategy": "mixed"}}, "MIG slices"),
        ({"hands_out": ("whole",), "labels": {"nvidia.com/gpu.replicas": "4"}}, "replicated"),
        ({"devices": (Device(0),)}, "does not say how much memory its devices have"),
        ({"devices": (Device(40),)}, "its devices have 40 MiB at most, 50 are asked for"),
        (
            {"devices": (Device(50, healthy=False),)},
            "0 of its devices could take the share, 1 are asked for",
        ),
    ],
)
def test_a_node_says_why_it_takes_no_share(changes: dict[str, Any], said: str) -> None:
    w = world(cards("n", 1, **changes), share("a", mib=50, waiting=1))

    assert refuses(RULE, after(w, "a0@n"), "node n", said)


def test_a_share_that_is_choosy_says_what_it_wants() -> None:
    wants = DeviceShare(memory_ppm=1, models=("h100",), uuids=("GPU-1", "GPU-2"))
    bars = DeviceShare(memory_ppm=1, not_models=("t4",))
    at_t4 = cards("n", 1, devices=(Device(40, model="Tesla T4"),))

    for asked, said in (
        (wants, "it wants model h100 or device GPU-1 or device GPU-2"),
        (bars, "it bars model t4"),
    ):
        w = world(at_t4, Members("a", "q", waiting=1, spec={"share": asked}))
        assert refuses(RULE, after(w, "a0@n"), "node n", said)


def test_a_way_that_is_not_allowed_is_refused() -> None:
    w = world(cards("n", 1), share("a", 50, waiting=1))

    assert refuses(Devices(handover=("hami",)), after(w, "a0@n"), saying="nobody may hand out")
    with pytest.raises(ValueError, match="'magic' is none of"):
        Devices(handover=("magic",))


def test_whole_devices_only_where_they_are_handed_out() -> None:
    w = world(cards("n", 1, hands_out=("volcano",)), Members("w", "q", gpus=1, waiting=1))

    assert refuses(RULE, after(w, "w0@n"), "node n", "hands out shares of its devices only")


# What a plan does


def test_the_plan_names_devices(solve: Solve) -> None:
    w = world(
        cards("n", 3), at(share("r", 50, on=["n"]), 1), share("a", 50, waiting=1),
        Members("w", "q", gpus=2, waiting=1),
    )  # fmt: skip

    made = {b.pod: (b.devices, b.advisory) for b in solve(w).binds}

    assert made == {"x/a0": ((1,), False), "x/w0": ((0, 2), True)}


def test_more_fit_on_larger_devices_than_they_are_charged(solve: Solve) -> None:
    """40 of 100 MiB are charged; on the device of 200 MiB five such shares have room."""
    w = world(
        cards("large", 1, 200), cards("small", 1, 100), share("a", mib=40, waiting=9, minimum=1)
    )

    made = solve(w)

    assert len(made.binds) == 7
    assert sum(b.node == "large" for b in made.binds) == 5
    assert made.queues[0].allocated[GPU] == 2800


def test_what_waits_says_that_single_devices_are_too_full(solve: Solve) -> None:
    w = world(
        cards("n", 2), at(share("r", 60, on=["n"]), 0), at(share("s", 60, on=["n"]), 1),
        share("a", 50, waiting=1),
    )  # fmt: skip

    (reason,) = reasons(solve(w), "a")

    assert "1 of 1 nodes: devices: too little left on single devices" in reason.message


def test_victims_leave_the_device_that_is_needed(solve: Solve) -> None:
    low = [at(share(f"l{i}", 40, on=["n"], priority=0), i % 2) for i in range(4)]
    w = world(cards("n", 2), *low, share("a", 60, waiting=1, priority=5))

    made = solve(w)

    assert len(made.evictions) == 1
    assert [n.devices for n in made.nominations] == [(int(made.evictions[0].pod[3]) % 2,)]


def test_pods_that_all_but_fill_devices_are_spread_over_them(solve: Solve) -> None:
    sizes = (70, 60, 55, 45, 40, 30, 50, 50)
    w = world(cards("n", 4), *(share(f"s{i}", x, waiting=1) for i, x in enumerate(sizes)))

    made = solve(w)

    assert len(made.binds) == len(sizes)
    load = dict.fromkeys(range(4), 0)
    for b in made.binds:
        load[b.devices[0]] += sizes[int(b.pod[3])]
    assert set(load.values()) == {100}


def test_eight_devices_with_twenty_sizes_stay_easy(solve: Solve) -> None:
    sizes = [5 + 3 * i for i in range(20)]  # 670 in sum
    w = world(
        *(cards(f"n{k}", 8) for k in range(2)),
        *(share(f"s{i}-{k}-", x, waiting=1) for i, x in enumerate(sizes) for k in range(2)),
    )

    made = solve(w)

    assert made.solver.engine == "exact"
    assert len(made.binds) == 40


# Both halves, and the brute force


def test_packing_finds_what_trying_all_finds() -> None:
    rng = Random(7)
    counts = [0, 0]
    for _ in range(400):
        n = rng.choice((1, 2, 2, 3, 3))
        of = tuple(Device(100, rng.choice((0, 0, 2))) for _ in range(n))
        here = cards("n", n, devices=of)
        pods = []
        for k in range(rng.randint(1, 7)):
            if rng.random() < 0.15:
                made = Members(f"w{k}", "q", gpus=1, waiting=1)
            else:
                each = 2 if rng.random() < 0.15 else 1
                made = share(f"s{k}", rng.choice((20, 30, 40, 50, 60, 70)), each=each, waiting=1)
                if rng.random() < 0.3 and each <= n:
                    made = at(made, *sorted(rng.sample(range(n), each)))
            pods += made.pods
        state = State.of(here, pods)
        overfull = any(min(r) < 0 for r in state.room)
        if not overfull:
            counts[state.holds()] += 1
            assert state.holds() == can_be_on(here, pods), pods
            if state.holds():
                fewest = state.find(fewest=True)
                assert fewest is not None
    assert min(counts) > 50


def tried(scene: Scene, rng: Random) -> Iterator[Outcome]:
    """Give decisions at random, most of which put too much on some device."""
    snap = scene.snapshot
    names = [n.name for n in snap.nodes]
    for _ in range(25):
        starts = {p.key: rng.choice(names) for p in snap.pods if not p.holds and rng.random() < 0.5}
        gone = {p.key for p in snap.pods if p.holds and rng.random() < 0.3} if starts else set()
        yield Outcome(scene, starts, gone, bound=())


def told(process: SolverProcess) -> Iterator[tuple[Outcome, bool]]:
    for n in range(100):
        config = Config()
        scene = Scene(crowded(n), config, rules_for(config))
        yield from Told(scene, process, RULE).distinct(tried(scene, Random(n)), is_for_devices)


def is_for_devices(outcome: Outcome) -> bool:
    """Say whether the decision is not one of whole devices alone, which are left to capacity."""
    shares = any(p.spec.share is not None for p, _ in outcome.new_pods)
    return shares or bool(accepts(Capacity(), outcome))


def test_rows_bear_what_the_rule_lets_pass(process: SolverProcess) -> None:
    result = agrees(RULE, told(process))

    assert result
    assert result.accepted > 150
    assert result.refused > 100


@pytest.mark.parametrize("part", range(4))
def test_small_clusters_with_shares_are_solved_as_well_as_can_be(
    process: SolverProcess, part: int
) -> None:
    compared = 0
    for seed in range(part, 200, 4):
        w, config = sharing(seed, "tiny"), replace(settings(seed), deterministic=True)
        made = solved(w, config, process)
        gone = [e.pod for e in made.plan.evictions]
        assert violations(w, config, made.plan.places, gone) == [], seed
        assert made.plan.solver.engine == "exact", (seed, made.plan.solver.detail)
        try:
            assert list(objections(w, config, made.plan.places, gone)) == [], seed
            levels = made.worth_by_level()
            best = optimum(w, config, levels)
        except Oversize:
            continue
        assert best is not None
        reached = worth(w, config, levels, made.found.places, made.found.evicted)
        assert tuple(reached) == tuple(best[0]), seed
        compared += 1
    assert compared > 30


def test_clusters_without_shares_have_no_rows_of_devices() -> None:
    w = world(node("n", 4, 2), Members("w", "q", gpus=1, waiting=2))

    made = plan(w, Config(deterministic=True))

    assert [b.devices for b in made.binds] == [(), ()]
