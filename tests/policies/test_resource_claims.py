"""Resource claims: the devices of a node serve all claims that start there, each device one."""

from typing import Any

import pytest

from apportion.models import (
    AllocatedDevice,
    Allocation,
    Claim,
    ClaimSpec,
    DeviceMatch,
    DeviceRequest,
    Node,
    NodeName,
    NodeSelectorTerm,
    PodClaim,
    PodKey,
    PoolDevice,
    Requirement,
    Snapshot,
)
from apportion.policies.testing import accepts, held, refuses

from .builders import Members, after, evicted, node, placed, queue, reasons, replace, rule, snapshot
from .conftest import Solve

RULE = rule("resource-claims")
ROOT = "d.example.com/root"


def device(name: str, *more: str, on: str = "n1", **fields: Any) -> PoolDevice:
    return PoolDevice(f"d.example.com/{on}/{name}", ("gpu", *more), **fields)


def of(*devices: PoolDevice, name: str = "n1", **more: Any) -> Node:
    return node(name, 9, pool_devices=devices, **more)


def ask(count: int = 1, selection: str = "gpu", name: str = "r", **more: Any) -> DeviceRequest:
    return DeviceRequest(name, selection, count, **more)


def every(selection: str = "gpu") -> DeviceRequest:
    return ask(0, selection, all=True)


def own(*requests: DeviceRequest, matches: tuple[DeviceMatch, ...] = ()) -> dict[str, Any]:
    spec = ClaimSpec(tuple((r,) for r in requests), matches)
    return {"claims": (PodClaim("c", "", spec),)}


def either(*alternatives: DeviceRequest) -> dict[str, Any]:
    return {"claims": (PodClaim("c", "", ClaimSpec((alternatives,))),)}


def pods(world: Snapshot, n: int) -> Any:
    return after(world, " ".join(f"g{i}@n1" for i in range(n)))


A, B, C = device("a"), device("b"), device("c", "big")
PARTS = (
    device("whole", counters={"m": 4}),
    device("half-1", "half", counters={"m": 2}),
    device("half-2", "half", counters={"m": 2}),
)
X1, X2, Y1 = (
    device(name, attributes={ROOT: value}) for name, value in (("a", "x"), ("b", "x"), ("c", "y"))
)
SAME, DIFFERENT = (DeviceMatch(ROOT),), (DeviceMatch(ROOT, distinct=True),)


@pytest.mark.parametrize(
    ("about", "there", "spec", "most"),
    [
        ("one each", (A, B), own(ask()), 2),
        ("two each", (A, B, C), own(ask(2)), 1),
        ("more than there are", (A,), own(ask(2)), 0),
        ("of the larger kind", (A, B, C), own(ask(1, "big")), 1),
        ("one of each kind", (A, C), own(ask(name="x"), ask(1, "big", "y")), 1),
        ("all", (A, B), own(every()), 1),
        ("all of one kind", (A, C), own(every("big")), 1),
        ("all where there are none", (A,), own(every("big")), 0),
        ("all, and one is taken", (A, replace(B, taken=True)), own(every()), 0),
        ("one is taken", (A, replace(B, taken=True)), own(ask()), 1),
        ("the first alternative", (A, B), either(ask(2), ask(1)), 2),
        ("another alternative", (A,), either(ask(2), ask(1)), 1),
        ("equal attributes", (X1, X2, Y1), own(ask(2), matches=SAME), 1),
        ("equal attributes, three", (X1, X2, Y1), own(ask(3), matches=SAME), 0),
        ("different attributes", (X1, X2, Y1), own(ask(2), matches=DIFFERENT), 1),
        ("an attribute that is not there", (A, B), own(ask(2), matches=SAME), 0),
        ("looked at by an administrator", (A,), own(ask(1, admin=True)), 4),
        ("looked at, but there is none", (), own(ask(1, admin=True)), 0),
    ],
)
def test_as_many_start_as_devices_serve(
    about: str, there: tuple[PoolDevice, ...], spec: dict[str, Any], most: int
) -> None:
    world = snapshot(of(*there), queue("q"), Members("g", "q", waiting=4, minimum=1, spec=spec))

    for n in range(1, 5):
        assert bool(accepts(RULE, pods(world, n))) is (n <= most), (about, n)
        assert bool(refuses(RULE, pods(world, n), "node n1")) is (n > most), (about, n)


