"""Devices for extended resources: the claim is made, told to the pod, and taken back with it."""

from typing import Any

import pytest

from apportion.adapters.kubernetes.extended_resources import OF_EXTENDED
from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps.claims import FINALIZER
from fakes.objects import Asked
from kubernetes_objects import node, pod

from .bench import Bench, prepared
from .test_claims import DRIVER, PATH, kind, on_node, pool, reserved, step

Data = dict[str, Any]
CARD = "example.com/card"
POD = "/api/v1/namespaces/default/pods/p"


def served() -> Data:
    return kind(extendedResourceName=CARD)


def asking(count: int = 1) -> Data:
    return pod("p", {CARD: str(count)}, meta={"uid": "uid-p"})


def made(bench: Bench) -> Data:
    [found] = [o for path, o in bench.server.objects.items() if path.startswith(PATH)]
    return found


def test_the_claim_is_made_allocated_and_told() -> None:
    bench = Bench.of(node(), served(), pool("n", "a", "b"), asking())

    prepared(step(bench), bench)

    claim = made(bench)
    name = claim["metadata"]["name"]
    assert name.startswith("p-extended-resources-")
    assert claim["metadata"]["annotations"] == {OF_EXTENDED: "true"}
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("uid-p", True)
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    request = "container-0-request-0"
    assert claim["spec"]["devices"]["requests"] == [{"name": request, "exactly": exactly}]
    given = {"request": request, "driver": DRIVER, "pool": "n", "device": "a"}
    assert claim["status"] == {
        "allocation": {"devices": {"results": [given]}, "nodeSelector": on_node("n")},
        "reservedFor": reserved("p"),
    }
    container = bench.object(POD)["spec"]["containers"][0]["name"]
    assert bench.object(POD)["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": name,
        "requestMappings": [
            {"containerName": container, "resourceName": CARD, "requestName": request}
        ],
    }


def test_the_door_reads_the_devices_back() -> None:
    bench = Bench.of(node(), served(), pool("n", "a", "b"), asking(2))

    prepared(step(bench), bench)
    bench.bind()

    assert bench.pod("p").claimed == (f"{DRIVER}/n/a", f"{DRIVER}/n/b")
    assert bench.pod("p").spec.requests[CARD] == 2000


def test_where_a_plug_in_serves_it_there_is_no_claim() -> None:
    plugged = node("m", cpu="8", memory="32Gi", pods="110", **{CARD: "1"})
    bench = Bench.of(plugged, served(), pool("n", "a"), asking())

    prepared(step(bench), bench)

    assert bench.server.asked == []


def test_a_second_try_finds_what_the_first_has_made() -> None:
    bench = Bench.of(node(), served(), pool("n", "a"), asking())
    prepared(step(bench), bench)
    again = Bench.again(bench.server)

    prepared(step(again), again)

    assert len(again.server.sent("POST")) == 1
    assert made(again)["status"]["reservedFor"] == reserved("p")


def test_a_pod_that_is_not_bound_leaves_no_claim() -> None:
    def refuse(asked: Asked) -> Exception | None:
        told = asked.path == f"{POD}/status"
        return RefusedError(500, "InternalError", "no") if told else None

    bench = Bench.of(node(), served(), pool("n", "a"), asking())
    bench.server.script = refuse

    with pytest.raises(NotReadyError, match="allocating ResourceClaim default/p-extended"):
        prepared(step(bench), bench)

    assert not [path for path in bench.server.objects if path.startswith(PATH)]


def test_a_claim_for_another_node_is_made_anew() -> None:
    bench = Bench.of(node(), served(), pool("n", "a"), asking())
    prepared(step(bench), bench)
    path = PATH + made(bench)["metadata"]["name"]
    other = {"spec": {"devices": {"requests": [{"name": "container-0-request-7"}]}}}
    bench.server.change(path, {**other, "status": {"allocation": None, "reservedFor": None}})
    assert bench.object(path)["metadata"]["finalizers"] == [FINALIZER]

    with pytest.raises(NotReadyError, match="made anew"):
        prepared(step(bench), bench)

    assert path not in bench.server.objects
