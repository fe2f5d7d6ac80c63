"""Claims are given what the plan says, for the version that was read, and let go again."""

from typing import Any

import pytest

from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.discovery import Resource
from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps.claims import CLAIM, CLASS, FINALIZER, OF_POD, TRIES, Claims
from fakes.objects import Asked, FakeObjects, merged
from kubernetes_objects import node, obj, pod, pod_in

from .bench import GROUP, Bench, done, prepared

Data = dict[str, Any]
API = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
PATH = f"/apis/{API}/namespaces/default/resourceclaims/"
RESOURCES = {
    CLAIM: Resource(*CLAIM[:1], "v1", "ResourceClaim", "resourceclaims", namespaced=True),
    CLASS: Resource(*CLASS[:1], "v1", "DeviceClass", "deviceclasses", namespaced=False),
}


def kind(name: str = "gpu", **spec: Any) -> Data:
    cel = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return obj(API, "DeviceClass", name, None, spec={"selectors": [cel], **spec})


def pool(on: str, *devices: str) -> Data:
    body = {
        "driver": DRIVER,
        "pool": {"name": on, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": d} for d in devices],
        "nodeName": on,
    }
    return obj(API, "ResourceSlice", f"{on}-gpus", None, spec=body)


def request(name: str = "r", **more: Any) -> Data:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **more}}


def claim(name: str = "c", *requests: Data, meta: Data | None = None, **devices: Any) -> Data:
    asked = {"requests": list(requests) or [request()], **devices}
    return obj(API, "ResourceClaim", name, spec={"devices": asked}, status={}, meta=meta or {})


def uses(name: str, *claims: str, **more: Any) -> Data:
    asked = [{"name": c, "resourceClaimName": c} for c in claims]
    return pod(name, resourceClaims=asked, meta={"uid": f"uid-{name}"}, **more)


def from_template(name: str) -> Data:
    asked = [{"name": "gpus", "resourceClaimTemplateName": "t"}]
    return pod(name, resourceClaims=asked, meta={"uid": f"uid-{name}"})


def template() -> Data:
    return obj(API, "ResourceClaimTemplate", "t", spec={"spec": claim()["spec"]})


def made_for(name: str) -> Data:
    owner = {"kind": "Pod", "name": name, "uid": f"uid-{name}", "controller": True}
    meta = {"annotations": {OF_POD: "gpus"}, "ownerReferences": [owner]}
    return claim(f"{name}-gpus-x", meta=meta)


def on_node(name: str) -> Data:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def reserved(*pods: str) -> list[Data]:
    return [{"resource": "pods", "name": p, "uid": f"uid-{p}"} for p in pods]


def step(bench: Bench) -> Claims:
    return Claims(bench.server, bench.server.mirror, RESOURCES)


def status(bench: Bench, name: str = "c") -> Data:
    found: Data = bench.object(PATH + name)["status"]
    return found


def test_a_claim_is_allocated_and_reserved_in_one_change_and_cannot_vanish() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))

    prepared(step(bench), bench)

    assert status(bench) == {
        "allocation": {
            "devices": {
                "results": [{"request": "r", "driver": DRIVER, "pool": "n", "device": "a"}]
            },
            "nodeSelector": on_node("n"),
        },
        "reservedFor": reserved("p"),
    }
    assert bench.object(PATH + "c")["metadata"]["finalizers"] == [FINALIZER]
    [first, second] = bench.server.asked
    assert (first.path, second.path) == (PATH + "c", PATH + "c/status")
    assert first.body["metadata"]["resourceVersion"] < second.body["metadata"]["resourceVersion"]
    assert second.body["metadata"]["uid"] == "uid-c"


def test_the_door_reads_the_same_devices_back() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a", "b"), template(), from_template("p"),
                     made_for("p"))  # fmt: skip

    prepared(step(bench), bench)
    bench.bind()

    [allocation] = bench.plan.allocations
    assert bench.pod("p").claimed == tuple(d.id for d in allocation.devices)