@pytest.mark.parametrize(
    ("selection", "most"), [("half", 2), ("gpu", 2)], ids=["two halves", "two halves again"]
)
def test_parts_of_a_device_share_its_counters(selection: str, most: int) -> None:
    there = of(*PARTS, counters={"m": 4})
    world = snapshot(
        there, queue("q"), Members("g", "q", waiting=3, minimum=1, spec=own(ask(1, selection)))
    )

    assert accepts(RULE, pods(world, most))
    assert refuses(RULE, pods(world, most + 1))


def test_a_whole_device_leaves_nothing_of_its_parts(solve: Solve) -> None:
    whole = replace(PARTS[0], selections=("whole",))
    world = snapshot(
        of(whole, *PARTS[1:], counters={"m": 4}), queue("q"),
        Members("w", "q", waiting=1, priority=1, spec=own(ask(1, "whole"))),
        Members("g", "q", waiting=2, minimum=1, spec=own(ask(1, "half"))),
    )  # fmt: skip

    assert placed(solve(world)) == {"w0": "n1"}


def test_what_parts_hold_of_a_device_is_waited_for(solve: Solve) -> None:
    whole = replace(PARTS[0], selections=("whole",))
    low = Members("low", "q", on=["n1"], spec=own(ask(1, "half")))
    low.pods[0] = replace(low.pods[0], claimed=(PARTS[1].id,))
    world = snapshot(
        of(whole, *PARTS[1:], counters={"m": 4}), queue("q"), low,
        Members("w", "q", waiting=1, priority=1, spec=own(ask(1, "whole"))),
        Members("h", "q", waiting=1, spec=own(ask(1, "half"))),
    )  # fmt: skip

    assert accepts(RULE, after(world, "w0@n1", gone="low0"))
    assert refuses(RULE, after(world, "w0@n1", gone="low0", at_once="w0"), "node n1")
    # The other half is free beside the first.
    assert accepts(RULE, after(world, "h0@n1", gone="low0", at_once="h0"))
    plan = solve(world)
    assert evicted(plan) == {"low0"}
    assert [n.pod for n in plan.nominations] == ["x/w0"]
    assert plan.binds == ()


def test_parts_that_are_free_one_by_one_may_wait_together() -> None:
    quarters = [device(f"q{i}", counters={"m": 1 + (i > 0)}) for i in range(3)]
    low = Members("low", "q", on=["n1"], spec=own(ask()))
    low.pods[0] = replace(low.pods[0], claimed=(quarters[0].id,))
    world = snapshot(
        of(*quarters, counters={"m": 4}), queue("q"), low,
        Members("g", "q", waiting=2, spec=own(ask())),
    )  # fmt: skip

    assert accepts(RULE, after(world, "g0@n1 g1@n1", gone="low0", at_once="g0"))
    assert refuses(
        RULE, after(world, "g0@n1 g1@n1", gone="low0", at_once="g0 g1"),
        "pod x/g1", "before others have left",
    )  # fmt: skip


def test_what_runs_keeps_its_devices() -> None:
    old = Members("old", "q", on=["n1"], spec=own(ask()))
    old.pods[0] = replace(old.pods[0], claimed=(A.id,))
    world = snapshot(of(A, B), queue("q"), old, Members("g", "q", waiting=2, spec=own(ask())))

    assert accepts(RULE, pods(world, 1))
    assert refuses(RULE, pods(world, 2), "node n1", "cannot serve all the claims")


@pytest.mark.parametrize(("priority", "want"), [(1, ({"g0": "n1"}, {"low0"})), (0, ({}, set()))])
def test_devices_of_a_victim_are_taken_over_by_right_only(
    priority: int, want: tuple[dict[str, str], set[str]], solve: Solve
) -> None:
    low = Members("low", "q", on=["n1"], spec=own(ask()))
    low.pods[0] = replace(low.pods[0], claimed=(A.id,))
    world = snapshot(
        of(A), queue("q"), low, Members("g", "q", waiting=1, priority=priority, spec=own(ask()))
    )

    plan = solve(world)

    assert (placed(plan), evicted(plan)) == want
    assert plan.binds == (), "the device is free once the victim is gone"


def test_the_plan_says_which_devices(solve: Solve) -> None:
    world = snapshot(of(A, C), queue("q"), Members("g", "q", waiting=1, spec=own(ask(1, "big"))))

    [given] = solve(world).allocations

    assert given == Allocation(
        PodKey("x/g0"), "c", "", NodeName("n1"),
        (AllocatedDevice("r", "d.example.com", "n1", "c"),),
    )  # fmt: skip


