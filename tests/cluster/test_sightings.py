"""What is wrong about a masked snapshot is told; that nothing is, the soak asks."""

import json

from apportion.adapters.masking.mask import Mask
from apportion.models.snapshot import write
from cluster.sightings import apart, names_left, other
from oracle.build import Members, node, queue, snapshot

WORLD = snapshot(node("acme-1", 2), queue("physics"), Members("secret", "physics", waiting=1))


def test_names_that_are_left_are_told() -> None:
    (pod,) = WORLD.pods
    masked = Mask([WORLD]).of(WORLD)
    file = write(masked)
    leaking = file.replace(masked.pods[0].name.encode(), pod.name.encode())

    assert names_left(file, WORLD) == []
    assert f"{pod.name} is in the masked file" in names_left(leaking, WORLD)


def test_machines_that_differ_are_told() -> None:
    plans = [json.dumps({"digest": d, "binds": []}) for d in ("sha256:1", "sha256:2")]
    same = json.dumps({"digest": "sha256:1", "binds": [], "seconds": 2})

    assert apart([b"a", b"a"], [plans[0], plans[0]]) == []
    assert apart([b"a", b"b"], plans) == [
        "the plans have the digests ['sha256:1', 'sha256:2']", "the masked files differ",
    ]  # fmt: skip
    assert apart([b"a", b"a"], [plans[0], same]) == [
        "the plans differ in what has no part in their digests"
    ]


def test_a_plan_under_other_names_is_told() -> None:
    assert other({"binds": ["x"]}, {"binds": ["x"]}) == []
    assert other({"binds": ["x"]}, {"binds": ["y"], "held": []}) == [
        "binds: ['x'], not ['y']", "held: None, not []",
    ]  # fmt: skip
