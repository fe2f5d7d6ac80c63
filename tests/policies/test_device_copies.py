"""How many equal pods the devices of a node take, beside shares of which nobody says where."""

import random

import pytest

from apportion.models import Amounts, Node, NodeName, Pod, PodSpec, PodState
from apportion.models.devices import GPU, Device, DeviceShare
from apportion.policies import device_packing
from apportion.policies.device_packing import Devices


def _pod(rng: random.Random, name: str, devices: tuple[int, ...] = ()) -> Pod:
    share: DeviceShare | None = DeviceShare(
        memory_ppm=rng.choice((250_000, 300_000, 500_000)), memory_mib=rng.choice((0, 0, 4_000)),
        cores_percent=rng.choice((0, 30)), by=rng.choice(("reservation", "hami")),
        devices=rng.choice((1, 1, 1, 2)) if not devices else 1,
    )  # fmt: skip
    if rng.random() < 0.25 and not devices:
        share = None
    amounts = Amounts({GPU: 1000 * rng.randrange(1, 3) if share is None else 100})
    return Pod(
        "ns",
        name,
        PodSpec(amounts, share=share),
        PodState.RUNNING,
        node=NodeName("n"),
        devices=devices,
    )


def _state(rng: random.Random) -> Devices:
    kinds = [
        Device(rng.choice((8_000, 16_000)), healthy=rng.random() > 0.1)
        for _ in range(rng.randrange(1, 5))
    ]
    node = Node(name=NodeName("n"), allocatable=Amounts({}), devices=tuple(kinds))
    state = Devices.of(node)
    for k in range(rng.randrange(5)):
        pod = _pod(rng, f"there-{k}", (rng.randrange(len(kinds)),) if rng.random() < 0.5 else ())
        if state.holds([pod]):
            state.add(pod)
    return state


@pytest.mark.parametrize("seed", range(60))
def test_copies_are_as_many_as_the_search_finds_devices_for(seed: int) -> None:
    rng = random.Random(seed)
    for k in range(5):
        state, pod = _state(rng), _pod(rng, f"new-{k}")

        copies = state.copies(pod, 6)

        assert [state.find([pod] * n) is not None for n in range(1, 7)] == [
            n <= copies for n in range(1, 7)
        ]


def test_numbers_that_memory_rules_out_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(16_000)
    state = Devices.of(Node(name=NodeName("n"), allocatable=Amounts({}), devices=(device,) * 8))
    quarter = DeviceShare(memory_ppm=250_000)
    spec = PodSpec(Amounts({GPU: 250}), share=quarter)
    state.add(Pod("ns", "there", spec, PodState.RUNNING, node=NodeName("n")))
    asked: list[int] = []
    find = Devices.find

    def counted(self: Devices, more: list[Pod]) -> object:
        asked.append(len(more))
        return find(self, more)

    monkeypatch.setattr(device_packing.Devices, "find", counted)

    assert state.copies(Pod("ns", "new", spec, PodState.PENDING), 512) == 31
    assert max(asked) == 31