def test_the_configuration_of_classes_comes_before_that_of_the_claim() -> None:
    told = {"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}
    mine = {"opaque": {"driver": DRIVER, "parameters": {"mode": "slow"}}}
    asked = claim(
        "c", request("r"), request("s"),
        {"name": "any", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]},
        config=[{**mine}, {**mine, "requests": ["s"]}, {**mine, "requests": ["any/y"]},
                {**mine, "requests": ["any"]}],
    )  # fmt: skip
    bench = Bench.of(node(), kind(config=[told]), pool("n", "a", "b", "c"), asked, uses("p", "c"))

    prepared(step(bench), bench)

    assert status(bench)["allocation"]["devices"]["config"] == [
        {**told, "source": "FromClass", "requests": ["r", "s", "any/x"]},
        {**mine, "source": "FromClaim"},
        {**mine, "source": "FromClaim", "requests": ["s"]},
        {**mine, "source": "FromClaim", "requests": ["any"]},
    ]


def test_admin_access_and_tolerations_are_told() -> None:
    bears = [{"key": "k", "operator": "Exists"}]
    asked = claim("c", request("r", adminAccess=True, tolerations=bears))
    space = obj("v1", "Namespace", "default", None)
    space["metadata"]["labels"] = {"resource.kubernetes.io/admin-access": "true"}
    bench = Bench.of(node(), kind(), pool("n", "a"), space, asked, uses("p", "c"))

    prepared(step(bench), bench)

    [result] = status(bench)["allocation"]["devices"]["results"]
    assert (result["adminAccess"], result["tolerations"]) == (True, bears)


def test_parts_of_a_device_are_told_with_an_id_each() -> None:
    part = {"name": "a", "allowMultipleAllocations": True, "capacity": {"room": {"value": "5"}}}
    slices = pool("n")
    slices["spec"]["devices"] = [part]
    asked = request(capacity={"requests": {"room": "2500m"}})
    bench = Bench.of(node(), kind(), slices, claim("c", asked), claim("d", asked),
                     uses("p", "c"), uses("q", "d"))  # fmt: skip

    prepared(step(bench), bench)

    told = [status(bench, c)["allocation"]["devices"]["results"] for c in "cd"]
    assert [r["consumedCapacity"] for [r] in told] == [{"room": "2500m"}] * 2
    assert len({r["shareID"] for [r] in told}) == 2
    bench.bind()
    assert bench.pod("p").draws == {f"{DRIVER}/n/a/room": 2500}


def test_a_shared_claim_is_allocated_once_and_reserved_for_all() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"), uses("q", "c"))

    prepared(step(bench), bench)

    assert status(bench)["reservedFor"] == reserved("p", "q")
    assert len(bench.server.sent("PATCH", "/status")) == 1


def test_what_is_done_already_is_not_done_again() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    prepared(step(bench), bench)
    before = len(bench.server.asked)

    prepared(step(bench), bench)

    assert len(bench.server.asked) == before


def test_an_allocated_claim_is_only_reserved() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    prepared(step(bench), bench)
    bench.bind()
    bench.server.put(uses("q", "c"))
    later = Bench.again(bench.server)

    prepared(step(later), later)

    assert [b.pod.name for b in later.pods] == ["q"]
    assert status(later)["reservedFor"] == reserved("p", "q")
    assert bench.server.asked[-1].body["status"].keys() == {"reservedFor"}


def test_devices_that_somebody_else_gave_it_are_not_taken_for_the_plans() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a", "b"), claim(), uses("p", "c"))
    other = [{"request": "r", "driver": DRIVER, "pool": "n", "device": "z"}]
    bench.server.change(PATH + "c", {"status": {"allocation": {"devices": {"results": other}}}})

    with pytest.raises(NotReadyError, match=r"by somebody else: it has gpu.example.com/n/z"):
        prepared(step(bench), bench)

    assert "reservedFor" not in status(bench)


def test_two_claims_never_get_one_device_be_it_that_the_watch_is_late() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    other = Bench.of(node(), kind(), pool("n", "a"), claim("d"), uses("q", "d"))
    bench.server.put(claim("d"), uses("q", "d"))
    works = step(bench)
    bench.server.deaf = True
    prepared(works, bench)

    with pytest.raises(NotReadyError, match=r"device gpu.example.com/n/a is that of .*default/c"):
        prepared(works, other)
    assert status(bench, "d") == {}
    done(works.undo(GROUP, bench.pods))
    prepared(works, other)

    assert status(bench, "d")["reservedFor"] == reserved("q")


