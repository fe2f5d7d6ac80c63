"""Extended resources that device classes serve (KEP-5004), at the door."""

from typing import Any

import pytest

from apportion.adapters.kubernetes.body_pod import PodSpecBody
from apportion.adapters.kubernetes.extended_resources import CLAIM_NAME, Use, requests_of
from apportion.adapters.kubernetes.shape import shaped
from apportion.models import ClaimSpec, DeviceRequest, PodClaim
from device_objects import (
    CLASS,
    GPU,
    allocated,
    claim,
    ids,
    kind,
    slice_of,
    uses,
)
from kubernetes_objects import Data, node, obj, pod, pod_in, queue, snapshot

IMPLICIT = f"deviceclass.resource.kubernetes.io/{CLASS}"
OF_EXTENDED = {"resource.kubernetes.io/extended-resource-claim": "true"}


def served(**more: Any) -> Data:
    return kind(extendedResourceName=GPU, **more)


def asked(count: int = 1, resource: str = GPU) -> PodClaim:
    request = DeviceRequest("container-0-request-0", CLASS, count, resource=resource)
    return PodClaim(CLAIM_NAME, "", ClaimSpec(((request,),)))


def test_containers_that_ask_for_the_resource_of_a_class_have_a_claim() -> None:
    plugged = node("n2", **{GPU: "2"})
    world = snapshot(node("n1"), plugged, served(), slice_of("n1", "a", "b"), pod("p", {GPU: "1"}))

    found = pod_in(world, "p").spec
    assert found.claims == (asked(),)
    assert found.requests[GPU] == 1000, "it counts once"
    n1, n2 = world.nodes_by_name["n1"], world.nodes_by_name["n2"]
    assert (n1.allocatable[GPU], n1.is_plugged(GPU), len(n1.pool_devices)) == (2000, False, 2)
    assert (n2.allocatable[GPU], n2.is_plugged(GPU)) == (2000, True)


def test_the_name_that_follows_from_a_class_counts_as_what_the_class_does() -> None:
    world = snapshot(node("n1"), kind(), slice_of("n1", "a", "b"), pod("p", {IMPLICIT: "2"}))

    found = pod_in(world, "p").spec
    assert found.claims == (asked(2, IMPLICIT),)
    assert (found.requests[IMPLICIT], found.requests[GPU]) == (2000, 2000)
    n1 = world.nodes_by_name["n1"]
    assert (n1.allocatable[IMPLICIT], n1.allocatable[GPU]) == (2000, 2000)


def test_a_plug_in_counts_for_all_that_its_resource_is_charged_as() -> None:
    by_class = f"deviceclass/{CLASS}"
    world = snapshot(
        node("n1"), node("n2", **{GPU: "4"}), served(), slice_of("n1", "a"),
        pod("p", {GPU: "1"}), queue("default", capability={by_class: "2"}),
    )  # fmt: skip

    assert pod_in(world, "p").spec.requests[by_class] == 1000
    assert [n.allocatable[by_class] for n in world.nodes] == [1000, 4000]


def test_a_device_of_two_classes_charged_alike_is_one() -> None:
    second = kind("fast", extendedResourceName=GPU)
    world = snapshot(node("n1"), served(), second, slice_of("n1", "a"), claim(), uses())

    assert world.nodes_by_name["n1"].allocatable[GPU] == 1000


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "b", id="the newest"),
        pytest.param("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "a", id="the first by name"),
    ],
)
def test_of_classes_that_serve_one_resource(old: str, new: str, want: str) -> None:
    a, b = kind("a", extendedResourceName=GPU), kind("b", extendedResourceName=GPU)
    a["metadata"]["creationTimestamp"], b["metadata"]["creationTimestamp"] = old, new
    world = snapshot(node("n1"), a, b, slice_of("n1", "d"), pod("p", {GPU: "1"}))

    [found] = pod_in(world, "p").spec.claims
    assert [r.selection for [r] in found.spec.requests] == [want]


def test_a_class_whose_selector_fails_serves_nothing_and_says_so() -> None:
    bad = served(expression="device.driver ==")
    world = snapshot(node("n1"), bad, slice_of("n1", "a"), pod("p", {GPU: "1"}))

    assert pod_in(world, "p").spec.claims == ()
    assert any(f"serves no {GPU}" in n.message for n in world.warnings)


def owned(name: str, owner: str, **status: Any) -> Data:
    made = claim(name, status=status or None)
    made["metadata"]["annotations"] = OF_EXTENDED
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": owner, "controller": True}
    ]
    return made


def test_devices_that_a_running_pod_has_for_its_resource() -> None:
    told = {"phase": "Running", "extendedResourceClaimStatus": {"resourceClaimName": "p-x"}}
    running = pod("p", {GPU: "1"}, nodeName="n1", status=told)
    world = snapshot(
        node("n1"), served(), slice_of("n1", "a", "b"), running,
        owned("p-x", "p", **allocated("b")),
    )  # fmt: skip

    found = pod_in(world, "p")
    assert (found.claimed, found.spec.requests[GPU]) == (ids("b"), 1000)
    assert found.claim_names == {CLAIM_NAME: "default/p-x"}


def test_devices_that_were_given_before_the_pod_was_bound_are_kept() -> None:
    world = snapshot(
        node("n1"), served(), slice_of("n1", "a", "b"), pod("p", {GPU: "1"}),
        owned("p-x", "p", **allocated("b")),
    )  # fmt: skip

    [found] = pod_in(world, "p").spec.claims
    assert (found.claim, pod_in(world, "p").spec.requests[GPU]) == ("default/p-x", 1000)
    [kept] = world.claims
    assert (kept.allocated, kept.devices) == (True, ids("b"))


def spec_of(*containers: Data, init: tuple[Data, ...] = ()) -> PodSpecBody:
    made, faults = shaped({"containers": list(containers), "initContainers": [*init]}, PodSpecBody)
    assert made is not None
    assert not faults
    return made


def asks(name: str, n: int, **more: Any) -> Data:
    return {"name": name, "resources": {"requests": {"cpu": "1", GPU: str(n)}}, **more}


def test_requests_and_their_names_are_those_of_kube_scheduler() -> None:
    spec = spec_of(asks("main", 2), asks("other", 1))

    requests, uses_ = requests_of(spec, {GPU: CLASS})

    assert requests == (
        DeviceRequest("container-0-request-1", CLASS, 2, resource=GPU),
        DeviceRequest("container-1-request-1", CLASS, 1, resource=GPU),
    )
    assert uses_ == [
        Use("main", GPU, "container-0-request-1"), Use("other", GPU, "container-1-request-1"),
    ]  # fmt: skip


def test_init_containers_use_devices_of_later_ones_and_share_what_they_need_beyond() -> None:
    sidecar = asks("side", 1, restartPolicy="Always")
    spec = spec_of(asks("main", 2), init=(asks("a", 4), sidecar, asks("b", 3)))

    requests, uses_ = requests_of(spec, {GPU: CLASS})

    assert {r.name: r.count for r in requests} == {
        "container-0-request-1": 1, "container-1-request-1": 1, "container-3-request-1": 2,
    }  # fmt: skip
    of = {c: [u.request[10] for u in uses_ if u.container == c] for c in ("side", "main", "a", "b")}
    assert of == {"side": ["1"], "main": ["3"], "a": ["1", "3", "0"], "b": ["3", "0"]}


def test_of_no_use_without_devices() -> None:
    world = snapshot(node("n1"), served(), obj("v1", "Namespace", "x", None), pod("p", {GPU: "1"}))

    assert pod_in(world, "p").spec.claims == ()
