"""Reservation pods: made where a device is shared, named to the pods, deleted when left over."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps.handover import HandOver
from apportion.adapters.live.steps.node_lock import NodeLock
from apportion.adapters.live.steps.reservation import VISIBLE, Options, Reservations
from apportion.models.devices import GPU
from fakes.objects import Asked, FakeObjects
from kubernetes_objects import node, pod

from .bench import GROUP, Bench, Clock, done, prepared, settled

Data = dict[str, Any]
SPACE = "kai-resource-reservation"
RESERVED = f"/api/v1/namespaces/{SPACE}/pods"
PODS = "/api/v1/namespaces/default/pods/"
TOLD = "run.ai/reserve_for_gpu_index"


def gpus(name: str = "n", number: int = 2) -> Data:
    made = node(name, cpu=64, pods=110, **{GPU: number})
    made["metadata"]["labels"]["nvidia.com/gpu.memory"] = "16000"
    return made


def share(
    name: str, part: str = "0.5", *, notes: dict[str, str] | None = None, **more: Any
) -> Data:
    told = {"gpu-fraction": part, **(notes or {})}
    return pod(name, annotations=told, meta={"uid": f"uid-{name}"}, **more)


def telling(server: FakeObjects) -> Callable[[str, Data], None]:
    """Play the program of a reservation pod: it tells the device that it was given."""

    def told(path: str, one: Data) -> None:
        notes = one["metadata"].get("annotations", {})
        if path.startswith(RESERVED) and TOLD not in notes:
            server.change(path, {"metadata": {"annotations": {TOLD: f"GPU-{path[-1]}"}}})

    return told


def reservations(bench: Bench, clock: Clock | None = None, image: str = "x") -> Reservations:
    means = (clock or Clock()).means
    return Reservations(bench.server, bench.server.mirror, Options(image), means)


def step(of: Reservations) -> HandOver:
    return HandOver(of.api, of.seen, of, NodeLock(of.api, of.seen, of.means), of.means)


def served(*things: Data) -> tuple[Bench, Reservations]:
    bench = Bench.of(*things)
    bench.server.controllers.append(telling(bench.server))
    return bench, reservations(bench)


def reserved(bench: Bench) -> list[Data]:
    return [o for p, o in sorted(bench.server.objects.items()) if p.startswith(RESERVED)]


def test_a_device_is_reserved_and_its_pod_knows_which() -> None:
    bench, works = served(gpus(), share("p"))

    prepared(step(works), bench)

    [made] = reserved(bench)
    assert made["spec"]["nodeName"] == "n"
    assert made["spec"]["containers"][0]["resources"]["limits"] == {GPU: 1}
    assert made["spec"]["schedulerName"] not in ("apportion", "default-scheduler")
    [index] = bench.plan.devices[bench.pods[0].pod.key]
    assert made["metadata"]["annotations"]["apportion.dev/device-index"] == str(index)
    assert bench.labels("p") == {"runai-gpu-group": made["metadata"]["labels"]["runai-gpu-group"]}
    assert bench.notes("p")[VISIBLE] == made["metadata"]["annotations"][TOLD]


def test_the_label_is_there_before_the_reservation() -> None:
    bench, works = served(gpus(), share("p"))

    prepared(step(works), bench)

    assert [a.path for a in bench.server.asked] == [PODS + "p", RESERVED, PODS + "p"]


def test_pods_on_one_device_have_one_reservation_and_the_door_reads_them_together() -> None:
    bench, works = served(gpus(), *(share(x) for x in "pqr"))

    prepared(step(works), bench)
    bench.bind()

    devices = bench.plan.devices
    want = {b.pod.name: devices[b.pod.key] for b in bench.pods}
    assert sorted(want.values()) in ([(0,), (0,), (1,)], [(0,), (1,), (1,)])
    assert {x: bench.pod(x).devices for x in "pqr"} == want
    assert len(reserved(bench)) == 2
    later = Bench.again(bench.server).snapshot
    assert all(GPU not in p.spec.requests for p in later.pods if p.namespace == SPACE)


def test_a_pod_on_several_devices_names_each_of_their_groups() -> None:
    bench, works = served(gpus(), share("p", notes={"gpu-fraction-num-devices": "2"}))

    prepared(step(works), bench)
    bench.bind()

    groups = {r["metadata"]["labels"]["runai-gpu-group"] for r in reserved(bench)}
    assert bench.labels("p") == {f"runai-gpu-group/{g}": g for g in groups}
    assert bench.notes("p")[VISIBLE].split(",") == ["GPU-0", "GPU-1"]
    assert bench.pod("p").devices == (0, 1)


def test_a_share_joins_the_group_that_is_there_be_it_of_kai() -> None:
    notes = {TOLD: "GPU-kai"}
    theirs = pod(
        "gpu-reservation-n-abcde", {GPU: 1}, namespace=SPACE, nodeName="n", annotations=notes,
        labels={"runai-gpu-group": "kais"}, scheduler="kai-scheduler",
    )  # fmt: skip
    first = share("first", nodeName="n", labels={"runai-gpu-group": "kais"})
    bench, works = served(gpus(number=1), theirs, first, share("p"))

    prepared(step(works), bench)

    assert bench.labels("p") == {"runai-gpu-group": "kais"}
    assert bench.notes("p")[VISIBLE] == "GPU-kai"
    assert bench.server.sent("POST") == []


def test_what_a_try_before_has_left_is_used_or_taken_away() -> None:
    bench, works = served(gpus(), share("p", labels={"runai-gpu-group/old": "old", "app": "x"}))
    prepared(step(works), bench)
    made = len(reserved(bench))

    prepared(step(works), bench)

    assert (made, len(reserved(bench))) == (1, 1)
    assert set(bench.labels("p")) == {"runai-gpu-group", "app"}


def test_waiting_for_the_device_ends_when_the_watch_tells_it() -> None:
    bench = Bench.of(gpus(), share("p"))
    works = step(reservations(bench, Clock(patient=True)))

    async def main() -> None:
        waits = asyncio.ensure_future(works.prepare(GROUP, bench.pods, bench.plan))
        await settled()
        assert not waits.done()
        [made] = reserved(bench)
        telling(bench.server)(f"{RESERVED}/{made['metadata']['name']}", made)
        await waits

    done(main())

    assert bench.notes("p")[VISIBLE] == "GPU-0"


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({}, "has not told its device after 120 s"),
        ({"status": {"phase": "Failed", "reason": "OutOfnvidia.com/gpu"}}, "OutOfnvidia.com/gpu"),
        ({"metadata": {"deletionTimestamp": "2026-01-05T12:00:00Z"}}, "is being deleted"),
    ],
)
def test_a_device_that_cannot_be_reserved_is_told_of_and_the_pod_is_unmarked(
    change: Data, want: str
) -> None:
    bench = Bench.of(gpus(), share("p"))

    def told(path: str, one: Data) -> None:
        if path.startswith(RESERVED) and change:
            bench.server.change(path, change)

    bench.server.controllers.append(told)

    with pytest.raises(NotReadyError, match=want):
        prepared(step(reservations(bench)), bench)

    assert bench.labels("p") == {}
    assert VISIBLE not in bench.notes("p")


def test_without_an_image_shares_wait_and_it_is_said_what_to_set() -> None:
    bench = Bench.of(gpus(), share("p"))

    with pytest.raises(NotReadyError, match=r"no image for them is set: --reservation-image"):
        prepared(step(reservations(bench, image="")), bench)

    assert bench.server.sent("POST") == []


@pytest.mark.parametrize(
    ("notes", "want"),
    [({}, "0"), ({"gpu-fraction-container-name": "first"}, "i0")],
)
def test_the_config_maps_that_kai_has_put_into_the_pod_are_filled(
    notes: dict[str, str], want: str
) -> None:
    notes = {"runai/shared-gpu-configmap": "job-abc-shared-gpu", **notes}
    bench, works = served(gpus(), share("p", notes=notes, initContainers=[{"name": "first"}]))

    prepared(step(works), bench)

    root = f"/api/v1/namespaces/default/configmaps/job-abc-shared-gpu-{want}"
    told = bench.notes("p")[VISIBLE]
    assert bench.object(root)["data"] == {
        "NVIDIA_VISIBLE_DEVICES": told, "GPU_PORTION": "0.50", "RUNAI_NUM_OF_GPUS": "0.50",
    }  # fmt: skip
    assert bench.object(f"{root}-evar")["data"] == {"NVIDIA_VISIBLE_DEVICES": told}
    assert bench.object(root)["metadata"]["ownerReferences"][0]["uid"] == "uid-p"


def test_a_reservation_in_use_is_never_deleted_and_one_left_over_is() -> None:
    bench, works = served(gpus(), share("p"), share("q", "0.8"))
    prepared(step(works), bench)
    bench.bind()
    before = {r["metadata"]["name"] for r in reserved(bench)}

    kept = done(works.sweep())
    bench.server.remove(PODS + "q")
    gone = done(works.sweep())

    assert len(before) == 2
    assert kept == []
    assert len(gone) == 1
    [left] = reserved(bench)
    assert left["metadata"]["labels"]["runai-gpu-group"] == bench.labels("p")["runai-gpu-group"]
    [sent] = bench.server.sent("DELETE")
    assert sent.body["preconditions"]["uid"].startswith("uid-gpu-reservation")


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"status": {"phase": "Succeeded"}}, 1),
        ({"status": {"phase": "Pending"}}, 0),
        ({"metadata": {"deletionTimestamp": "2026-01-05T12:00:00Z"}}, 0),
    ],
    ids=["over", "waits", "leaves"],
)
def test_a_pod_uses_its_device_until_it_is_over(change: Data, want: int) -> None:
    bench, works = served(gpus(), share("p"))
    prepared(step(works), bench)
    bench.server.change(PODS + "p", change)

    assert len(done(works.sweep())) == want


def test_a_pod_that_the_mirror_has_not_heard_of_yet_saves_its_reservation() -> None:
    bench, works = served(gpus(), share("p"))
    prepared(step(works), bench)
    labels = bench.labels("p")
    bench.server.remove(PODS + "p")
    bench.server.deaf = True
    bench.server.put(share("late", labels=dict(labels)))

    assert done(works.sweep()) == []


def test_a_device_that_is_being_handed_over_is_not_swept() -> None:
    bench = Bench.of(gpus(), share("p"))
    works = reservations(bench, Clock(patient=True))

    async def main() -> list[str]:
        waits = asyncio.ensure_future(step(works).prepare(GROUP, bench.pods, bench.plan))
        await settled()
        bench.server.change(PODS + "p", {"metadata": {"labels": {"runai-gpu-group": None}}})
        found = await works.sweep()
        waits.cancel()
        return found

    assert done(main()) == []


def test_reservations_of_others_are_theirs() -> None:
    theirs = pod(
        "gpu-reservation-n-abcde", {GPU: 1}, namespace=SPACE, nodeName="n",
        labels={"runai-gpu-group": "kais"}, annotations={TOLD: "GPU-kai"}, scheduler="kai",
    )  # fmt: skip
    bench, works = served(gpus(), theirs)

    assert done(works.sweep()) == []
    assert len(reserved(bench)) == 1


def test_a_server_that_says_no_to_deleting_is_asked_again_by_the_next_sweep() -> None:
    bench, works = served(gpus(), share("p"))
    prepared(step(works), bench)
    bench.server.remove(PODS + "p")

    def no(asked: Asked) -> Exception | None:
        return RefusedError(500, "InternalError") if asked.method == "DELETE" else None

    bench.server.script = no
    first = done(works.sweep())
    bench.server.script = lambda _: None

    assert (first, len(done(works.sweep()))) == ([], 1)