def test_of_alternatives_the_first_that_can_be_is_given(solve: Solve) -> None:
    spec = either(ask(2, name="r/two"), ask(1, name="r/one"))
    world = snapshot(of(A, B), queue("q"), Members("g", "q", waiting=1, spec=spec))

    [given] = solve(world).allocations

    assert [d.request for d in given.devices] == ["r/two", "r/two"]


@pytest.mark.parametrize(
    ("devices", "want"), [(("a",), True), (("b",), True), (("a", "b"), False), (("z",), False)]
)
def test_devices_that_a_plan_names_are_judged(devices: tuple[str, ...], want: bool) -> None:
    world = snapshot(of(A, B), queue("q"), Members("g", "q", waiting=1, spec=own(ask())))
    outcome = pods(world, 1)
    given = tuple(AllocatedDevice("r", "d.example.com", "n1", d) for d in devices)
    outcome.allocations = [Allocation(PodKey("x/g0"), "c", "", NodeName("n1"), given)]

    assert bool(accepts(RULE, outcome)) is want


# Claims of several pods


def sharing(claim: Claim, *nodes: Node, waiting: int = 2, **more: Any) -> Snapshot:
    spec = {"claims": (PodClaim("c", "x/s"),)}
    made = snapshot(*nodes, queue("q"), Members("g", "q", waiting=waiting, spec=spec, **more))
    return replace(made, claims=(claim,))


UNMADE = Claim("x", "s", ClaimSpec(((ask(),),)))


def test_pods_with_one_claim_get_one_device_and_one_node(solve: Solve) -> None:
    world = sharing(UNMADE, of(A), of(device("a", on="n2"), name="n2"))

    plan = solve(world)

    assert len(set(placed(plan).values())) == 1
    assert len(plan.allocations) == 1
    assert accepts(RULE, after(world, "g0@n1 g1@n1"))
    assert refuses(RULE, after(world, "g0@n1 g1@n2"), "pod x/g1", "shares claim x/s with x/g0")


def test_an_allocated_claim_draws_its_pods(solve: Solve) -> None:
    there = NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n2",)),))
    made = replace(UNMADE, allocated=True, devices=("d.example.com/n2/a",), nodes=(there,))
    world = sharing(made, of(A), of(device("a", on="n2"), name="n2"))

    plan = solve(world)

    assert (set(placed(plan).values()), plan.allocations) == ({"n2"}, ())
    assert refuses(RULE, after(world, "g0@n1"), "pod x/g0", "cannot be used on n1")


def test_a_claim_of_others_keeps_its_devices() -> None:
    made = replace(UNMADE, allocated=True, devices=(A.id,))
    world = replace(
        snapshot(of(A, B), queue("q"), Members("g", "q", waiting=2, minimum=1, spec=own(ask()))),
        claims=(made,),
    )

    assert accepts(RULE, pods(world, 1))
    assert refuses(RULE, pods(world, 2))


def test_a_shared_claim_is_free_when_its_last_pod_is_gone(solve: Solve) -> None:
    spec = {"claims": (PodClaim("c", "x/s"),)}
    made = replace(UNMADE, allocated=True, devices=(A.id,))
    world = replace(
        snapshot(
            of(A), queue("q"),
            Members("low", "q", on=["n1", "n1"], minimum=1, spec=spec),
            Members("g", "q", waiting=1, priority=1, spec=own(ask())),
        ),
        claims=(made,),
    )  # fmt: skip

    assert refuses(RULE, after(world, "g0@n1", "low0"))
    assert accepts(RULE, after(world, "g0@n1", "low0 low1"))
    assert evicted(solve(world)) == {"low0", "low1"}


# Devices in parts


def in_parts(name: str, room: int, part: int, **more: Any) -> Node:
    """Return a node with a device of so much room, of which each allocation takes a part."""
    key = f"d.example.com/n1/{name}/room"
    one = device(name, multiple=True, parts={"gpu": {key: part}}, **more)
    return of(one, counters={key: room})


@pytest.mark.parametrize(("n", "judge"), [(2, accepts), (3, accepts), (4, refuses)])
def test_a_device_serves_as_many_as_its_capacity_bears(n: int, judge: Any) -> None:
    some = Members("g", "q", waiting=4, spec=own(ask()))

    assert judge(RULE, pods(snapshot(in_parts("a", 7, 2), queue("q"), some), n))


