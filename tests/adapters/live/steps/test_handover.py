"""Each way is told which devices a pod gets, and the door reads the same devices back."""

import asyncio
import json
from typing import Any

import pytest

from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps.handover import HandOver
from apportion.adapters.live.steps.node_lock import LOCK, NodeLock
from apportion.adapters.live.steps.reservation import Reservations
from apportion.models.devices import GPU
from fakes.objects import Asked, FakeObjects
from kubernetes_objects import NOON_S, container, node, pod

from .bench import GROUP, Bench, Clock, done, prepared, settled

Data = dict[str, Any]
NODE = "/api/v1/nodes/n"
PODS = "/api/v1/namespaces/default/pods/"
VGPU = "volcano.sh/vgpu-"
HAMI_CARDS = "GPU-a,10,16000,100,NVIDIA-T4,0,true:GPU-b,10,16000,100,NVIDIA-T4,0,true:"
VOLCANO_CARDS = "GPU-a,10,16000,T4,true,hami-core:GPU-b,10,16000,T4,true,hami-core:"


def step(bench: Bench, clock: Clock | None = None) -> HandOver:
    server, means = bench.server, (clock or Clock()).means
    return HandOver(
        server, server.mirror, Reservations(server, server.mirror, means=means),
        NodeLock(server, server.mirror, means), means,
    )  # fmt: skip


def hami_node(**labels: str) -> Data:
    made = node("n", cpu=64, pods=110, **{GPU: 20})
    made["metadata"]["annotations"] = {"hami.io/node-nvidia-register": HAMI_CARDS}
    return made


def volcano_node() -> Data:
    made = node("n", cpu=64, pods=110, **{VGPU + "number": 20, VGPU + "memory": 32000,
                                          VGPU + "cores": 200})  # fmt: skip
    made["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": VOLCANO_CARDS}
    return made


def asking(name: str, *containers: Any, **more: Any) -> Data:
    """Return a pod of containers with these limits."""
    made = [
        container({"cpu": 1}, limits={k: str(v) for k, v in c.items()}, name=f"c{i}")
        for i, c in enumerate(containers)
    ]
    for c in made:
        c["resources"]["requests"] |= c["resources"]["limits"]
    return pod(name, containers=made, meta={"uid": f"uid-{name}"}, **more)


def hami(mib: int = 4000, cores: int = 0, number: int = 1) -> Data:
    asked = {GPU: number, "nvidia.com/gpumem": mib}
    return {**asked, "nvidia.com/gpucores": cores} if cores else asked


def serving(server: FakeObjects) -> list[str]:
    """Play HAMi's plug-in: it serves the pod of the lock, then gives the lock back."""
    served: list[str] = []

    def told(path: str, one: Data) -> None:
        lock = one["metadata"].get("annotations", {}).get(LOCK, "")
        name = lock.rpartition(",")[2]
        if one["kind"] == "Node" and lock:
            served.append(name)
            server.change(NODE, {"metadata": {"annotations": {LOCK: None}}})

    server.controllers.append(told)
    return served


def bound(server: FakeObjects) -> None:
    """Let binds through, as an API server does."""
    send = server.send

    async def sent(method: str, path: str, body: Any = None, **more: Any) -> bytes:
        if not path.endswith("/binding"):
            return await send(method, path, body, **more)
        server.asked.append(Asked(method, path, body))
        server.change(path.removesuffix("/binding"), {"spec": {"nodeName": body["target"]["name"]}})
        return b"{}"

    server.send = sent  # type: ignore[method-assign]  # the fake has no pods to bind otherwise


def test_hami_is_told_in_its_own_words_and_the_door_reads_them() -> None:
    bench = Bench.of(hami_node(), asking("p", hami(4000, 30)))

    prepared(step(bench), bench)

    notes = bench.notes("p")
    [index] = bench.plan.devices[bench.pods[0].pod.key]
    uuid = ("GPU-a", "GPU-b")[index]
    told = f"{uuid},NVIDIA,4000,30:;"
    assert notes == {
        "hami.io/vgpu-node": "n",
        "hami.io/vgpu-time": str(NOON_S),
        "hami.io/bind-time": str(NOON_S),
        "hami.io/bind-phase": "allocating",
        "hami.io/vgpu-devices-to-allocate": told,
        "hami.io/vgpu-devices-allocated": told,
    }
    assert bench.labels("p") == {"hami.io/vgpu-node": "n"}
    assert bench.object(NODE)["metadata"]["annotations"][LOCK] == "2026-01-05T12:00:00Z,default,p"
    bench.bind()
    assert bench.pod("p").devices == (index,)


