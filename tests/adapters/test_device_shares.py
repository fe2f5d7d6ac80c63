"""Shares of devices at the door: who asks for what, what nodes have, which devices are held."""

from typing import Any

import pytest

from apportion.models import Device, DeviceShare, Pod, Snapshot
from apportion.models.devices import GPU
from kubernetes_objects import container, node, pod, snapshot

VGPU = "volcano.sh/vgpu-"
REGISTER = "hami.io/node-nvidia-register"


def card(name: str = "n", gpus: int = 2, mib: int = 16384, **more: Any) -> dict[str, Any]:
    """Return a node of GPUs that says how much memory they have."""
    made = node(name, **{"cpu": 8, GPU: gpus})
    made["metadata"].setdefault("labels", {})["nvidia.com/gpu.memory"] = str(mib)
    made["metadata"].update(more)
    return made


def one(world: Snapshot, name: str = "p") -> Pod:
    return next(p for p in world.pods if p.name == name)


@pytest.mark.parametrize(
    ("notes", "requests", "want", "charge"),
    [
        ({"gpu-fraction": "0.5"}, {}, DeviceShare(memory_ppm=500_000), 500),
        ({"gpu-fraction": "1"}, {}, DeviceShare(memory_ppm=1_000_000), 1000),
        ({"gpu-memory": "4096"}, {}, DeviceShare(memory_mib=4096), 250),
        (
            {"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2"}, {},
            DeviceShare(devices=2, memory_ppm=250_000), 500,
        ),
        (
            {}, {VGPU + "memory": 4096, VGPU + "cores": 50},
            DeviceShare("volcano", 1, 4096, 0, 50, "hami-core"), 500,
        ),
        (
            {}, {VGPU + "number": 2},
            DeviceShare("volcano", 2, 0, 1_000_000, 0, "hami-core"), 2000,
        ),
        (
            {"nvidia.com/use-gputype": "T4"}, {GPU: 2, "nvidia.com/gpumem": 2048},
            DeviceShare("hami", 2, 2048, models=("t4",)), 250,
        ),
        (
            {}, {GPU: 1, "nvidia.com/gpumem-percentage": 30, "nvidia.com/gpucores": 20},
            DeviceShare("hami", 1, 0, 300_000, 20), 300,
        ),
        ({}, {"volcano.sh/gpu-memory": 1024}, DeviceShare("gpushare", 1, 1024), 62),
    ],
)  # fmt: skip
def test_what_is_asked_for_and_charged(
    notes: dict[str, str], requests: dict[str, int], want: DeviceShare, charge: int
) -> None:
    made = one(snapshot(card(), pod("p", requests, annotations=notes)))

    assert made.spec.share == want
    assert made.spec.requests[GPU] == charge


@pytest.mark.parametrize(
    ("notes", "path"),
    [
        ({"gpu-fraction": "half"}, "gpu-fraction"),
        ({"gpu-fraction": "0"}, "gpu-fraction"),
        ({"gpu-fraction": "1.5"}, "gpu-fraction"),
        ({"gpu-fraction": "nan"}, "gpu-fraction"),
        ({"gpu-memory": "-1"}, "gpu-memory"),
        ({"gpu-memory": "2Gi"}, "gpu-memory"),
        ({"gpu-fraction": "0.5", "gpu-memory": "1"}, "gpu-memory"),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}, "gpu-fraction-num-devices"),
    ],
)
def test_what_cannot_be_read_is_rejected(notes: dict[str, str], path: str) -> None:
    world = snapshot(card(), pod("p", annotations=notes))

    assert [(r.object, r.path) for r in world.rejected] == [
        ("Pod default/p", f"metadata.annotations.{path}")
    ]


def test_nodes_have_devices_only_where_somebody_asks_for_shares() -> None:
    (plain,) = snapshot(card(), pod("p", {GPU: 1})).nodes
    (shared,) = snapshot(card(), pod("p", annotations={"gpu-fraction": "0.5"})).nodes

    assert (plain.devices, plain.hands_out) == ((), ())
    assert shared.devices == (Device(16384),) * 2
    assert shared.hands_out == ("reservation", "whole")


