"""Volumes on a real API server, with the controller that binds them; the provisioner is played."""

import pytest

from cluster.client import Client, Data
from cluster.objects import node, pod
from cluster.plane import ControlPlane
from cluster.scheduler import Schedulers
from cluster.waiting import until

pytestmark = pytest.mark.usefixtures("kwok", "controllers")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
RWO = ["ReadWriteOnce"]


def storage_class(provisioner: str) -> Data:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str, size: str = "1Gi") -> Data:
    spec = {
        "storageClassName": "fast",
        "accessModes": RWO,
        "resources": {"requests": {"storage": size}},
    }
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }  # fmt: skip


def volume(name: str, on: str, size: str = "1Gi", **spec: object) -> Data:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [here]}]}
    body = {
        "capacity": {"storage": size}, "accessModes": RWO, "storageClassName": "fast",
        "nodeAffinity": {"required": required}, "local": {"path": f"/disks/{name}"},
        "persistentVolumeReclaimPolicy": "Retain", **spec,
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": body,
    }  # fmt: skip


def uses(name: str, *claims: str) -> Data:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=volumes)


def selected(client: Client, name: str) -> str:
    notes: dict[str, str] = client.read("persistentvolumeclaims", name)["metadata"].get(
        "annotations", {}
    )
    return notes.get(SELECTED_NODE, "")


def node_of(client: Client, name: str) -> str:
    return str(client.read("pods", name)["spec"].get("nodeName", ""))


def owner_of(client: Client, name: str) -> str:
    ref: dict[str, str] = client.read("persistentvolumes", name)["spec"].get("claimRef") or {}
    return ref.get("name", "")


def provide(client: Client, name: str, on: str) -> None:
    """Do what an external provisioner does: make a volume that is the claim's."""
    there = client.read("persistentvolumeclaims", name)
    ref = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": name,
        "uid": there["metadata"]["uid"],
    }  # fmt: skip
    made = volume(f"made-for-{name}", on, claimRef=ref)
    client.create(made)


def test_a_pod_is_bound_once_its_volume_is_made_and_others_do_not_wait(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1"))
    client.create(storage_class("disk.example.org/nfs"))
    client.create(claim("c"))
    schedulers.start()

    client.create(uses("waits", "c"))
    until(lambda: selected(client, "c") == "n1", "the node is selected")
    client.create(pod("quick"))
    until(lambda: node_of(client, "quick") == "n1", "quick is bound")
    assert node_of(client, "waits") == ""
    provide(client, "c", "n1")

    until(lambda: node_of(client, "waits") == "n1", "the pod is bound")
    assert client.read("persistentvolumeclaims", "c")["status"]["phase"] == "Bound"


def test_a_provisioner_that_fails_once_is_asked_again(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1"))
    client.create(storage_class("disk.example.org/nfs"))
    client.create(claim("c"))
    one = schedulers.start()
    client.create(uses("p", "c"))
    until(lambda: selected(client, "c") == "n1", "the node is selected")

    client.patch(
        "persistentvolumeclaims", "c", {"metadata": {"annotations": {SELECTED_NODE: None}}}
    )

    until(lambda: selected(client, "c") == "n1", "the node is selected again")
    provide(client, "c", "n1")
    until(lambda: node_of(client, "p") == "n1", "the pod is bound")
    assert one.is_running


def test_the_next_replica_goes_on_waiting_where_one_was_killed(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1"))
    client.create(node("n2"))
    client.create(storage_class("disk.example.org/nfs"))
    client.create(claim("c"))
    one = schedulers.start()
    client.create(uses("p", "c"))
    on = until(lambda: selected(client, "c"), "a node is selected")

    one.kill()
    schedulers.start()
    provide(client, "c", on)

    until(lambda: node_of(client, "p") == on, "the pod is bound where its volume is")


def test_local_volumes_are_chosen_on_the_node_each_for_one_claim(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1"))
    client.create(node("n2"))
    client.create(storage_class("kubernetes.io/no-provisioner"))
    for name, on, size in (("a", "n2", "1Gi"), ("b", "n2", "3Gi"), ("c", "n2", "9Gi")):
        client.create(volume(name, on, size))
    for name, size in (("small", "1Gi"), ("large", "2Gi")):
        client.create(claim(name, size))
    until(
        lambda: all(
            v["status"]["phase"] == "Available" for v in client.find_all("persistentvolumes")
        ),
        "volumes are available",
    )
    schedulers.start()

    client.create(uses("p", "small", "large"))

    until(lambda: node_of(client, "p") == "n2", "the pod is bound where its volumes are")
    assert {
        c: client.read("persistentvolumeclaims", c)["spec"]["volumeName"]
        for c in ("small", "large")
    } == {"small": "a", "large": "b"}


def test_a_local_volume_is_free_again_when_its_pod_goes_before_it_is_bound(
    client: Client, schedulers: Schedulers, plane: ControlPlane
) -> None:
    client.create(node("n1"))
    client.create(storage_class("kubernetes.io/no-provisioner"))
    client.create(volume("a", "n1"))
    client.create(claim("c"))
    until(
        lambda: client.read("persistentvolumes", "a")["status"]["phase"] == "Available",
        "the volume is available",
    )
    schedulers.start()

    plane.pause("kube-controller-manager")
    client.create(uses("p", "c"))
    until(lambda: owner_of(client, "a") == "c", "the volume is given away")
    client.delete("pods", "p")

    until(lambda: owner_of(client, "a") == "", "the volume is free")
    plane.resume("kube-controller-manager")


def test_a_pod_with_an_ephemeral_volume_gets_its_claim_made(
    client: Client, schedulers: Schedulers
) -> None:
    client.create(node("n1"))
    client.create(storage_class("kubernetes.io/no-provisioner"))
    client.create(volume("a", "n1"))
    template = {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}
    schedulers.start()

    client.create(pod("p", volumes=[{"name": "tmp", "ephemeral": template}]))

    until(lambda: node_of(client, "p") == "n1", "the pod is bound")
    assert client.read("persistentvolumeclaims", "p-tmp")["spec"]["volumeName"] == "a"