@pytest.mark.parametrize(("mib", "other"), [(2000, "GPU-a"), (9000, "GPU-b")])
def test_hami_has_an_entry_for_every_container_init_containers_first(mib: int, other: str) -> None:
    quick = container({"cpu": 1}, name="quick")
    bench = Bench.of(
        hami_node(),
        asking("p", {}, hami(mib), {GPU: 1, "nvidia.com/gpumem-percentage": 50},
               initContainers=[quick]),
    )  # fmt: skip

    prepared(step(bench), bench)

    told = bench.notes("p")["hami.io/vgpu-devices-to-allocate"]
    assert told == f";;GPU-a,NVIDIA,{mib},0:;{other},NVIDIA,8000,0:;"


def test_hami_is_told_of_other_vendors_devices_in_their_words() -> None:
    there = node("n", cpu=64, pods=110, **{"iluvatar.ai/BI-V150-vgpu": 20})
    there["metadata"]["annotations"] = {
        "hami.io/node-BI-V150-register": "BI-0,10,32768,100,BI-V150,0,true:"
    }
    asks = {"iluvatar.ai/BI-V150-vgpu": 1, "iluvatar.ai/BI-V150.vMem": 64}
    bench = Bench.of(there, asking("p", asks))

    prepared(step(bench), bench)

    notes = bench.notes("p")
    told = "BI-0,BI-V150,16384,0:;"
    assert notes["hami.io/BI-V150-devices-to-allocate"] == told
    assert notes["hami.io/BI-V150-devices-allocated"] == told
    assert notes["hami.io/bind-phase"] == "allocating"
    assert not any("vgpu-devices" in k for k in notes)
    bench.bind()
    assert bench.pod("p").devices == (0,)


NPU = "huawei.com/Ascend910B3"


@pytest.mark.parametrize(
    ("asked", "node_notes", "pod_notes", "told", "runtime"),
    [
        # 10,000 MiB take the template of 16 GiB.
        ({NPU: 1, NPU + "-memory": 10000}, {}, {}, "A-0,Ascend910B3,16384,0:;",
         [{"UUID": "A-0", "temp": "vir05_1c_16g", "memory": 16384}]),
        ({NPU: 2}, {}, {}, "A-0,Ascend910B3,65536,0:A-1,Ascend910B3,65536,0:;",
         [{"UUID": "A-0", "memory": 65536}, {"UUID": "A-1", "memory": 65536}]),
        ({NPU: 1, NPU + "-memory": 10000, NPU + "-core": 20}, {"hami-vnpu-core": "true"},
         {"huawei.com/vnpu-mode": "hami-core"}, "A-0,Ascend910B3,10000,20:;",
         [{"UUID": "A-0", "memory": 10000, "core": 20}]),
    ],
)  # fmt: skip
def test_npus_are_told_by_template(
    asked: Data, node_notes: Data, pod_notes: Data, told: str, runtime: list[Data]
) -> None:
    there = node("n", cpu=64, pods=110, **{NPU: 20})
    cards = [{"id": f"A-{i}", "count": 4, "devmem": 65536, "type": "B3"} for i in range(2)]
    register = {"hami.io/node-register-Ascend910B3": json.dumps(cards)}
    there["metadata"]["annotations"] = {**register, **node_notes}
    bench = Bench.of(there, asking("p", asked, annotations=pod_notes))

    prepared(step(bench), bench)

    notes = bench.notes("p")
    assert notes["hami.io/Ascend910B3-devices-to-allocate"] == told
    assert json.loads(notes["huawei.com/Ascend910B3"]) == runtime
    assert notes["predicate-time"] == str(NOON_S)


def test_whole_devices_of_hami_are_handed_over_too() -> None:
    bench = Bench.of(hami_node(), asking("w", {GPU: 1}), asking("p", hami()))

    prepared(step(bench), bench, [b for b in bench.pods if b.pod.name == "w"])

    told = bench.notes("w")["hami.io/vgpu-devices-allocated"]
    assert told.endswith(",NVIDIA,16000,0:;")


