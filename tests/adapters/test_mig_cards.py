"""Cards in MIG mode under Volcano's vGPU plug-in: each share gets an instance that bears it."""

from typing import Any

import pytest

from apportion.models import Config
from apportion.models.mig import MODELS, cuts, even_cuts
from apportion.models.snapshot import Snapshot
from apportion.solver.entry import plan
from kubernetes_objects import node, pod, snapshot

REGISTER = "volcano.sh/node-vgpu-register"
A100 = "NVIDIA-A100-SXM4-80GB"


def cards(*ids: str, model: str = A100, mib: int = 81920) -> dict[str, Any]:
    rows = ":".join(f"{i},10,{mib},{model},true,mig" for i in ids) + ":"
    offered = {"vgpu-number": 10 * len(ids), "vgpu-memory": mib * len(ids), "vgpu-cores": 400}
    volcano = {f"volcano.sh/{k}": str(v) for k, v in offered.items()}
    made = node("n", cpu="64", pods="110", **volcano)
    made["metadata"]["annotations"] = {REGISTER: rows}
    return made


def wants(name: str, mib: int, age: int = 0, **more: Any) -> dict[str, Any]:
    made = pod(
        name, requests={"volcano.sh/vgpu-memory": str(mib)},
        annotations={"volcano.sh/vgpu-mode": "mig"}, **more,
    )  # fmt: skip
    made["metadata"]["creationTimestamp"] = f"2026-01-05T08:{age:02d}:00Z"
    return made


def instances(world: Snapshot) -> list[int]:
    return [d.memory_mib for d in world.nodes[0].devices]


def started(world: Snapshot) -> dict[str, int]:
    """Return the memory of the instance that each pod gets."""
    made = plan(world, Config(deterministic=True))
    there = instances(world)
    return {b.pod.split("/")[1]: there[b.devices[0]] for b in made.binds}


def test_the_geometries_of_plug_ins_can_be_cut() -> None:
    for model in MODELS:
        for profiles in even_cuts(model):
            assert tuple(sorted(profiles)) in cuts(model), (model.name, profiles)


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ([5000] * 3, [10240] * 7),
        ([15000], [20480, 20480, 20480, 10240]),
        ([15000, 5000], [20480, 20480, 20480, 10240]),
        ([30000, 30000], [40960, 40960]),
        ([60000], [81920]),
        ([], [81920]),
    ],
)
def test_an_idle_card_is_cut_for_what_waits(asked: list[int], there: list[int]) -> None:
    other = pod("x", requests={"volcano.sh/vgpu-memory": "100"})
    world = snapshot(cards("GPU-a"), other, *(wants(f"p{i}", m) for i, m in enumerate(asked)))
    assert instances(world) == there


def test_each_share_gets_the_smallest_instance_and_one_alone() -> None:
    world = snapshot(
        cards("GPU-a", "GPU-b"),
        *(wants(f"p{i}", m, age=i) for i, m in enumerate((30_000, 15_000, 5_000, 18_000))),
    )
    assert started(world) == {"p0": 40960, "p1": 20480, "p2": 10240, "p3": 20480}


def test_more_shares_than_instances_wait() -> None:
    world = snapshot(cards("GPU-a"), *(wants(f"p{i}", 30_000, age=i) for i in range(3)))
    # By memory alone, 30,000 MiB go twice into the card and a bit; so do its halves.
    assert set(started(world)) == {"p0", "p1"}


def test_a_card_in_use_keeps_its_geometry() -> None:
    running = wants("r", 5_000, nodeName="n")
    running["metadata"]["annotations"]["volcano.sh/vgpu-ids-new"] = f"GPU-a[1-3],{A100},10240,0:;"
    world = snapshot(cards("GPU-a"), running, wants("p", 5_000), wants("q", 30_000))
    assert instances(world) == [20480, 20480, 20480, 10240]
    held = next(p for p in world.pods if p.name == "r")
    assert held.devices == (3,)
    # The small instance is taken: the next larger one has to do. There is no half.
    assert started(world) == {"p": 20480}


def several(name: str, mib: int, *numbers: int) -> dict[str, Any]:
    """Return a pod with so many containers, each of which wants so many instances."""
    made = wants(name, mib)
    (first,) = made["spec"]["containers"]
    most = [{"volcano.sh/vgpu-memory": str(mib), "volcano.sh/vgpu-number": str(n)} for n in numbers]
    made["spec"]["containers"] = [
        {**first, "name": f"c{k}", "resources": {"limits": m}} for k, m in enumerate(most)
    ]
    return made


def held_devices(world: Snapshot) -> dict[str, list[int]]:
    """Return the cards of the instances that each pod gets."""
    made = plan(world, Config(deterministic=True))
    there = world.nodes[0].devices
    return {b.pod.split("/")[1]: [there[d].card for d in b.devices] for b in made.binds}


def test_a_container_gets_each_of_its_instances_from_another_card() -> None:
    two = snapshot(cards("GPU-a", "GPU-b"), several("p", 30_000, 2), several("q", 30_000, 2))
    one = snapshot(cards("GPU-a"), several("p", 30_000, 2))

    assert instances(two) == [40960] * 4
    assert held_devices(two) == {"p": [1, 2], "q": [1, 2]}
    assert held_devices(one) == {}


def test_containers_that_want_an_instance_each_may_share_a_card() -> None:
    one = snapshot(cards("GPU-a"), several("p", 30_000, 1, 1))

    assert instances(one) == [40960, 40960]
    assert held_devices(one) == {"p": [1, 1]}


def test_a_part_of_a_card_is_memory() -> None:
    half = wants("p", 1)
    half["spec"]["containers"][0]["resources"]["requests"] = {
        "volcano.sh/vgpu-memory-percentage": "50"
    }
    world = snapshot(cards("GPU-a"), half)
    assert instances(world) == [40960, 40960]
    assert started(world) == {"p": 40960}


def test_of_an_unknown_model_the_whole_card_is_one_instance() -> None:
    world = snapshot(cards("GPU-a", model="Thing", mib=1000), wants("p", 300), wants("q", 300))
    assert instances(world) == [1000]
    assert len(started(world)) == 1
