"""What a change costs: how many pods, and families of pods and groups, are read again for it."""

import json
from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.kubernetes.kinds import READERS
from apportion.adapters.kubernetes.reader import read_thing
from apportion.adapters.live.increments import Increments
from apportion.adapters.live.mirror import Mirror
from apportion.adapters.live.shelves import Entry, Shelves
from apportion.models import End, EndBy
from kubernetes_objects import (
    NOON,
    NOON_S,
    Data,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    pod_in,
    priority_class,
    queue,
)

Kind = tuple[str, str]
META = {"uid": "u", "creationTimestamp": NOON}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def kind_of(one: Data) -> Kind:
    return one["apiVersion"].rpartition("/")[0], one["kind"]


def put(mirror: Mirror, *objects: Data) -> None:
    for one in objects:
        mirror.put(kind_of(one), json.dumps(one).encode())


def member(name: str, group: str, **more: Any) -> Data:
    return pod(name, annotations=in_group(group), meta=META, **more)


def claim(name: str, volume: str = "") -> Data:
    spec = {"storageClassName": "fast", **({"volumeName": volume} if volume else {})}
    return obj("v1", "PersistentVolumeClaim", name, spec=spec)


def with_claim(name: str, claimed: str) -> Data:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claimed}}
    return pod(name, meta=META, volumes=[volume])


def job(status: int = 0, **meta: Any) -> Data:
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    return obj("batch/v1", "Job", "j", meta=meta, spec=spec, status={"succeeded": status})


def far(name: str) -> Data:
    term = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"a": "b"}},
            "labelSelector": {"matchLabels": {"app": "a"}}}  # fmt: skip
    return pod(name, meta=META, affinity={"podAntiAffinity": {REQUIRED: [term]}})


def near(name: str, group: str) -> Data:
    asks = {"apportion.dev/topology-required": "rack"}
    return pod(name, annotations={**in_group(group), **asks}, meta=META)


def world() -> Mirror:
    """Return a mirror of 4 nodes and 22 pods of 13 families, read once."""
    mirror = Mirror(ReadOptions())
    put(mirror, *(node(f"n{i}") for i in range(4)))
    for g in ("g0", "g1"):
        put(mirror, pod_group(g, minMember=2, meta=META))
        put(mirror, *(member(f"{g}-{i}", g) for i in range(3)))
    put(mirror, pod_group("g2", minMember=1, meta=META), near("near", "g2"))
    put(mirror, claim("c0"), claim("c1"), with_claim("v0", "c0"), with_claim("v1", "c1"))
    put(mirror, obj("apps/v1", "ReplicaSet", "rs", meta=META))
    put(mirror, *(pod(f"web{i}", owner=("ReplicaSet", "rs"), meta=META) for i in range(4)))
    put(mirror, job(uid="u"), *(pod(f"j{i}", owner=("Job", "j"), meta=META) for i in range(2)))
    put(mirror, far("far"), pod("alone", meta=META))
    put(mirror, *(pod(f"f{i}", scheduler="other", nodeName="n0", meta=META) for i in range(5)))
    first = mirror.snapshot(NOON_S)
    assert (len(first.pods), len(first.groups)) == (22, 12)
    assert mirror.read_again == (22, 12)
    return mirror


@pytest.mark.parametrize(
    ("changed", "want_pods", "want_families"),
    [
        pytest.param([], 0, 0, id="nothing"),
        pytest.param([pod("alone", {"cpu": "2"}, meta=META)], 1, 1, id="a pod"),
        pytest.param([pod("new", meta=META)], 1, 1, id="a pod that comes"),
        pytest.param([member("g0-3", "g0")], 1, 1, id="a member that comes"),
        pytest.param([member("g0-0", "g1")], 1, 2, id="a member that changes sides"),
        pytest.param([pod_group("g0", minMember=3, meta=META)], 0, 1, id="a group"),
        pytest.param(
            [pod("f0", scheduler="other", nodeName="n1", meta=META)], 1, 0, id="a pod of others"
        ),
        pytest.param([{**node("n1"), "spec": {"unschedulable": True}}], 0, 0, id="a node"),
        pytest.param([node("n9")], 0, 1, id="a node that comes, for who asks for a topology"),
        pytest.param([claim("c0", "pv")], 1, 1, id="a volume claim"),
        pytest.param([with_claim("v2", "c0")], 2, 2, id="a second user of a claim"),
        pytest.param([obj("v1", "PersistentVolume", "pv", None)], 2, 0, id="a volume"),
        pytest.param(
            [obj("apps/v1", "ReplicaSet", "rs", meta={**META, "annotations": {"a": "b"}})],
            0, 4, id="an owner",
        ),
        pytest.param([job(1, uid="u")], 0, 1, id="how far a gang's job is"),
        pytest.param([obj("v1", "Namespace", "default", None)], 1, 0, id="a namespace"),
        pytest.param([queue("q")], 0, 0, id="a queue"),
        pytest.param([priority_class("high", 1)], 22, 12, id="a priority class"),
    ],
)  # fmt: skip
def test_no_more_is_read_again_than_a_change_concerns(
    changed: list[Data], want_pods: int, want_families: int
) -> None:
    mirror = world()

    put(mirror, *changed)
    got = mirror.snapshot(NOON_S)

    assert mirror.read_again == (want_pods, want_families)
    assert got == mirror.fresh(NOON_S)