def test_pods_of_one_node_of_hami_are_served_one_by_one() -> None:
    pods = [asking(f"p{i}", hami()) for i in range(3)]
    bench = Bench.of(hami_node(), *pods)
    served = serving(bench.server)
    bound(bench.server)

    prepared(step(bench), bench)

    assert served == ["p0", "p1", "p2"]
    assert [a.path for a in bench.server.sent("POST")] == [f"{PODS}p{i}/binding" for i in (0, 1)]
    times = [bench.notes(f"p{i}")["hami.io/vgpu-time"] for i in range(3)]
    assert times == sorted(set(times))


def test_a_pod_that_hami_does_not_serve_ends_the_waiting() -> None:
    bench = Bench.of(hami_node(), asking("p", hami()), asking("q", hami()))
    bound(bench.server)

    with pytest.raises(NotReadyError, match=r"node n: HAMi's plug-in .* not served pod default/p"):
        prepared(step(bench), bench)

    assert LOCK in bench.object(NODE)["metadata"]["annotations"], "p runs, and may be served yet"
    assert bench.notes("p")["hami.io/bind-phase"] == "allocating"
    assert bench.notes("q") == {}


def test_a_replica_that_leads_no_longer_binds_nobody_in_turn() -> None:
    bench = Bench.of(hami_node(), asking("p", hami()), asking("q", hami()))
    bound(bench.server)
    works = step(bench)
    works.may_write = lambda: False

    with pytest.raises(NotReadyError, match="another replica leads"):
        prepared(works, bench)

    assert bench.server.sent("POST") == []


@pytest.mark.parametrize(
    ("lock", "want"),
    [
        ("2026-01-05T11:59:00Z,default,other", False),
        ("2026-01-05T11:59:00Z", False),
        ("2026-01-05T11:59:00Z,default,nobody", True),
        ("2026-01-05T11:50:00Z,default,other", True),
        ("2026-01-05T11:59:00Z,default,p", True),
        ("rubbish", True),
    ],
    ids=["another pod's", "older form", "of a pod that is gone", "too old", "its own", "no lock"],
)
def test_a_lock_counts_while_its_pod_is_there_and_it_is_not_old(lock: str, want: bool) -> None:
    other = pod("other", {"cpu": 1}, nodeName="n")
    bench = Bench.of(hami_node(), asking("p", hami()), other)
    bench.server.change(NODE, {"metadata": {"annotations": {LOCK: lock}}})

    if want:
        prepared(step(bench), bench)
    else:
        with pytest.raises(NotReadyError, match="node n is locked for pod"):
            prepared(step(bench), bench)

    now = bench.object(NODE)["metadata"]["annotations"][LOCK]
    assert (now == "2026-01-05T12:00:00Z,default,p") == want


def test_a_lock_is_waited_for_and_no_request_is_made_meanwhile() -> None:
    other = pod("other", {"cpu": 1}, nodeName="n")
    bench = Bench.of(hami_node(), asking("p", hami()), other)
    lock = "2026-01-05T11:59:00Z,default,other"
    bench.server.change(NODE, {"metadata": {"annotations": {LOCK: lock}}})

    async def main() -> int:
        works = step(bench, Clock(patient=True))
        waits = asyncio.ensure_future(works.prepare(GROUP, bench.pods, bench.plan))
        await settled()
        before = len(bench.server.asked)
        assert not waits.done()
        bench.server.change(NODE, {"metadata": {"annotations": {LOCK: None}}})
        await waits
        return before

    assert done(main()) == 1
    assert bench.object(NODE)["metadata"]["annotations"][LOCK].endswith(",default,p")


def test_what_hami_was_told_is_taken_back_with_the_lock() -> None:
    bench = Bench.of(hami_node(), asking("p", hami()))
    works = step(bench)
    prepared(works, bench)

    done(works.undo(GROUP, bench.pods))

    assert (bench.notes("p"), bench.labels("p")) == ({}, {})
    assert LOCK not in bench.object(NODE)["metadata"]["annotations"]


