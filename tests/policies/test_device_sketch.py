"""What a sketch says of devices is what the exact search says."""

import random

import pytest

from apportion.models import Amounts, Node, NodeName, Pod, PodSpec, PodState
from apportion.models.devices import GPU, Device, DeviceShare
from apportion.policies.device_packing import Devices
from apportion.policies.device_sketch import Sketch


def _pod(rng: random.Random, name: int, known: tuple[int, ...] = ()) -> Pod:
    share: DeviceShare | None = DeviceShare(
        memory_ppm=rng.choice((250_000, 300_000, 500_000)) if rng.random() < 0.7 else 0,
        memory_mib=rng.choice((0, 4_000)), cores_percent=rng.choice((0, 30)),
        by=rng.choice(("reservation", "hami")),
    )  # fmt: skip
    if rng.random() < 0.3 and not known:
        share = None
    amounts = Amounts({GPU: 1000 * rng.randrange(1, 3) if share is None else 100})
    spec = PodSpec(amounts, share=share)
    return Pod("ns", f"pod-{name}", spec, PodState.RUNNING, node=NodeName("n"), devices=known)


@pytest.mark.parametrize("seed", range(300))
def test_a_sketch_never_contradicts_the_search(seed: int) -> None:
    rng = random.Random(seed)
    devices = tuple(
        Device(rng.choice((8_000, 16_000)), healthy=rng.random() > 0.1)
        for _ in range(rng.randrange(1, 4))
    )
    state = Devices.of(Node(name=NodeName("n"), allocatable=Amounts({}), devices=devices))
    for k in range(rng.randrange(3)):
        known = _pod(rng, k, (rng.randrange(len(devices)),))
        if state.holds([known]):
            state.add(known)
    sketch = Sketch.of(state)
    for k in range(10, 22):
        pod = _pod(rng, k)
        holds = state.holds([pod])
        if sketch is None:
            sketch = Sketch.of(state)
        assert sketch is not None
        if sketch.place(pod) is not None:
            assert holds
        if sketch.refuses(pod):
            assert not holds
        if holds:
            state.add(pod)
            if not sketch.add(pod):
                sketch = None
