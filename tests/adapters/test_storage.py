"""Volume claims at the door: bound, waiting, missing; places, drivers, limits, who shares."""

from typing import Any

import pytest

from apportion.models import NodeSelectorTerm, Requirement, Snapshot, Volume
from kubernetes_objects import Data, node, obj, pod, pod_in, snapshot

DRIVER = "ebs.csi.example.com"
ZONE = "topology.kubernetes.io/zone"


def claim(name: str = "c", volume: str | None = None, **spec: Any) -> Data:
    body = {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        **({"volumeName": volume} if volume else {}),
        **spec,
    }
    return obj("v1", "PersistentVolumeClaim", name, spec=body)


def volume(name: str = "pv", labels: Data | None = None, **spec: Any) -> Data:
    meta = {"labels": labels or {}}
    body = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    return obj("v1", "PersistentVolume", name, None, meta=meta, spec=body)


def kind(mode: str = "WaitForFirstConsumer", provisioner: str = DRIVER, **more: Any) -> Data:
    head = obj("storage.k8s.io/v1", "StorageClass", "fast", None)
    return {**head, "provisioner": provisioner, "volumeBindingMode": mode, **more}


def uses(*claims: str, name: str = "p", **more: Any) -> Data:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=volumes, **more)


def only(world: Snapshot, name: str = "p") -> Volume:
    [found] = pod_in(world, name).spec.volumes
    return found


def term(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement(key, "In", values),))


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        ([], "not found; create it"),
        ([claim()], "StorageClass fast is not in the input"),
        ([claim(storageClassName=None)], "neither named nor the default"),
        ([claim(), kind("Immediate")], "binds at once"),
        ([claim(volume="pv")], "PersistentVolume pv, which is not in the input"),
        ([{**claim(), "status": {"phase": "Lost"}}], "has lost its volume"),
        ([claim(), kind(provisioner="kubernetes.io/no-provisioner")], "no PersistentVolume"),
    ],
)
def test_what_is_not_there_is_named(objects: list[Data], want: str) -> None:
    found = only(snapshot(uses("c"), *objects))

    assert want in found.problem
    assert found.problem.startswith("PersistentVolumeClaim default/c")


def test_a_bound_volume_says_where_it_is() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "disk", "operator": "In", "values": ["a"]}]}]}  # fmt: skip
    made = volume(
        labels={ZONE: "z1__z2"}, nodeAffinity={"required": required}, csi={"driver": DRIVER}
    )

    found = only(snapshot(uses("c"), claim(volume="pv"), made))

    affinity, zones = found.places
    assert affinity == (term("disk", "a"),)
    assert zones[0] == term(ZONE, "z1", "z2")
    assert zones[-1].matches({"other": "x"}, "n"), "a node without zones takes it"
    assert (found.driver, found.problem, found.claim) == (DRIVER, "", "")


def test_a_class_says_where_volumes_can_be_made() -> None:
    topology = {"matchLabelExpressions": [{"key": ZONE, "values": ["z2", "z1"]}]}

    found = only(snapshot(uses("c"), claim(), kind(allowedTopologies=[topology])))

    assert found == Volume(places=((term(ZONE, "z1", "z2"),),), driver=DRIVER)


@pytest.mark.parametrize(
    ("size", "want"), [("1Gi", ("a", "b")), ("2Gi", ("a",)), ("3Gi", ()), ("1025Mi", ("a",))]
)
def test_storage_capacity_bounds_where(size: str, want: tuple[str, ...]) -> None:
    driver = obj("storage.k8s.io/v1", "CSIDriver", DRIVER, None, spec={"storageCapacity": True})
    rooms = [
        {
            **obj("storage.k8s.io/v1", "CSIStorageCapacity", name),
            "storageClassName": "fast", "capacity": room, "maximumVolumeSize": most,
            "nodeTopology": {"matchLabels": {"zone": name}},
        }
        for name, room, most in (("a", "2Gi", None), ("b", "9Gi", "1Gi"))
    ]  # fmt: skip
    asked = claim(resources={"requests": {"storage": size}})

    found = only(snapshot(uses("c"), asked, kind(), driver, *rooms))

    assert found.places == (tuple(term("zone", z) for z in want),)