def test_what_a_running_pod_was_told_stays() -> None:
    bench = Bench.of(hami_node(), asking("p", hami()))
    works = step(bench)
    prepared(works, bench)
    bench.bind()

    done(works.undo(GROUP, bench.pods))

    assert bench.notes("p")["hami.io/bind-phase"] == "allocating"
    assert LOCK in bench.object(NODE)["metadata"]["annotations"]


def test_containers_that_ask_for_memory_of_no_device_are_told_what_to_do() -> None:
    bench = Bench.of(hami_node(), asking("p", {"nvidia.com/gpumem": 4000}))

    with pytest.raises(NotReadyError, match="ask for 0 devices, and the plan has 1"):
        prepared(step(bench), bench)


def test_volcano_is_told_in_its_own_words_and_the_door_reads_them() -> None:
    asks = {VGPU + "number": 1, VGPU + "memory": 3000, VGPU + "cores": 20}
    bench = Bench.of(volcano_node(), asking("p", {}, asks))

    prepared(step(bench), bench)

    [index] = bench.plan.devices[bench.pods[0].pod.key]
    told = f";{('GPU-a', 'GPU-b')[index]},NVIDIA,3000,20:"
    assert bench.notes("p") == {
        "volcano.sh/vgpu-node": "n",
        "volcano.sh/vgpu-time": str(NOON_S),
        "volcano.sh/bind-time": str(NOON_S),
        "volcano.sh/bind-phase": "allocating",
        "volcano.sh/devices-to-allocate": told,
        "volcano.sh/vgpu-ids-new": told,
    }
    bench.bind()
    assert bench.pod("p").devices == (index,)


@pytest.mark.parametrize(
    ("asks", "want"),
    [
        ({"number": 2}, "GPU-a,NVIDIA,16000,0:GPU-b,NVIDIA,16000,0:"),
        ({"number": 1, "memory-percentage": 25}, "GPU-a,NVIDIA,4000,0:"),
        ({"number": 1, "memory": 1000, "memory-percentage": 25}, "GPU-a,NVIDIA,4000,0:"),
        ({"memory": 1000}, "GPU-a,NVIDIA,1000,0:"),
    ],
)
def test_every_way_to_ask_volcano(asks: dict[str, int], want: str) -> None:
    bench = Bench.of(volcano_node(), asking("p", {VGPU + k: v for k, v in asks.items()}))

    prepared(step(bench), bench)

    assert bench.notes("p")["volcano.sh/vgpu-ids-new"] == want


def test_what_volcano_was_told_is_taken_back() -> None:
    bench = Bench.of(volcano_node(), asking("p", {VGPU + "number": 1}))
    works = step(bench)
    prepared(works, bench)

    done(works.undo(GROUP, bench.pods))

    assert bench.notes("p") == {}


def test_gpushare_is_told_the_index_of_the_card() -> None:
    cards = node("n", cpu=64, pods=110, **{"volcano.sh/gpu-number": 2,
                                           "volcano.sh/gpu-memory": 32000})  # fmt: skip
    bench = Bench.of(cards, *(asking(x, {"volcano.sh/gpu-memory": 9000}) for x in "pq"))

    prepared(step(bench), bench)

    found = {x: bench.notes(x)["volcano.sh/gpu-index"] for x in "pq"}
    assert set(found.values()) == {"0", "1"}
    times = [int(bench.notes(x)["volcano.sh/predicate-time"]) for x in "pq"]
    assert times == [NOON_S * 10**9, (NOON_S + 1) * 10**9]
    bench.bind()
    assert {x: bench.pod(x).devices for x in "pq"} == {x: (int(found[x]),) for x in "pq"}


def test_a_pod_that_was_replaced_is_not_told_what_was_planned_for_another() -> None:
    bench = Bench.of(volcano_node(), asking("p", {VGPU + "number": 1}))
    bench.server.change(PODS + "p", {"metadata": {"uid": "another"}})

    with pytest.raises(NotReadyError, match="pod default/p is gone"):
        prepared(step(bench), bench)

    assert bench.notes("p") == {}


def test_pods_without_shares_are_no_concern() -> None:
    bench = Bench.of(node("n", cpu=8, pods=9, **{GPU: 1}), asking("p", {GPU: 1}), pod("q"))

    assert not step(bench).concerns(bench.pods, bench.plan)