@pytest.mark.parametrize("key", ["hami.io/node-handshake", "hami.io/node-handshake-dcu"])
def test_a_node_whose_device_plug_in_says_that_it_lives_has_not_changed(key: str) -> None:
    mirror = world()
    there = node("n1")
    there["metadata"]["annotations"] = {key: "Requesting_2026.01.05 12:00:30"}
    lives = mirror.put(("", "Node"), json.dumps(there).encode())
    there["metadata"]["annotations"] = {key: "Deleted_2026.01.05 12:01:30"}
    goes = mirror.put(("", "Node"), json.dumps(there).encode())
    there["metadata"]["annotations"] = {key: "Deleted_2026.01.05 12:02:30"}
    is_gone = mirror.put(("", "Node"), json.dumps(there).encode())

    assert (lives, goes, is_gone) == (False, True, False)


def test_defaults_of_a_namespace_concern_pods_that_are_not_admitted_yet() -> None:
    mirror = world()
    put(mirror, pod("raw", meta={"creationTimestamp": NOON}, status={"phase": ""}))
    mirror.snapshot(NOON_S)

    item = {"type": "Container", "default": {"memory": "1Gi"}}
    put(mirror, obj("v1", "LimitRange", "l", spec={"limits": [item]}))
    got = mirror.snapshot(NOON_S)

    assert mirror.read_again == (1, 1)
    assert got == mirror.fresh(NOON_S)
    assert pod_in(got, "raw").spec.requests["memory"] == 1 << 30


def test_the_first_report_of_cells_concerns_every_pod_those_of_others_too() -> None:
    mirror = world()
    note = {"example.com/numa": "node-0"}
    put(mirror, pod("lies", annotations=note, scheduler="other", nodeName="n0", meta=META))
    mirror.snapshot(NOON_S)

    zone = {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "8"}]}
    kind = ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology")
    put(mirror, obj(*kind, "n0", None, zones=[zone]))
    got = mirror.snapshot(NOON_S)

    assert mirror.read_again == (23, 12)
    assert got == mirror.fresh(NOON_S)
    assert [c.cell for c in pod_in(got, "lies").cells] == [0]


def test_what_is_remembered_of_pods_that_are_gone_is_forgotten_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apportion.adapters.live.readings._REMEMBERED_AT_LEAST", 10)
    shelves = Shelves([("", "Pod")])
    increments = Increments(shelves, ReadOptions(live=True))
    remembered = []
    for i in range(100):
        one = Document("test", 0, pod("short", {"cpu": f"{i + 1}m"}, meta=META))
        thing, _, _ = read_thing(one, "", "Pod", READERS["", "Pod"], None)
        shelves.put(("", "Pod"), ("default", "short"), Entry("u", str(i), thing))
        [made] = increments.snapshot(NOON_S).pods
        assert made.spec.requests["cpu"] == i + 1
        remembered.append(len(increments.readings.shapes))

    assert 10 < max(remembered) <= 2 * 1 + 10 + 2


def test_a_later_moment_alone_reads_nothing_again() -> None:
    mirror = world()
    before = mirror.snapshot(NOON_S)
    after = mirror.snapshot(NOON_S + 1)

    assert mirror.read_again == (0, 0)
    assert all(a is b for a, b in zip(before.pods, after.pods, strict=True))
    assert after.taken_at_s == before.taken_at_s + 1


def test_pods_of_a_job_hear_when_it_began() -> None:
    mirror = world()
    late = obj("batch/v1", "Job", "late", meta=META, spec={"activeDeadlineSeconds": 60})
    put(mirror, late, pod("y", owner=("Job", "late"), meta=META, nodeName="n0"))
    assert pod_in(mirror.snapshot(NOON_S), "y").end is None

    put(mirror, {**late, "status": {"startTime": NOON}})
    got = mirror.snapshot(NOON_S)

    assert pod_in(got, "y").end == End(NOON_S + 60, EndBy.DEADLINE)
    assert mirror.read_again == (0, 1)
    assert got == mirror.fresh(NOON_S)


def test_the_progress_of_a_job_does_not_concern_pods_that_need_nobody() -> None:
    mirror = world()
    plain = obj("batch/v1", "Job", "plain", meta=META, spec={"parallelism": 3})
    put(mirror, plain, *(pod(f"x{i}", owner=("Job", "plain"), meta=META) for i in range(3)))
    mirror.snapshot(NOON_S)

    put(mirror, {**plain, "status": {"succeeded": 1}})
    got = mirror.snapshot(NOON_S)

    assert mirror.read_again == (0, 0)
    assert got == mirror.fresh(NOON_S)