def test_a_device_is_free_again_once_its_claim_is_seen_to_be_gone() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    works = step(bench)
    prepared(works, bench)
    for path in (PATH + "c", "/api/v1/namespaces/default/pods/p"):
        bench.server.remove(path)
    bench.server.put(claim("d"), uses("q", "d"))
    later = Bench.again(bench.server)

    prepared(works, later)

    assert status(bench, "d")["reservedFor"] == reserved("q")


def test_a_device_that_another_claim_has_is_not_given_twice() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    has = [{"request": "r", "driver": DRIVER, "pool": "n", "device": "a"}]
    theirs = claim("theirs")
    theirs["status"] = {"allocation": {"devices": {"results": has}}}
    bench.server.put(theirs)

    with pytest.raises(NotReadyError, match=r"is that of ResourceClaim default/theirs by now"):
        prepared(step(bench), bench)

    assert bench.server.asked == []


def test_a_claim_that_is_changed_meanwhile_is_read_anew() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))

    def once(asked: Asked) -> None:
        bench.server.script = lambda _: None
        bench.server.change(PATH + "c", {"metadata": {"labels": {"x": "y"}}})

    bench.server.script = once

    prepared(step(bench), bench)

    assert status(bench)["reservedFor"] == reserved("p")
    assert bench.object(PATH + "c")["metadata"]["labels"] == {"x": "y"}


def test_a_claim_that_is_changed_again_and_again_is_left_for_later() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    bench.server.script = lambda asked: RefusedError(409, "Conflict")

    with pytest.raises(NotReadyError, match=r"allocating ResourceClaim default/c for pod .*409"):
        prepared(step(bench), bench)

    assert len(bench.server.asked) == TRIES


def test_a_claim_that_is_not_made_yet_is_waited_for() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), template(), from_template("p"))

    with pytest.raises(NotReadyError, match="waits for the ResourceClaim gpus to be made") as said:
        prepared(step(bench), bench)
    bench.server.put(made_for("p"))
    prepared(step(bench), bench)

    assert said.value.wait_s == 1.0
    assert status(bench, "p-gpus-x")["reservedFor"] == reserved("p")


def test_a_pod_that_is_not_bound_lets_its_claim_go() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    works = step(bench)
    prepared(works, bench)

    done(works.undo(GROUP, bench.pods))

    assert status(bench) == {}
    assert pod_in(bench.server.mirror.snapshot(0), "p").spec.claims[0].claim == ""


def test_a_claim_that_others_have_keeps_its_devices() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"), uses("q", "c"))
    works = step(bench)
    prepared(works, bench)

    done(works.undo(GROUP, [b for b in bench.pods if b.pod.name == "q"]))

    assert status(bench)["reservedFor"] == reserved("p")
    assert status(bench)["allocation"]


def test_a_pod_that_runs_after_all_keeps_its_claim() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    works = step(bench)
    prepared(works, bench)
    bench.bind()

    done(works.undo(GROUP, bench.pods))

    assert status(bench)["reservedFor"] == reserved("p")


def test_the_older_form_is_spoken_where_the_server_has_no_newer() -> None:
    bench = Bench.of(node(), kind(), pool("n", "a"), claim(), uses("p", "c"))
    old = FakeObjects(bench.server.mirror)
    path = PATH.replace("/v1/", "/v1beta1/")
    asked = {"requests": [{"name": "r", "deviceClassName": "gpu"}]}
    old.objects[path + "c"] = merged(bench.object(PATH + "c"), {"spec": {"devices": asked}})
    bare = path.replace("namespaces/default/resourceclaims/", "deviceclasses/gpu")
    old.objects[bare] = bench.object(f"/apis/{API}/deviceclasses/gpu")
    old.objects["/api/v1/namespaces/default/pods/p"] = bench.object(
        "/api/v1/namespaces/default/pods/p"
    )
    served = {
        k: Resource(r.group, "v1beta1", r.kind, r.plural, r.namespaced)
        for k, r in RESOURCES.items()
    }

    prepared(Claims(old, old.mirror, served), bench)

    assert [a.path for a in old.asked] == [path + "c", path + "c/status"]


def test_pods_without_claims_are_no_concern() -> None:
    bench = Bench.of(node(), pod("p"))

    assert not step(bench).concerns(bench.pods, bench.plan)
