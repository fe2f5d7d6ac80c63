"""What one allocation takes of a device that may be allocated several times (KEP-5075)."""

from typing import Any

import pytest

from apportion.adapters.kubernetes.body_devices import Capacity
from apportion.adapters.kubernetes.device_capacity import part_of
from device_objects import CLASS, claim, exactly, ids, kind, slice_of, uses
from kubernetes_objects import Data, node, pod_in, snapshot

MEMORY = f"{ids('a')[0]}/memory"


def capacity(value: str = "10", **policy: Any) -> dict[str, Any]:
    return {"memory": Capacity.model_validate({"value": value, "requestPolicy": policy or None})}


@pytest.mark.parametrize(
    ("asked", "policy", "want"),
    [
        pytest.param("3", {}, 3000, id="as much as is asked for"),
        pytest.param(None, {}, 10_000, id="all of it where nothing is asked for"),
        pytest.param(None, {"default": "2"}, 2000, id="the default"),
        pytest.param("3", {"default": "1", "validValues": ["4", "1", "2"]}, 4000, id="next value"),
        pytest.param("5", {"default": "1", "validValues": ["1", "2"]}, None, id="no such value"),
        pytest.param("1", {"default": "2", "validRange": {"min": "2"}}, 2000, id="the least"),
        pytest.param(
            "3", {"default": "2", "validRange": {"min": "2", "step": "4"}}, 6000, id="whole steps"
        ),
        pytest.param(
            "6", {"default": "2", "validRange": {"min": "2", "step": "4"}}, 6000, id="on a step"
        ),
        pytest.param(
            "5", {"default": "2", "validRange": {"min": "2", "max": "4"}}, None, id="too much"
        ),
        pytest.param("11", {}, None, id="more than there is"),
        pytest.param("10", {}, 10_000, id="all there is"),
    ],
)
def test_amounts_are_rounded_up_as_the_device_says(
    asked: str | None, policy: dict[str, Any], want: int | None
) -> None:
    told = () if asked is None else (("memory", asked),)

    found = part_of(capacity(**policy), CLASS, told, in_parts=True)

    assert found == (None if want is None else {"memory": want})


def test_a_capacity_goes_by_its_name_with_the_domain_of_the_driver_or_without() -> None:
    own = (("memory", "1"),)
    full = ((f"{CLASS}/memory", "1"),)
    other = (("example.com/memory", "1"),)

    assert [part_of(capacity(), CLASS, a, in_parts=True) for a in (own, full, other)] == [
        {"memory": 1000}, {"memory": 1000}, None,
    ]  # fmt: skip


def test_a_whole_device_has_to_have_what_is_asked_for() -> None:
    asked = (("memory", "10"),)

    assert part_of(capacity(), CLASS, asked, in_parts=False) == {}
    assert part_of(capacity("9"), CLASS, asked, in_parts=False) is None


def shared(name: str = "a", value: str = "10") -> Data:
    return {
        "name": name,
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": value}},
    }


def part(amount: str) -> Data:
    return exactly(capacity={"requests": {"memory": amount}})


def has(device: str, amount: str) -> Data:
    found = {"request": "r", "driver": CLASS, "pool": "n1", "device": device}
    told = {**found, "shareID": "x", "consumedCapacity": {"memory": amount}}
    return {"allocation": {"devices": {"results": [told]}}}


def test_a_device_in_parts_and_who_has_some() -> None:
    world = snapshot(
        node("n1"), kind(), slice_of("n1", shared()),
        claim("c", part("4")), uses("p"),
        claim("d", part("3"), status=has("a", "3")), uses("q", "d", nodeName="n1"),
        claim("nobodys", part("2"), status=has("a", "2")),
    )  # fmt: skip

    [device] = world.nodes_by_name["n1"].pool_devices
    [[request]] = pod_in(world, "p").spec.claims[0].spec.requests
    assert (device.multiple, device.taken) == (True, True)
    assert device.parts[request.selection] == {MEMORY: 4000}
    assert world.nodes_by_name["n1"].counters == {MEMORY: 8000}, "less what nobody here has"
    running = pod_in(world, "q")
    assert (running.claimed, running.draws) == (ids("a"), {MEMORY: 3000})


def test_a_part_is_charged_as_no_device() -> None:
    world = snapshot(node("n1"), kind(), slice_of("n1", shared()), claim("c", part("4")), uses("p"))

    assert pod_in(world, "p").spec.requests["nvidia.com/gpu"] == 0


def test_expressions_see_whether_a_device_is_in_parts() -> None:
    only = kind(expression="device.allowMultipleAllocations == true")
    world = snapshot(node("n1"), only, slice_of("n1", shared(), "b"), claim(), uses("p"))

    devices = world.nodes_by_name["n1"].pool_devices
    assert [d.id for d in devices if d.selections] == [*ids("a")]