def test_a_volume_on_its_way_goes_to_the_chosen_node() -> None:
    asked = claim()
    asked["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "n7"}

    [[found]] = only(snapshot(uses("c"), asked, kind())).places

    assert found.matches({}, "n7")
    assert not found.matches({}, "n1")


@pytest.mark.parametrize(
    ("modes", "want"),
    [
        (["ReadWriteOnce"], "node"),
        (["ReadWriteOncePod"], "pod"),
        (["ReadWriteMany"], ""),
        (["ReadOnlyMany", "ReadWriteOnce"], ""),
    ],
)
def test_pods_that_share_a_claim_know_it(modes: list[str], want: str) -> None:
    world = snapshot(
        uses("c"), uses("c", name="q"), claim(volume="pv", accessModes=modes), volume()
    )

    assert only(world) == only(world, "q") == Volume("default/c", sharing=want)  # type: ignore[arg-type]


def test_a_pod_that_is_over_shares_no_claim() -> None:
    world = snapshot(
        uses("c"), uses("c", name="q", status={"phase": "Succeeded"}), claim(volume="pv"), volume()
    )

    assert only(world) == Volume()


def test_an_ephemeral_volume_is_made_by_its_template() -> None:
    template = {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}
    raw = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    world = snapshot(pod("p", volumes=raw), pod("q", volumes=raw), kind())

    assert only(world) == Volume(driver=DRIVER)
    assert pod_in(world, "p").spec is pod_in(world, "q").spec


@pytest.mark.parametrize(
    ("owners", "want"),
    [
        ([], "was not made for Pod default/p"),
        ([{"kind": "Pod", "name": "q", "uid": "u1", "controller": True}], "was not made for"),
        ([{"kind": "Pod", "name": "p", "uid": "old", "controller": True}], "was not made for"),
        ([{"kind": "Pod", "name": "p", "uid": "u1", "controller": True}], ""),
    ],
)
def test_a_claim_of_somebody_else_is_no_ephemeral_volume(owners: list[Data], want: str) -> None:
    template = {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}
    raw = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    there = claim("p-scratch")
    there["metadata"]["ownerReferences"] = owners

    found = only(snapshot(pod("p", volumes=raw, meta={"uid": "u1"}), there, kind()))

    assert want in found.problem
    assert bool(found.problem) == bool(want)


@pytest.mark.parametrize(
    ("provisioner", "want"),
    [
        (DRIVER, DRIVER),
        ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ("rancher.io/local-path", ""),
        ("example.com/nfs", ""),
        ("example.com/anything", ""),
        ("driver.longhorn.io", "driver.longhorn.io"),
    ],
)
def test_provisioners_and_their_drivers(provisioner: str, want: str) -> None:
    made = volume("old", nfs={"server": "s"})
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "example.com/nfs"}

    assert only(snapshot(uses("c"), claim(), kind(provisioner=provisioner), made)).driver == want


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        ("awsElasticBlockStore", "ebs.csi.aws.com"),
        ("gcePersistentDisk", "pd.csi.storage.gke.io"),
        ("azureDisk", "disk.csi.azure.com"),
        ("cinder", "cinder.csi.openstack.org"),
        ("vsphereVolume", "csi.vsphere.vmware.com"),
    ],
)
def test_disks_without_a_driver_are_for_the_driver_that_some_node_has(
    source: str, driver: str
) -> None:
    bound = [uses("c"), claim(volume="pv"), volume("pv", None, **{source: {"disk": "d"}})]
    inline = pod("q", volumes=[{"name": "d", source: {"disk": "e"}}, {"name": "x", "emptyDir": {}}])
    has = obj("storage.k8s.io/v1", "CSINode", "n", None, spec={"drivers": [
        {"name": driver, "nodeID": "i-1"}]})  # fmt: skip
    old, new = snapshot(*bound, inline), snapshot(*bound, inline, has)

    assert (only(old), pod_in(old, "q").spec.volumes) == (Volume(), ())
    assert (only(new), only(new, "q")) == (Volume(driver=driver), Volume(driver=driver))


def test_a_csi_node_says_what_may_be_attached_yet() -> None:
    drivers = [
        {"name": DRIVER, "nodeID": "i-1", "allocatable": {"count": 3}, "topologyKeys": [ZONE]},
        {"name": "nfs.csi.example.com", "nodeID": "i-1"},
    ]
    attachments = [
        obj("storage.k8s.io/v1", "VolumeAttachment", name, None, spec={
            "attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": name}})
        for name in ("pv", "leaked")
    ]  # fmt: skip
    world = snapshot(
        node("n1"), node("n2"), uses("c"), claim(volume="pv"), volume(), *attachments,
        obj("storage.k8s.io/v1", "CSINode", "n1", None, spec={"drivers": drivers}),
    )  # fmt: skip

    assert world.nodes_by_name["n1"].drivers == {DRIVER: 2, "nfs.csi.example.com": None}
    assert world.nodes_by_name["n2"].drivers == {}


def test_limits_as_nodes_published_them_once() -> None:
    world = snapshot(node("n1", **{f"attachable-volumes-csi-{DRIVER}": "5"}))

    assert world.nodes_by_name["n1"].drivers == {DRIVER: 5}


def test_bad_storage_objects_are_rejected() -> None:
    bad = volume("pv", nodeAffinity={"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "disk", "operator": "Near"}]}]}})  # fmt: skip
    world = snapshot(uses("c"), claim(volume="pv"), bad, claim("d", accessModes="ReadWriteOnce"))

    assert {r.object for r in world.rejected} == {
        "PersistentVolume pv", "PersistentVolumeClaim default/d",
    }  # fmt: skip
    assert only(world).places == ((),)


def test_claims_still_to_be_made_are_counted_where_a_quota_bounds_them() -> None:
    template = {"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}}
    raw = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    quota = obj("v1", "ResourceQuota", "q", spec={"hard": {"requests.storage": "3Gi"}})
    world = snapshot(pod("p", volumes=raw), pod("q", volumes=raw, namespace="other"), kind(), quota)

    found = only(world)
    assert (found.made_in, found.size, found.storage_class) == ("default", 2 << 30, "fast")
    assert only(world, "other/q").made_in == ""
