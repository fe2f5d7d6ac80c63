"""The mirror gives what a fresh reading of the same objects gives."""

import json
from collections.abc import Callable, Coroutine
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


def test_an_entry_is_an_object_that_can_be_read() -> None:
    mirror = Mirror(ReadOptions())
    put(mirror, NODE, node("n"))
    put(mirror, POD, pod("p", meta={"resourceVersion": "5"}))
    put(mirror, POD, pod("bad", {"cpu": "lots"}))
    put(mirror, POD, {**pod("worse"), "spec": {"containers": 3}})

    found = mirror.entry(POD, "default", "p")

    assert found is not None
    assert (found.thing.key, found.version) == ("default/p", "5")
    assert mirror.entry(NODE, "", "n") is not None
    assert mirror.entry(POD, "default", "worse") is None
    assert mirror.entry(POD, "default", "nobody") is None
    assert [e.thing.name for e in mirror.entries(POD)] == ["p", "bad"]


def test_whoever_waits_hears_of_the_next_change_of_a_kind(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
) -> None:
    async def main() -> list[bool]:
        mirror = Mirror(ReadOptions())
        pods, nodes, both = (mirror.next_change(*k) for k in ((POD,), (NODE,), (POD, NODE)))
        gone = mirror.next_change(POD)
        gone.cancel()
        put(mirror, POD, pod("p"))
        later = mirror.next_change(POD)
        put(mirror, POD, pod("p"))
        return [pods.done(), nodes.done(), both.done(), later.done()]

    assert run(main()) == [True, False, True, False]


def test_why_a_pod_waits_is_kept_but_changes_no_plan() -> None:
    mirror = Mirror(ReadOptions())
    put(mirror, POD, pod("p"))
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}

    matters = put(mirror, POD, pod("p", status={"conditions": [told]}))

    entry = mirror.entry(POD, "default", "p")
    assert entry is not None
    assert entry.thing.body.status.conditions[0].reason == "Unschedulable"
    assert not matters


def test_pods_that_have_left_their_nodes_are_counted_once() -> None:
    mirror = Mirror(ReadOptions())

    def after(name: str, node_name: str | None, phase: str) -> int:
        one = pod(name)
        if node_name is not None:
            one["spec"]["nodeName"] = node_name
        put(mirror, POD, {**one, "status": {"phase": phase}})
        return mirror.departed

    assert after("waits", None, "Pending") == 0
    assert [after("ends", "n", p) for p in ("Pending", "Running", "Succeeded")] == [0, 0, 1]
    assert after("goes", "n", "Running") == 1
    gone = []
    for name in ("waits", "ends", "goes"):
        mirror.remove(POD, "default", name)
        gone.append(mirror.departed)
    assert gone == [1, 1, 2]


def test_pods_that_come_without_a_node_are_counted_once() -> None:
    mirror = Mirror(ReadOptions())
    placed = pod("there")
    placed["spec"]["nodeName"] = "n"
    arrived = []

    for one in (pod("a"), pod("a"), placed, pod("b")):
        put(mirror, POD, one)
        arrived.append(mirror.arrived)

    assert arrived == [1, 1, 1, 2]
