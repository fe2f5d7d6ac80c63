"""Device claims at the door: slices, classes, selectors, who has what, and what it counts for."""

import pytest

from apportion.models import ClaimSpec, DeviceMatch, DeviceRequest, PodClaim, Snapshot
from device_objects import (
    API,
    CLASS,
    GPU,
    allocated,
    claim,
    exactly,
    ids,
    kind,
    slice_of,
    uses,
)
from kubernetes_objects import (
    Data,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    pod_in,
    queue,
    snapshot,
)


def only(world: Snapshot, name: str = "p") -> PodClaim:
    [found] = pod_in(world, name).spec.claims
    return found


def test_a_claim_and_the_devices_that_it_could_get() -> None:
    world = snapshot(node("n1"), kind(), slice_of("n1", "b", "a"), claim(), uses())

    assert only(world) == PodClaim("c", "", ClaimSpec(((DeviceRequest("r", CLASS),),)))
    devices = world.nodes_by_name["n1"].pool_devices
    assert [(d.id, d.selections, d.taken) for d in devices] == [
        (ids("a")[0], (CLASS,), False), (ids("b")[0], (CLASS,), False),
    ]  # fmt: skip


def test_selectors_of_a_request_narrow_its_class() -> None:
    big = {"name": "big", "capacity": {"memory": {"value": "80Gi"}}}
    small = {"name": "small", "capacity": {"memory": {"value": "40Gi"}}}
    expression = f'device.capacity["{CLASS}"].memory.compareTo(quantity("80Gi")) >= 0'
    asked = exactly(1, selectors=[{"cel": {"expression": expression}}])
    world = snapshot(node("n1"), kind(), slice_of("n1", big, small), claim("c", asked), uses())

    [[request]] = only(world).spec.requests
    assert request.selection.startswith(f"{CLASS}#")
    devices = world.nodes_by_name["n1"].pool_devices
    assert [d.id for d in devices if request.selection in d.selections] == [*ids("big")]


def test_every_way_to_ask() -> None:
    first = {"name": "any", "firstAvailable": [
        {"name": "two", "deviceClassName": CLASS, "count": 2},
        {"name": "one", "deviceClassName": CLASS}]}  # fmt: skip
    world = snapshot(
        node("n1"), kind(), slice_of("n1", "a"),
        claim("c", exactly(allocationMode="All"), first,
              constraints=[{"requests": ["any"], "matchAttribute": f"{CLASS}/root"}]),
        uses(),
    )  # fmt: skip

    assert only(world).spec == ClaimSpec(
        (
            (DeviceRequest("r", CLASS, 0, all=True),),
            (DeviceRequest("any/two", CLASS, 2), DeviceRequest("any/one", CLASS)),
        ),
        (DeviceMatch(f"{CLASS}/root", ("any",)),),
    )


def test_the_older_form_of_claims_and_slices_is_read() -> None:
    asked = {"name": "r", "deviceClassName": CLASS, "count": 2}
    old = {"name": "a", "basic": {"attributes": {"root": {"string": "x"}}}}
    world = snapshot(
        node("n1"), kind(), slice_of("n1", old),
        claim("c", asked, constraints=[{"matchAttribute": f"{CLASS}/root"}]), uses(),
    )  # fmt: skip

    assert only(world).spec.requests == ((DeviceRequest("r", CLASS, 2),),)
    [device] = world.nodes_by_name["n1"].pool_devices
    assert device.attributes == {f"{CLASS}/root": "string:x"}


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        ([kind()], "ResourceClaim default/c not found; create it"),
        ([claim()], "DeviceClass gpu.nvidia.com is not in the input; add it"),
        ([claim(), kind(expression="device.driver ==")], "is no CEL"),
        ([claim(), kind(expression="device.attributes.x.y == 1")], "fails"),
        (
            [claim("c", exactly(capacity={"requests": {"memory": "lots"}})), kind()],
            "was rejected",
        ),
        ([claim("c", exactly(adminAccess=True)), kind()], "no label"),
        ([claim("c", exactly(allocationMode="Some")), kind()], "'Some' is not known"),
    ],
)
def test_what_cannot_be_served_is_named(objects: list[Data], want: str) -> None:
    found = only(snapshot(node("n1"), slice_of("n1", "a"), uses(), *objects))

    assert want in found.problem


def test_devices_of_many_nodes_are_named() -> None:
    found = only(snapshot(node("n1"), kind(), slice_of(None, "a"), claim(), uses()))

    assert "attached to many nodes" in found.problem


def test_admin_access_needs_a_namespace_that_may() -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    world = snapshot(
        obj("v1", "Namespace", "default", None, meta={"labels": label}), node("n1"), kind(),
        slice_of("n1", "a"), claim("c", exactly(adminAccess=True)), uses(),
    )  # fmt: skip

    found = only(world)
    assert (found.problem, found.spec.requests[0][0].admin) == ("", True)
    assert GPU not in pod_in(world, "p").spec.requests


def test_devices_in_use() -> None:
    world = snapshot(
        node("n1"), kind(), slice_of("n1", "a", "b", "c"),
        claim("c", status=allocated("a")), uses("p", nodeName="n1"),
        claim("other", status=allocated("b")), claim("d"), uses("q", "d"),
    )  # fmt: skip

    assert pod_in(world, "p").claimed == ids("a")
    devices = world.nodes_by_name["n1"].pool_devices
    assert [d.id for d in devices if d.taken] == [*ids("b")], "its pod is not in the input"


