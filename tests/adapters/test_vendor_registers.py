"""Registers of vendors other than NVIDIA: what their nodes offer, and what shares of it cost."""

from typing import Any

import pytest

from apportion.models import DeviceShare
from apportion.models.devices import GPU
from kubernetes_objects import node, pod, pod_in, snapshot

DCUS = "DCU-0,4,16384,100,DCU-Z100,0,true:DCU-1,4,32768,100,DCU-K100,0,true:"
CHIPS = "BI-0,10,32768,100,BI-V150,0,true:"


def registered(register: str, written: str, name: str = "n", dcus: int = 0) -> dict[str, Any]:
    """Return a node of a vendor's plug-in, which may advertise more DCUs than there are."""
    made = node(name, **{"cpu": 8, "hygon.com/dcunum": dcus})
    made["metadata"]["annotations"] = {register: written}
    return made


@pytest.mark.parametrize(
    ("register", "requests", "notes", "want", "charge"),
    [
        (
            ("hami.io/node-dcu-register", DCUS),
            {"hygon.com/dcunum": 2, "hygon.com/dcumem": 4096, "hygon.com/dcucores": 20},
            {"hygon.com/use-dcutype": "Z100,K100", "hygon.com/nouse-gpuuuid": "DCU-7"},
            DeviceShare(
                "hami", 2, 4096, 0, 20, models=("k100", "z100"), not_uuids=("DCU-7",),
                resource="hygon.com/dcunum",
            ), 500,
        ),
        (
            ("hami.io/node-dcu-register", DCUS), {"hygon.com/dcunum": 1}, {},
            DeviceShare("hami", 1, 0, 1_000_000, 100, resource="hygon.com/dcunum"), 1000,
        ),
        (
            ("hami.io/node-BI-V150-register", CHIPS),
            {"iluvatar.ai/BI-V150-vgpu": 1, "iluvatar.ai/BI-V150.vMem": 64},
            {"hami.io/use-BI-V150-uuid": "BI-0"},
            DeviceShare("hami", 1, 16384, uuids=("BI-0",), resource="iluvatar.ai/BI-V150-vgpu"),
            500,
        ),
    ],
)  # fmt: skip
def test_shares_of_other_vendors_are_parts_of_their_devices(
    register: tuple[str, str], requests: dict[str, int], notes: dict[str, str],
    want: DeviceShare, charge: int,
) -> None:  # fmt: skip
    made = pod_in(snapshot(registered(*register), pod("p", requests, annotations=notes)), "p")

    assert made.spec.share == want
    assert made.spec.requests[want.resource] == charge
    assert GPU not in made.spec.requests


def test_a_node_of_another_vendor_offers_what_it_has_registered() -> None:
    there = registered("hami.io/node-dcu-register", DCUS, dcus=8)
    (made,) = snapshot(there).nodes

    assert made.device_resource == "hygon.com/dcunum"
    assert made.hands_out == ("hami",)
    assert [d.uuid for d in made.devices] == ["DCU-0", "DCU-1"]
    assert made.allocatable["hygon.com/dcunum"] == 2000
    assert made.allocatable["hygon.com/dcumem"] == (16384 + 32768) * 1000
    assert made.allocatable[GPU] == 0


def test_chips_are_charged_by_their_own_smallest_device() -> None:
    asks = {"iluvatar.ai/BI-V150-vgpu": 1, "iluvatar.ai/BI-V150.vMem": 32}
    world = snapshot(
        registered("hami.io/node-dcu-register", DCUS, "a"),
        registered("hami.io/node-BI-V150-register", CHIPS, "b"),
        pod("p", asks),
        pod("q", {"hygon.com/dcunum": 1, "hygon.com/dcumem": 8192, "hygon.com/dcucores": 10}),
    )

    assert pod_in(world, "p").spec.requests["iluvatar.ai/BI-V150-vgpu"] == 250
    assert pod_in(world, "q").spec.requests["hygon.com/dcunum"] == 500


def test_held_dcus_are_known_by_their_annotation() -> None:
    held = {"hami.io/dcu-devices-allocated": "DCU-1,DCU,8192,0:;"}
    asks = {"hygon.com/dcunum": 1, "hygon.com/dcumem": 8192}
    world = snapshot(
        registered("hami.io/node-dcu-register", DCUS),
        pod("p", asks, nodeName="n", annotations=held),
    )

    assert pod_in(world, "p").devices == (1,)


def test_without_a_register_the_resource_is_a_plain_one() -> None:
    there = node("n", **{"hygon.com/dcunum": 4})
    made = pod_in(snapshot(there, pod("p", {"hygon.com/dcunum": 2})), "p")

    assert made.spec.share is None
    assert made.spec.requests["hygon.com/dcunum"] == 2000


def test_of_two_kinds_on_one_node_gpus_come_first_and_then_one() -> None:
    both = node("n", **{"cpu": 8, GPU: 2})
    both["metadata"].setdefault("labels", {})["nvidia.com/gpu.memory"] = "16384"
    both["metadata"]["annotations"] = {"hami.io/node-dcu-register": DCUS}
    two = registered("hami.io/node-dcu-register", DCUS, "two")
    two["metadata"]["annotations"]["hami.io/node-BI-V150-register"] = CHIPS
    world = snapshot(both, two, pod("p", annotations={"gpu-fraction": "0.5"}))

    assert [n.device_resource for n in world.nodes] == [GPU, "hygon.com/dcunum"]
    assert [w.path for w in world.warnings] == [
        'metadata.annotations["hami.io/node-BI-V150-register"]'
    ]