def test_the_plan_fills_a_device_in_parts(solve: Solve) -> None:
    some = Members("g", "q", waiting=4, spec=own(ask()))

    made = solve(snapshot(in_parts("a", 7, 2), queue("q"), some))

    assert len(placed(made)) == 3
    assert {d.consumed for a in made.allocations for d in a.devices} == {(("room", 2),)}


def test_a_request_may_have_several_parts_of_one_device_unless_they_must_differ() -> None:
    host = in_parts("a", 4, 2, attributes={ROOT: "x"})
    twice = Members("g", "q", waiting=1, spec=own(ask(2)))
    differ = own(ask(2), matches=(DeviceMatch(ROOT, distinct=True),))
    apart = Members("g", "q", waiting=1, spec=differ)

    assert accepts(RULE, pods(snapshot(host, queue("q"), twice), 1))
    assert refuses(RULE, pods(snapshot(host, queue("q"), apart), 1))


def test_what_runs_keeps_its_part_and_a_victim_gives_its_own_back(solve: Solve) -> None:
    has = {"claimed": ("d.example.com/n1/a",), "draws": {"d.example.com/n1/a/room": 2}}
    low = Members("low", "q", on=["n1", "n1"], spec=own(ask()), pod=has)
    high = Members("g", "q", waiting=1, priority=9, spec=own(ask()))
    world = snapshot(in_parts("a", 5, 2), queue("q"), low, high)

    assert refuses(RULE, after(world, "g0@n1"))
    assert accepts(RULE, after(world, "g0@n1", "low0"))
    assert len(evicted(solve(world))) == 1


def test_overdrawn_counters_keep_no_further_part_of_a_device_from_anybody(solve: Solve) -> None:
    """A slice may shrink below what is in use: what is begun stays, and draws nothing more."""
    memory, room = "d.example.com/n1/card/memory", "d.example.com/n1/{}/room"
    parts = {x: {"gpu": {room.format(x): 1}} for x in "ab"}
    a, b = (device(x, multiple=True, parts=parts[x], counters={memory: 2}) for x in "ab")
    c = device("c", counters={memory: 1})
    host = of(a, b, c, counters={memory: 3, room.format("a"): 3, room.format("b"): 1})
    on_a, on_b = (
        {"claimed": (f"d.example.com/n1/{x}",), "draws": {room.format(x): 1}} for x in "ab"
    )
    world = snapshot(
        host, queue("q"),
        Members("low", "q", on=["n1"], spec=own(ask()), pod=on_a),
        Members("mid", "q", on=["n1"], priority=1, spec=own(ask()), pod=on_b),
        Members("g", "q", waiting=3, minimum=1, priority=1, spec=own(ask())),
    )  # fmt: skip

    assert accepts(RULE, pods(world, 2))
    assert refuses(RULE, pods(world, 3))
    made = solve(world)

    assert (len(placed(made)), evicted(made)) == (2, set())
    assert made.solver.status == "optimal"
    assert [(t.name, t.value, t.bound) for t in made.objective if t.bound != t.value] == []


# What cannot be


def test_a_claim_that_nothing_can_serve_holds_its_group(solve: Solve) -> None:
    bad = {"claims": (PodClaim("c", problem="ResourceClaim x/c not found; create it"),)}
    world = snapshot(of(A), queue("q"), Members("g", "q", waiting=1, spec=bad))

    [reason] = reasons(solve(world), "g")

    assert (reason.rule, reason.message) == (
        "resource-claims", "ResourceClaim x/c not found; create it",
    )  # fmt: skip
    assert held(RULE, pods(world, 0), "x/g")


def test_a_device_plug_in_gives_only_what_it_has() -> None:
    gpu = "nvidia.com/gpu"
    claimed = of(A, plugged={gpu: 0})
    spec = {"plugged": {gpu: 1000}}
    world = snapshot(claimed, node("n2", 9), queue("q"), Members("g", "q", waiting=1, spec=spec))

    assert refuses(RULE, after(world, "g0@n1"), "node n1", "0 nvidia.com/gpu")
    assert accepts(RULE, after(world, "g0@n2"))


def test_a_search_without_end_ends(solve: Solve) -> None:
    """Devices that all differ, and a pair that nowhere is equal: nothing is found, quickly."""
    many = [device(f"d{i:02}", attributes={ROOT: str(i)}) for i in range(24)]
    spec = own(ask(2), matches=SAME)
    world = snapshot(of(*many), queue("q"), Members("g", "q", waiting=1, spec=spec))

    assert placed(solve(world)) == {}
