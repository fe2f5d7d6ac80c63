"""What could run, counted: the same as when pods are placed one by one."""

from random import Random

import pytest

from apportion.models import GroupKey, Snapshot
from apportion.policies import could_run
from apportion.policies.could_run import Alike, usable_pods
from apportion.policies.members import Members as GroupMembers

from .builders import Members, node, queue, replace, scene, snapshot, spread, standing


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