def test_a_claim_of_several_pods_is_one_of_the_snapshot() -> None:
    world = snapshot(node("n1"), kind(), slice_of("n1", "a"), claim(), uses("p"), uses("q"))

    assert only(world, "p") == only(world, "q") == PodClaim("c", "default/c")
    [made] = world.claims
    assert (made.key, made.allocated) == ("default/c", False)
    paid = [pod_in(world, n).spec.requests[GPU] for n in "pq"]
    assert paid == [1000, 0], "it is charged once"


def test_a_claim_that_has_its_devices_before_its_pod_has_a_node() -> None:
    world = snapshot(
        node("n1"), kind(), slice_of("n1", "a"), claim("c", status=allocated("a")), uses()
    )

    [made] = world.claims
    assert (made.allocated, made.devices) == (True, ids("a"))
    assert made.nodes is not None
    assert made.nodes[0].matches({}, "n1")
    assert not made.nodes[0].matches({}, "n2")


def test_claims_from_a_template() -> None:
    template = obj(API, "ResourceClaimTemplate", "t", spec={
        "spec": {"devices": {"requests": [exactly(2)]}}})  # fmt: skip
    asked = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "q-gpu-x"}]}
    world = snapshot(
        node("n1"), kind(), slice_of("n1", "a", "b"), template,
        pod("p", resourceClaims=asked), claim("q-gpu-x", exactly(2)),
        pod("q", resourceClaims=asked, status=status),
    )  # fmt: skip

    assert only(world) == only(world, "q")
    assert pod_in(world, "q").claim_names == {"gpu": "default/q-gpu-x"}
    assert (
        "ResourceClaimTemplate default/none not found"
        in only(
            snapshot(pod("p", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "none"}]))
        ).problem
    )


def test_devices_count_in_queues_as_what_they_are_charged_as() -> None:
    limited = queue("default", capability={f"deviceclass/{CLASS}": "2"})
    world = snapshot(
        node("n1"), node("n2"), kind(), slice_of("n1", "a", "b"), claim("c", exactly(2)), uses(),
        pod("plugged", {GPU: "1"}), limited,
    )  # fmt: skip

    asked = pod_in(world, "p").spec
    assert (asked.requests[GPU], asked.requests[f"deviceclass/{CLASS}"]) == (2000, 2000)
    n1, n2 = world.nodes_by_name["n1"], world.nodes_by_name["n2"]
    assert (n1.allocatable[GPU], dict(n1.plugged)) == (2000, {GPU: 0})
    assert (n2.allocatable[GPU], dict(n2.plugged)) == (0, {})
    assert dict(pod_in(world, "plugged").spec.plugged) == {GPU: 1000}


def test_parts_of_devices_and_their_counters() -> None:
    def part(name: str, amount: str) -> Data:
        uses = [{"counterSet": "card", "counters": {"memory": {"value": amount}}}]
        return {"name": name, "consumesCounters": uses}

    shared = [{"name": "card", "counters": {"memory": {"value": "4"}}}]
    world = snapshot(
        node("n1"), kind(), slice_of("n1", part("half", "2"), sharedCounters=shared),
        claim(), uses(),
    )  # fmt: skip

    n1 = world.nodes_by_name["n1"]
    assert n1.counters == {f"{CLASS}/n1/card/memory": 4000}
    assert n1.pool_devices[0].counters == {f"{CLASS}/n1/card/memory": 2000}


def test_of_a_pool_the_newest_generation_counts_and_only_if_it_is_whole() -> None:
    newest = {"generation": 2}
    half = {"generation": 1, "resourceSliceCount": 2}
    world = snapshot(
        node("n1"), node("n2"), kind(), claim(), uses(),
        slice_of("n1", "old", name="s1"), slice_of("n1", "new", name="s2", pool=newest),
        slice_of("n2", "a", pool=half),
    )  # fmt: skip

    assert [d.id for d in world.nodes_by_name["n1"].pool_devices] == [*ids("new")]
    assert world.nodes_by_name["n2"].pool_devices == ()
    assert any("2 slices and 1 are in the input" in w.message for w in world.warnings)


@pytest.mark.parametrize(
    ("tolerations", "want"),
    [([], 0), ([{"key": "broken", "operator": "Exists"}], 1), ([{"operator": "Exists"}], 1)],
)
def test_marked_devices_are_for_those_who_bear_it(tolerations: list[Data], want: int) -> None:
    marked = {"name": "a", "taints": [{"key": "broken", "effect": "NoSchedule"}]}
    asked = exactly(1, tolerations=tolerations)
    world = snapshot(node("n1"), kind(), slice_of("n1", marked), claim("c", asked), uses())

    [[request]] = only(world).spec.requests
    assert (
        sum(request.selection in d.selections for n in world.nodes for d in n.pool_devices) == want
    )


def test_a_snapshot_with_claims_reads_back() -> None:
    from apportion.models.snapshot import read, write

    world = snapshot(
        node("n1"), kind(), slice_of("n1", "a", "b"), claim("c", status=allocated("a")),
        uses("p", nodeName="n1"), claim("d"), uses("q", "d"), uses("r", "d"),
    )  # fmt: skip

    assert read(write(world)) == world


def test_a_claim_of_pods_that_are_over_is_charged_to_nobody() -> None:
    over = uses("p", status={"phase": "Succeeded"})
    given = claim("c", status=allocated("a"))
    world = snapshot(node("n1"), kind(), slice_of("n1", "a"), given, over, queue("default"))
    grouped = snapshot(
        node("n1"), kind(), slice_of("n1", "a"), given, pod_group("g"),
        {**over, "metadata": {**over["metadata"], "annotations": in_group("g")}},
    )  # fmt: skip

    assert world.pods == ()
    assert pod_in(grouped, "p").spec.requests[GPU] == 0