@pytest.mark.parametrize(
    "written",
    [
        "GPU-a,10,16384,100,NVIDIA-T4,0,true:GPU-b,10,16384,100,NVIDIA-T4,0,false:",
        '[{"id": "GPU-a", "count": 10, "devmem": 16384, "type": "NVIDIA-T4", "health": true},'
        ' {"id": "GPU-b", "count": 10, "devmem": 16384, "type": "NVIDIA-T4", "health": false}]',
    ],
)
def test_a_register_says_what_devices_there_are(written: str) -> None:
    asks = {GPU: 1, "nvidia.com/gpumem": 1000}
    (made,) = snapshot(card(gpus=20, annotations={REGISTER: written}), pod("p", asks)).nodes

    assert made.devices == (
        Device(16384, 10, model="NVIDIA-T4", uuid="GPU-a"),
        Device(16384, 10, healthy=False, model="NVIDIA-T4", uuid="GPU-b"),
    )
    assert made.hands_out == ("hami", "whole")
    assert (made.allocatable[GPU], made.allocatable["nvidia.com/gpumem"]) == (1000, 16_384_000)


def test_whole_devices_are_those_of_hamis_register_where_nobody_shares_too() -> None:
    written = "GPU-a,10,16384,100,NVIDIA-T4,0,true:GPU-b,10,16384,100,NVIDIA-T4,0,true:"
    world = snapshot(card(gpus=20, annotations={REGISTER: written}), pod("p", {GPU: 1}))

    assert world.nodes[0].allocatable[GPU] == 2000
    assert [d.uuid for d in world.nodes[0].devices] == ["GPU-a", "GPU-b"]


def test_a_device_that_we_reserved_has_the_number_that_was_planned() -> None:
    def reserved(name: str, group: str, **notes: str) -> Any:
        return pod(
            name, {GPU: 1}, namespace="kai-resource-reservation", nodeName="n",
            labels={"runai-gpu-group": group}, scheduler="nobody",
            annotations={k.replace("__", "/"): v for k, v in notes.items()},
        )  # fmt: skip

    ours, uuid = "apportion.dev/device-index", "run.ai/reserve_for_gpu_index"
    shares = [
        pod(g, nodeName="n", labels={"runai-gpu-group": g}, annotations={"gpu-fraction": "0.5"})
        for g in "abc"
    ]
    world = snapshot(
        card(gpus=4), *shares,
        reserved("x", "a", **{ours: "2", uuid: "GPU-1234"}),
        reserved("y", "b", **{ours: "1", uuid: "3"}),
        reserved("z", "c", **{uuid: "1"}),
    )  # fmt: skip

    assert [one(world, g).devices for g in "abc"] == [(2,), (1,), (0,)]
    assert all(GPU not in one(world, r).spec.requests for r in "xyz")


def test_a_register_that_cannot_be_read_is_warned_of() -> None:
    asks = {GPU: 1, "nvidia.com/gpumem": 1000}
    world = snapshot(card(annotations={REGISTER: "[{}"}), pod("p", asks))

    assert "cannot be read" in world.warnings[0].message
    assert world.nodes[0].devices == ()


def test_marks_say_which_devices_are_held() -> None:
    notes = {"gpu-fraction": "0.5"}
    marked = pod("p", nodeName="n", annotations={**notes, "example.com/gpu-index": "1"})
    wrong = pod("q", nodeName="n", annotations={**notes, "example.com/gpu-index": "0,1"})
    loose = pod("r", nodeName="n", annotations=notes)
    world = snapshot(card(), marked, wrong, loose)

    assert [one(world, x).devices for x in "pqr"] == [(1,), (), ()]
    assert [w.object for w in world.warnings] == ["Pod default/q"]


def test_allocated_uuids_say_which_devices_are_held() -> None:
    written = "GPU-a,10,16384,100,NVIDIA-T4,0,true:GPU-b,10,16384,100,NVIDIA-T4,0,true:"
    held = {"hami.io/vgpu-devices-allocated": "GPU-b,NVIDIA,1000,30:;"}
    asks = {GPU: 1, "nvidia.com/gpumem": 1000}
    world = snapshot(
        card(gpus=20, annotations={REGISTER: written}),
        pod("p", asks, nodeName="n", annotations=held),
    )

    assert one(world).devices == (1,)


NPU, AMD, DCU = "huawei.com/Ascend910B3", "amd.com/gpu", "hygon.com/dcunum"


