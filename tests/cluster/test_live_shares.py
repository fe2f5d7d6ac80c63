"""Shares of GPUs on a real API server; the programs on the nodes are played."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.authorizing import wait_authorized
from cluster.client import Client, Data
from cluster.manifests import apply_all
from cluster.objects import node, pod
from cluster.scheduler import Schedulers
from cluster.waiting import stays, until

pytestmark = pytest.mark.usefixtures("kwok", "controllers", "shares")
ROOT = Path(__file__).resolve().parents[2]
SPACE = "kai-resource-reservation"
TOLD = "run.ai/reserve_for_gpu_index"
LOCK = "hami.io/mutex.lock"
IMAGE = "--reservation-image=example.com/reservation"


@pytest.fixture
def shares(client: Client, installed: object) -> None:
    """The rights for shares, beside those of the manifest."""
    assert installed
    apply_all(client, yaml.safe_load_all((ROOT / "deploy" / "shares.yaml").read_text()))
    wait_authorized(client)


def gpus(name: str, number: int = 2) -> Data:
    return node(name, number, labels={"nvidia.com/gpu.memory": "16000"})


def share(name: str, part: str = "0.5", **notes: str) -> Data:
    return pod(name, annotations={"gpu-fraction": part, **notes})


def limited(name: str, **limits: Any) -> Data:
    made = pod(name)
    resources = made["spec"]["containers"][0]["resources"]
    for of in ("limits", "requests"):
        resources[of] = {**resources[of], **{k: str(v) for k, v in limits.items()}}
    return made


def reservations(client: Client) -> list[Data]:
    return client.find_all("pods", SPACE)


def tell(client: Client, number: int) -> None:
    """Do what the program of each reservation pod does, once there are so many."""
    until(lambda: len(reservations(client)) == number, f"{number} reservation pods")
    for made in reservations(client):
        meta = made["metadata"]
        if TOLD not in meta["annotations"]:
            uuid = f"GPU-{meta['annotations']['apportion.dev/device-index']}"
            change = {"metadata": {"annotations": {TOLD: uuid}}}
            client.patch("pods", meta["name"], change, SPACE)


def node_of(client: Client, name: str) -> str:
    return str(client.read("pods", name)["spec"].get("nodeName", ""))


def bound(client: Client, *names: str) -> None:
    until(lambda: all(node_of(client, n) for n in names), f"{names} are bound")


def notes(client: Client, name: str) -> dict[str, str]:
    found: dict[str, str] = client.read("pods", name)["metadata"].get("annotations", {})
    return found


def test_shares_of_a_device_have_one_reservation_for_as_long_as_they_run(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(gpus("n1", 1))
    client.create(share("p"))
    client.create(share("q"))
    schedulers.start(IMAGE)

    tell(client, 1)
    bound(client, "p", "q")
    assert {notes(client, x)["apportion.dev/visible-devices"] for x in "pq"} == {"GPU-0"}
    until(
        lambda: [r["status"]["phase"] for r in reservations(client)] == ["Running"],
        "the reservation runs",
    )
    [made] = reservations(client)
    assert made["spec"]["nodeName"] == "n1"

    client.delete("pods", "p")
    until(lambda: client.find("pods", "p") is None, "p is gone")
    stays(lambda: len(reservations(client)) == 1, "the reservation that q needs", 1)
    client.delete("pods", "q")
    until(lambda: reservations(client) == [], "nothing is reserved for nobody")


def test_what_kais_admission_has_a_pod_read_is_there_when_it_is_bound(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(gpus("n1", 1))
    meta = {"name": "job-shared-gpu-0", "namespace": "default"}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})
    schedulers.start(IMAGE)

    client.create(share("p", **{"runai/shared-gpu-configmap": "job-shared-gpu"}))
    tell(client, 1)

    bound(client, "p")
    for name in ("job-shared-gpu-0", "job-shared-gpu-0-evar"):
        assert client.read("configmaps", name)["data"]["NVIDIA_VISIBLE_DEVICES"] == "GPU-0"
    assert client.read("configmaps", "job-shared-gpu-0")["data"]["GPU_PORTION"] == "0.50"


def test_a_whole_gpu_and_shares_never_meet_on_one_device(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(gpus("n1", 2))
    client.create(share("p"))
    schedulers.start(IMAGE)
    tell(client, 1)
    bound(client, "p")

    for name in ("w", "x"):
        client.create(pod(name, 1))

    until(lambda: node_of(client, "w") or node_of(client, "x"), "one whole GPU is given")
    stays(lambda: not (node_of(client, "w") and node_of(client, "x")), "the other waits", 1)


def test_what_volcanos_plug_in_reads_is_there_when_the_pod_is_bound(
    client: Client, schedulers: Schedulers
) -> None:
    made = node("n1", 0)
    register = "GPU-a,10,16000,T4,true,hami-core:GPU-b,10,16000,T4,true,hami-core:"
    made["metadata"]["annotations"]["volcano.sh/node-vgpu-register"] = register
    room = {"volcano.sh/vgpu-number": "20", "volcano.sh/vgpu-memory": "32000",
            "volcano.sh/vgpu-cores": "200"}  # fmt: skip
    made["status"]["allocatable"] |= room
    made["status"]["capacity"] |= room
    client.create(made)
    schedulers.start()

    client.create(limited("p", **{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}))

    bound(client, "p")
    told = notes(client, "p")
    assert told["volcano.sh/vgpu-ids-new"] in ("GPU-a,NVIDIA,3000,0:", "GPU-b,NVIDIA,3000,0:")
    assert told["volcano.sh/devices-to-allocate"] == told["volcano.sh/vgpu-ids-new"]
    assert (told["volcano.sh/vgpu-node"], told["volcano.sh/bind-phase"]) == ("n1", "allocating")


def lock_of(client: Client) -> str:
    held: dict[str, str] = client.read("nodes", "n1")["metadata"].get("annotations", {})
    return held.get(LOCK, "").rpartition(",")[2]


def test_hamis_plug_in_is_given_one_pod_after_the_other(
    client: Client, schedulers: Schedulers
) -> None:
    made = node("n1", 20)
    register = "GPU-a,10,16000,100,NVIDIA-T4,0,true:GPU-b,10,16000,100,NVIDIA-T4,0,true:"
    made["metadata"]["annotations"]["hami.io/node-nvidia-register"] = register
    client.create(made)
    names = ["p0", "p1", "p2"]
    of = "gang.scheduling.koordinator.sh/"
    gang = {f"{of}name": "g", f"{of}min-available": "3"}
    schedulers.start()
    for name in names:
        one = limited(name, **{"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000})
        one["metadata"]["annotations"] |= gang
        client.create(one)

    served: list[str] = []
    for _ in names:
        until(partial(lock_of, client), "a lock")
        name = lock_of(client)
        bound(client, name)
        assert name not in served
        served.append(name)
        client.patch("nodes", "n1", {"metadata": {"annotations": {LOCK: None}}})

    bound(client, *names)
    assert sorted(served) == names
    given = [notes(client, n)["hami.io/vgpu-devices-allocated"] for n in names]
    assert all(g.endswith(",NVIDIA,4000,0:;") for g in given)
