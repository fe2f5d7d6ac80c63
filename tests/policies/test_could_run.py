"""What could run, counted: the same as when pods are placed one by one."""

from random import Random

import pytest

from apportion.models import ClaimSpec, DeviceRequest, GroupKey, PodClaim, PoolDevice, Snapshot
from apportion.policies import could_run
from apportion.policies.could_run import Alike, usable_pods
from apportion.policies.members import Members as GroupMembers

from .builders import (
    Members,
    evicted,
    node,
    placed,
    queue,
    replace,
    scene,
    snapshot,
    spread,
    standing,
)
from .conftest import Solve


def test_equal_groups_of_a_full_and_an_open_queue_are_told_apart() -> None:
    world = snapshot(
        node("n1", 9),
        queue("open"),
        queue("full", capability={"cpu": 3000}),
        Members("a", "open", waiting=1),
        Members("b", "full", waiting=1),
        Members("old", "full", cpu=3, on=["n1"], preemptable=False),
    )
    (spec,) = {p.spec for p in world.pods if p.group in ("x/a", "x/b")}
    alike = [replace(p, spec=spec) if p.spec == spec else p for p in world.pods]

    could = standing(replace(world, pods=tuple(alike))).could_run

    assert (could[GroupKey("x/a")], could[GroupKey("x/b")]) == (1, 0)


def _world(seed: int) -> Snapshot:
    """Return nodes in racks, some without; work in the way; groups that level themselves."""
    rng = Random(seed)
    racks = [None, "r1", "r2", "r3"][: rng.randint(2, 4)]
    nodes = []
    for i in range(rng.randint(2, 6)):
        rack = rng.choice(racks)
        nodes.append(node(f"n{i}", rng.randint(1, 5), labels={"rack": rack} if rack else {}))
    groups = [
        Members(
            f"old{i}", "q", cpu=1, on=[rng.choice(nodes).name],
            preemptable=rng.random() < 0.3,
        )
        for i in range(rng.randint(0, 3))
    ]  # fmt: skip
    for i in range(3):
        size = rng.randint(1, 8)
        more = {"min_domains": rng.randint(1, 3)} if rng.random() < 0.5 else {}
        tie = spread(f"g{i}", rng.randint(1, 2), "rack", **more)
        groups.append(
            Members(
                f"g{i}", "q", cpu=rng.randint(1, 2), waiting=size, minimum=rng.randint(0, size),
                spec={"spread": (tie,)} if rng.random() < 0.7 else {},
            )
        )  # fmt: skip
    most = 1000 * rng.randint(4, 12)
    full = queue("q", capability={"cpu": most}) if rng.random() < 0.5 else queue("q")
    return snapshot(*nodes, full, *groups)


@pytest.mark.parametrize("seed", range(40))
def test_counting_finds_what_placing_one_by_one_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = _world(seed)
    counted = usable_pods(scene(world))

    class OneByOne(Alike):
        def usable(self, m: GroupMembers) -> None:
            del m

    monkeypatch.setattr(could_run, "Alike", OneByOne)
    placed = usable_pods(scene(world))

    assert {g: len(p) for g, p in counted.items()} == {g: len(p) for g, p in placed.items()}


def _overdrawn(wanted: int, *more: Members, room: int = 4, olds: int = 1) -> Snapshot:
    """Return a device that is begun and of which no other counter is left, and who wants parts."""
    card, part, name = "d.example.com/n/memory", "d.example.com/n/a/room", "d.example.com/n/a"
    device = PoolDevice(
        name, ("gpu",), counters={card: 2}, multiple=True, parts={"gpu": {part: 1}}
    )  # fmt: skip
    host = node("n", 9, pool_devices=(device,), counters={card: 1, part: room})
    claims = {"claims": (PodClaim("c", "", ClaimSpec(((DeviceRequest("r", "gpu"),),))),)}
    has = {"claimed": (name,), "draws": {part: 1}}
    return snapshot(
        host, queue("q"),
        *(Members(f"old{i}", "q", on=["n"], spec=claims, pod=has) for i in range(olds)),
        Members("g", "q", waiting=wanted, minimum=wanted, priority=9, spec=claims),
        *more,
    )  # fmt: skip


@pytest.mark.parametrize(("wanted", "could"), [(1, 1), (3, 3), (4, 0)])
def test_who_has_begun_a_device_makes_a_part_possible_where_counters_are_overdrawn(
    wanted: int, could: int, solve: Solve
) -> None:
    """Emptied, the cluster could not begin the device again."""
    world = _overdrawn(wanted)

    assert standing(world).could_run[GroupKey("x/g")] == could
    made = solve(world)
    assert (len(placed(made)), evicted(made)) == (could, set())


@pytest.mark.parametrize(("room", "could"), [(3, 1), (2, 1), (1, 0)])
def test_one_of_those_who_have_begun_a_device_is_enough(
    room: int, could: int, solve: Solve
) -> None:
    """Of two, one has to stay and one to go, where there is room for two parts."""
    world = _overdrawn(1, room=room, olds=min(room, 2))

    assert standing(world).could_run[GroupKey("x/g")] == could
    made = solve(world)
    assert (len(placed(made)), len(evicted(made))) == (could, could if room == 2 else 0)


def test_who_has_begun_a_device_keeps_nobody_who_needs_its_place() -> None:
    world = _overdrawn(1, Members("large", "q", cpu=9, waiting=1))

    assert standing(world).could_run[GroupKey("x/large")] == 1