@pytest.mark.parametrize(
    ("register", "asks", "notes", "want"),
    [
        # The smallest template that bears the memory; more than the largest is a whole one.
        ("hami.io/node-register-Ascend910B3", {NPU: 1, NPU + "-memory": 9000}, {},
         DeviceShare("hami", 1, 16384, resource=NPU)),
        ("hami.io/node-register-Ascend910B3", {NPU: 1, NPU + "-memory": 40000}, {},
         DeviceShare("hami", 1, 0, 1_000_000, resource=NPU)),
        ("hami.io/node-register-Ascend910B3", {NPU: 2}, {},
         DeviceShare("hami", 2, 0, 1_000_000, resource=NPU)),
        ("hami.io/node-register-Ascend910B3",
         {NPU: 1, NPU + "-memory": 9000, NPU + "-core": 30}, {"huawei.com/vnpu-mode": "hami-core"},
         DeviceShare("hami", 1, 9000, 0, 30, "hami-core", resource=NPU)),
        # Who says nothing of cores has all of them.
        ("hami.io/node-amd-register", {AMD: 1, "amd.com/gpumem": 1000},
         {"amd.com/use-gputype": "MI300"},
         DeviceShare("hami", 1, 1000, 0, 100, models=("mi300",), resource=AMD)),
        ("hami.io/node-amd-register", {AMD: 1, "amd.com/gpumem": 1000, "amd.com/gpucores": 25}, {},
         DeviceShare("hami", 1, 1000, 0, 25, resource=AMD)),
        ("hami.io/node-dcu-register", {DCU: 1, "hygon.com/dcumem": 1000}, {},
         DeviceShare("hami", 1, 1000, 0, 100, resource=DCU)),
    ],
)  # fmt: skip
def test_what_other_vendors_are_asked_for(
    register: str, asks: dict[str, int], notes: dict[str, str], want: DeviceShare
) -> None:
    there = node("n", **{"cpu": 8, next(iter(asks)): 8})
    there["metadata"]["annotations"] = {register: "X-0,4,65536,100,MI300X,0,true:"}

    assert one(snapshot(there, pod("p", asks, annotations=notes))).spec.share == want


@pytest.mark.parametrize("soft", ["true", "false"])
def test_npus_without_templates_are_on_nodes_that_say_so(soft: str) -> None:
    there = node("n", **{"cpu": 8, NPU: 8})
    register = {"hami.io/node-register-Ascend910B3": "X-0,4,65536,20,B3,0,true:"}
    there["metadata"]["annotations"] = {**register, "hami-vnpu-core": soft}
    mode = {"huawei.com/vnpu-mode": "hami-core"}
    world = snapshot(there, pod("p", {NPU: 1, NPU + "-memory": 9000}, annotations=mode))
    share = one(world).spec.share

    assert share is not None
    assert share.bears(world.nodes[0].devices[0]) == (soft == "true")


@pytest.mark.parametrize(
    ("policy", "ppm", "warned"),
    [
        ("spread", 0, []),
        ("numa, mutex", 1_000_000, []),
        ("binpack,tight", 0, ["'tight' is no policy"]),
    ],
)
def test_a_policy_of_hami_is_known_or_warned_of(policy: str, ppm: int, warned: list[str]) -> None:
    notes = {"hami.io/gpu-scheduler-policy": policy}
    world = snapshot(card(), pod("p", {GPU: 1, "nvidia.com/gpumem": 1000}, annotations=notes))
    share = one(world).spec.share

    assert share is not None
    assert (share.memory_mib, share.memory_ppm) == (1000, ppm)
    assert [w.message.partition(" and")[0] for w in world.warnings] == warned


def test_cards_whose_memory_nobody_divides_are_a_plain_resource() -> None:
    number, memory = "volcano.sh/gpu-number", "volcano.sh/gpu-memory"
    plain = snapshot(node("n", **{"cpu": 8, number: 4}), pod("p", {number: 1}))
    shared = snapshot(node("n", **{"cpu": 8, number: 4, memory: 4096}), pod("p", {number: 1}))

    assert one(plain).spec.share is None
    assert dict(one(plain).spec.requests) == {number: 1000}
    assert one(shared).spec.share == DeviceShare("gpushare", 1, 0, 1_000_000)


HAMI, MEM, PART = GPU, "nvidia.com/gpumem", "nvidia.com/gpumem-percentage"


