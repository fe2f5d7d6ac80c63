"""Volumes are made where the pod goes, or chosen there, before it is bound."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE, Volumes
from fakes.objects import FakeObjects
from kubernetes_objects import node, obj, pod

from .bench import GROUP, Bench, Clock, done, prepared, settled

Data = dict[str, Any]
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims/"
VOLUMES = "/api/v1/persistentvolumes/"
LOCAL = "kubernetes.io/no-provisioner"
RWO = ["ReadWriteOnce"]


def kind(provisioner: str = "disk.example.org/nfs") -> Data:
    head = obj("storage.k8s.io/v1", "StorageClass", "fast", None)
    return {**head, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}


def claim(name: str = "c", size: str = "1Gi", **more: Any) -> Data:
    body = {
        "storageClassName": "fast",
        "accessModes": RWO,
        "resources": {"requests": {"storage": size}},
    }
    status = {"phase": "Pending"}
    return obj("v1", "PersistentVolumeClaim", name, spec=body, status=status, **more)


def volume(name: str, on: str | None = "n", size: str = "1Gi", **spec: Any) -> Data:
    fits = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [fits]}]}
    body = {
        "capacity": {"storage": size},
        "accessModes": RWO,
        "storageClassName": "fast",
        **({"nodeAffinity": {"required": required}} if on else {}),
        **spec,
    }
    status = {"phase": "Available"}
    return obj("v1", "PersistentVolume", name, None, spec=body, status=status)


def uses(name: str, *claims: str, **more: Any) -> Data:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=volumes, **more)


def provisioner(
    server: FakeObjects, makes: Callable[[str], Data | None]
) -> Callable[[str, Data], None]:
    """Return one that makes volumes for selected nodes, or takes the selection away."""

    def told(path: str, one: Data) -> None:
        selected = one["metadata"].get("annotations", {}).get(SELECTED_NODE)
        if one["kind"] != "PersistentVolumeClaim" or not selected:
            return
        made = makes(selected)
        if made is None:
            server.change(path, {"metadata": {"annotations": {SELECTED_NODE: None}}})
        else:
            server.put(made)
            bound(server, path, made["metadata"]["name"])

    return told


def bound(server: FakeObjects, path: str, name: str) -> None:
    server.change(path, {"spec": {"volumeName": name}, "status": {"phase": "Bound"}})


def binder(server: FakeObjects) -> Callable[[str, Data], None]:
    """Return the controller that binds a claim to the volume which names it."""

    def told(path: str, one: Data) -> None:
        ref = one.get("spec", {}).get("claimRef")
        if one["kind"] == "PersistentVolume" and ref:
            server.change(path, {"status": {"phase": "Bound"}})
            bound(server, CLAIMS + ref["name"], one["metadata"]["name"])

    return told


def step(bench: Bench, clock: Clock | None = None) -> Volumes:
    return Volumes(bench.server, bench.server.mirror, (clock or Clock()).means)


def test_a_provisioner_is_told_the_node_and_its_volume_is_waited_for() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    bench.server.controllers.append(provisioner(bench.server, lambda n: volume("made", n)))

    prepared(step(bench), bench)

    [sent] = bench.server.asked
    assert (sent.method, sent.path) == ("PATCH", CLAIMS + "c")
    assert sent.body["metadata"]["annotations"] == {SELECTED_NODE: "n"}
    assert sent.body["metadata"]["uid"] == "uid-c"
    assert bench.object(CLAIMS + "c")["status"]["phase"] == "Bound"


def test_waiting_ends_when_the_watch_tells_of_it_and_asks_the_server_nothing() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))

    async def main() -> None:
        waits = asyncio.ensure_future(
            step(bench, Clock(patient=True)).prepare(GROUP, bench.pods, bench.plan)
        )
        await settled()
        assert not waits.done()
        bench.server.put(volume("made"))
        await settled()
        assert not waits.done()
        bound(bench.server, CLAIMS + "c", "made")
        await waits

    done(main())

    assert len(bench.server.asked) == 1


def test_a_provisioner_that_fails_is_told_of_and_the_node_is_free_to_change() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    bench.server.controllers.append(provisioner(bench.server, lambda n: None))

    with pytest.raises(NotReadyError, match=r"could not make the volume of .* default/c for node"):
        prepared(step(bench), bench)

    assert SELECTED_NODE not in bench.object(CLAIMS + "c")["metadata"]["annotations"]
    assert len(bench.server.asked) == 1


def test_after_the_deadline_the_selection_is_taken_back() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    clock = Clock()

    with pytest.raises(NotReadyError, match=r"default/c is not bound after 600 s"):
        prepared(step(bench, clock), bench)

    assert clock.slept == [600.0]
    assert SELECTED_NODE not in bench.object(CLAIMS + "c")["metadata"]["annotations"]


def test_a_pod_that_is_deleted_ends_the_waiting() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    bench.server.controllers.append(
        lambda path, one: bench.server.remove("/api/v1/namespaces/default/pods/p")
        if SELECTED_NODE in one["metadata"]["annotations"] else None
    )  # fmt: skip

    with pytest.raises(NotReadyError, match="pod default/p is gone"):
        prepared(step(bench), bench)

    assert SELECTED_NODE not in bench.object(CLAIMS + "c")["metadata"]["annotations"]


def test_a_volume_that_came_out_elsewhere_is_no_volume_for_the_node() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    bench.server.controllers.append(provisioner(bench.server, lambda n: volume("made", "far")))

    with pytest.raises(NotReadyError, match=r"PersistentVolume made, which node n cannot use"):
        prepared(step(bench), bench)

    assert bench.object(CLAIMS + "c")["spec"]["volumeName"] == "made"


def test_a_selection_of_before_is_waited_for_and_not_written_again() -> None:
    selected = {"annotations": {SELECTED_NODE: "n"}}
    bench = Bench.of(node(), kind(), claim(meta=selected), uses("p", "c"))
    clock = Clock(patient=True)

    async def main() -> None:
        waits = asyncio.ensure_future(step(bench, clock).prepare(GROUP, bench.pods, bench.plan))
        await settled()
        bench.server.put(volume("made"))
        bound(bench.server, CLAIMS + "c", "made")
        await waits

    done(main())

    assert bench.server.asked == []


def test_pods_without_unbound_claims_are_no_concern() -> None:
    held = claim("held")
    held["spec"]["volumeName"], held["status"]["phase"] = "v", "Bound"
    bench = Bench.of(node(), kind(), volume("v"), held, uses("p", "held"), pod("q"))
    waits = Bench.of(node(), kind(), claim(), uses("p", "c"))

    assert not step(bench).concerns(bench.pods, bench.plan)
    assert step(waits).concerns(waits.pods, waits.plan)


def test_local_volumes_are_chosen_the_smallest_that_fits_and_can_be_used_there() -> None:
    bench = Bench.of(
        node(), kind(LOCAL), claim("c", "2Gi"), uses("p", "c"), volume("large", size="9Gi"),
        volume("small", size="1Gi"), volume("fits", size="3Gi"), volume("far", "m", "2Gi"),
        volume("taken", size="2Gi", claimRef={"namespace": "x", "name": "y"}),
    )  # fmt: skip
    bench.server.controllers.append(binder(bench.server))

    prepared(step(bench), bench)

    [sent] = bench.server.asked
    assert (sent.method, sent.path) == ("PATCH", VOLUMES + "fits")
    ref = bench.object(VOLUMES + "fits")["spec"]["claimRef"]
    assert (ref["kind"], ref["namespace"], ref["name"]) == ("PersistentVolumeClaim", "default", "c")
    assert ref["uid"] == "uid-c"
    assert sent.body["metadata"]["resourceVersion"]
    assert sent.body["metadata"]["annotations"] == {BOUND_BY_CONTROLLER: "yes"}


def test_two_claims_never_get_the_same_volume_be_it_in_groups_side_by_side() -> None:
    bench = Bench.of(
        node(), kind(LOCAL), *(volume(f"v{i}") for i in range(4)),
        *(claim(c) for c in "abcd"), uses("p", "a", "b"), uses("q", "c", "d"),
    )  # fmt: skip
    bench.server.deaf = True
    works = step(bench, Clock(patient=True))

    async def main() -> None:
        tasks = [asyncio.ensure_future(works.prepare(GROUP, [b], bench.plan)) for b in bench.pods]
        await settled()
        for told in bench.server.sent("PATCH", VOLUMES):
            binder(bench.server)(told.path, bench.object(told.path))
        bench.server.hear()
        await asyncio.gather(*tasks)

    done(main())

    given = [bench.object(f"{VOLUMES}v{i}")["spec"]["claimRef"]["name"] for i in range(4)]
    assert sorted(given) == ["a", "b", "c", "d"]


def test_a_volume_that_somebody_else_takes_first_is_not_taken_from_him() -> None:
    bench = Bench.of(node(), kind(LOCAL), claim(), uses("p", "c"), volume("v"))
    bench.server.deaf = True
    bench.server.change(VOLUMES + "v", {"spec": {"claimRef": {"namespace": "x", "name": "y"}}})

    with pytest.raises(NotReadyError, match=r"giving PersistentVolume v .*409 Conflict"):
        prepared(step(bench), bench)

    assert bench.object(VOLUMES + "v")["spec"]["claimRef"]["name"] == "y"


def test_a_volume_whose_claim_is_not_bound_in_time_is_free_again() -> None:
    bench = Bench.of(node(), kind(LOCAL), claim(), uses("p", "c"), volume("v"))
    works = step(bench)

    with pytest.raises(NotReadyError, match="look at PersistentVolume v"):
        prepared(works, bench)

    assert "claimRef" not in bench.object(VOLUMES + "v")["spec"]
    assert BOUND_BY_CONTROLLER not in bench.object(VOLUMES + "v")["metadata"]["annotations"]
    bench.server.controllers.append(binder(bench.server))
    prepared(works, bench)
    assert bench.object(CLAIMS + "c")["spec"]["volumeName"] == "v"


def test_where_no_volume_is_left_it_is_said() -> None:
    claims = claim("a"), claim("b"), uses("p", "a", "b")
    bench = Bench.of(node(), kind(LOCAL), *claims, volume("v"), volume("w"))
    bench.server.change(VOLUMES + "w", {"spec": {"claimRef": {"namespace": "x", "name": "y"}}})
    bench.server.controllers.append(binder(bench.server))

    with pytest.raises(NotReadyError, match=r"b: no PersistentVolume of StorageClass fast that"):
        prepared(step(bench), bench)


def test_a_bound_claim_keeps_its_volume_when_the_pod_is_not_bound_after_all() -> None:
    bench = Bench.of(node(), kind(), claim(), uses("p", "c"))
    bench.server.controllers.append(provisioner(bench.server, lambda n: volume("made", n)))
    works = step(bench)
    prepared(works, bench)
    before = len(bench.server.asked)

    done(works.undo(GROUP, bench.pods))

    assert len(bench.server.asked) == before
    assert bench.object(CLAIMS + "c")["metadata"]["annotations"] == {SELECTED_NODE: "n"}


def ephemeral(name: str = "p") -> Data:
    template = {"volumeClaimTemplate": {"spec": claim()["spec"]}}
    return pod(name, volumes=[{"name": "tmp", "ephemeral": template}], meta={"uid": f"uid-{name}"})


@pytest.mark.parametrize(
    ("owner", "want"), [("uid-p", ""), ("uid-other", "is not its own; delete the claim")]
)
def test_the_claim_of_an_ephemeral_volume_is_waited_for_and_is_the_pods_own(
    owner: str, want: str
) -> None:
    bench = Bench.of(node(), kind(), ephemeral())
    bench.server.controllers.append(provisioner(bench.server, lambda n: volume("made", n)))
    refs = [{"kind": "Pod", "name": "p", "uid": owner, "controller": True}]

    async def main() -> None:
        works = step(bench, Clock(patient=True))
        waits = asyncio.ensure_future(works.prepare(GROUP, bench.pods, bench.plan))
        await settled()
        assert not waits.done()
        bench.server.put(claim("p-tmp", meta={"ownerReferences": refs}))
        await waits

    if want:
        with pytest.raises(NotReadyError, match=want):
            done(main())
    else:
        done(main())
        assert bench.object(CLAIMS + "p-tmp")["spec"]["volumeName"] == "made"


def test_a_claim_that_is_not_made_is_tried_again_soon() -> None:
    bench = Bench.of(node(), kind(), ephemeral())

    with pytest.raises(NotReadyError, match=r"default/p-tmp of pod default/p is not made") as said:
        prepared(step(bench), bench)

    assert said.value.wait_s == 1.0
