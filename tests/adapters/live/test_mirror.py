"""The mirror gives what a fresh reading of the same objects gives."""

import json
from typing import Any

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.mirror import Mirror
from apportion.models import PodKey
from kubernetes_objects import NOON, NOON_S, node, pod

POD, NODE = ("", "Pod"), ("", "Node")


def put(mirror: Mirror, kind: tuple[str, str], one: Any) -> bool:
    return mirror.put(kind, json.dumps(one).encode())


def test_a_bad_object_is_rejected_until_it_is_mended() -> None:
    mirror = Mirror(ReadOptions())
    put(mirror, NODE, node("n"))
    put(mirror, POD, pod("p", {"cpu": "lots"}))

    bad = mirror.snapshot(0)
    put(mirror, POD, pod("p", {"cpu": "2"}))
    mended = mirror.snapshot(0)
    put(mirror, POD, {**pod("p"), "spec": {"containers": 3}})
    worse = mirror.snapshot(0)
    mirror.remove(POD, "default", "p")

    assert [r.object for r in bad.rejected] == ["Pod default/p"]
    assert (mended.rejected, [p.name for p in mended.pods]) == ((), ["p"])
    assert [(r.object, r.path) for r in worse.rejected] == [("Pod default/p", "spec.containers")]
    assert mirror.snapshot(0).rejected == ()


def test_uid_and_version_follow_the_object() -> None:
    mirror = Mirror(ReadOptions())
    put(mirror, POD, pod("p", meta={"uid": "u1", "resourceVersion": "5"}))
    first = (mirror.uid_of(PodKey("default/p")), mirror.version_of(PodKey("default/p")))
    changed = put(mirror, POD, pod("p", meta={"uid": "u1", "resourceVersion": "6"}))

    assert first == ("u1", "5")
    assert not changed
    assert mirror.version_of(PodKey("default/p")) == "6"
    assert mirror.is_there(PodKey("default/p"))
    assert mirror.remove(POD, "default", "p")
    assert (mirror.uid_of(PodKey("default/p")), mirror.is_there(PodKey("default/p"))) == ("", False)


def test_the_moment_is_never_before_the_newest_in_the_objects() -> None:
    mirror = Mirror(ReadOptions())
    put(mirror, POD, pod("p", meta={"creationTimestamp": NOON}))

    assert mirror.snapshot(NOON_S - 60).taken_at_s == NOON_S
    assert mirror.snapshot(NOON_S + 60).taken_at_s == NOON_S + 60
    mirror.remove(POD, "default", "p")
    assert mirror.snapshot(NOON_S - 60).taken_at_s == NOON_S - 60