@pytest.mark.parametrize(
    ("main", "init", "want", "charge"),
    [
        # Stacked: the sum, on the devices of the widest.
        ([{HAMI: 1, MEM: 4096}, {HAMI: 1, MEM: 2048}], [], (1, 6144, 0, 0), 375),
        ([{HAMI: 2, MEM: 4096}, {HAMI: 1, MEM: 4096}], [], (2, 8192, 0, 0), 750),
        # No device bears the sum: side by side, the largest on each.
        ([{HAMI: 1, MEM: 16384}, {HAMI: 1, MEM: 1024}], [], (2, 16384, 0, 0), 1062),
        ([{HAMI: 1, MEM: 1024, "nvidia.com/gpucores": 60}] * 2, [], (2, 1024, 0, 60), 1200),
        # Without a memory it is a whole device, whatever the other asks for.
        ([{HAMI: 1, MEM: 1024}, {HAMI: 1}], [], (2, 1024, 1_000_000, 0), 1062),
        # MiB beside a percentage count as a part of the smallest device.
        ([{HAMI: 1, PART: 50}, {HAMI: 1, MEM: 4096}], [], (1, 0, 750_000, 0), 750),
        # Init containers run one after another.
        ([{HAMI: 1, MEM: 1024}], [{HAMI: 1, MEM: 9216}] * 3, (1, 9216, 0, 0), 562),
        ([{"cpu": 1}, {VGPU + "number": 1, VGPU + "memory": 4096}] * 2, [], (1, 8192, 0, 0), 500),
    ],
)  # fmt: skip
def test_shares_of_several_containers_are_one(
    main: list[dict[str, int]], init: list[dict[str, int]], want: tuple[int, ...], charge: int
) -> None:
    made = pod("p", containers=[container(a) for a in main])
    made["spec"]["initContainers"] = [container(a) for a in init]
    share = one(snapshot(card(), made)).spec.share

    assert share is not None
    found = (share.devices, share.memory_mib, share.memory_ppm, share.cores_percent)
    assert found == want
    assert one(snapshot(card(), made)).spec.requests[GPU] == charge


@pytest.mark.parametrize(
    ("held", "place", "want", "devices"),
    [
        ("GPU-a;GPU-b;", {"nodeName": "n"}, (0, 1), 2),
        ("GPU-b;GPU-b;", {"nodeName": "n"}, (1,), 1),
        ("GPU-a;GPU-b;", {}, (), 1),  # it waits: its own word counts for nothing
    ],
)
def test_how_containers_lie_is_told_by_what_they_hold(
    held: str, place: dict[str, Any], want: tuple[int, ...], devices: int
) -> None:
    written = "GPU-a,10,16384,100,NVIDIA-T4,0,true:GPU-b,10,16384,100,NVIDIA-T4,0,true:"
    ids = "".join(f"{u},NVIDIA,1024,0:;" for u in held.split(";") if u)
    made = pod(
        "p", containers=[container({HAMI: 1, MEM: 1024})] * 2, **place,
        annotations={"hami.io/vgpu-devices-allocated": ids},
    )  # fmt: skip
    world = snapshot(card(gpus=20, annotations={REGISTER: written}), made)
    share = one(world).spec.share

    assert one(world).devices == want
    assert share is not None
    assert share.devices == devices
    assert world.warnings == ()


def test_a_reservation_pod_stands_for_what_its_group_shares() -> None:
    notes = {"gpu-fraction": "0.5"}
    holder = pod(
        "gpu-reservation-1", {GPU: 1}, namespace="kai-resource-reservation", nodeName="n",
        labels={"runai-gpu-group": "one"}, annotations={"run.ai/reserve_for_gpu_index": "1"},
        scheduler="default-scheduler",
    )  # fmt: skip
    orphan = pod(
        "gpu-reservation-2", {GPU: 1}, namespace="kai-resource-reservation", nodeName="n",
        labels={"runai-gpu-group": "gone"}, scheduler="default-scheduler",
    )  # fmt: skip
    here = [
        pod("p", nodeName="n", labels={"runai-gpu-group": "one"}, annotations=notes),
        pod("q", nodeName="n", labels={"runai-gpu-group": "two"}, annotations=notes),
        pod("r", nodeName="n", labels={"runai-gpu-group": "two"}, annotations=notes),
    ]
    world = snapshot(card(gpus=3), holder, orphan, *here)

    assert [one(world, x).devices for x in "pqr"] == [(1,), (0,), (0,)]
    assert one(world, "gpu-reservation-1").spec.requests[GPU] == 0
    assert one(world, "gpu-reservation-2").spec.requests[GPU] == 1000
