"""Events: one for a group and reason, told once, and no more than the bucket bears."""

from typing import Any

import pytest

from apportion.adapters.files import Document
from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.kubernetes.faults import Ledger
from apportion.adapters.kubernetes.meta import Thing
from apportion.adapters.kubernetes.reader import read_objects
from apportion.adapters.live.events import (
    Event,
    Teller,
    bound_events,
    evicted_events,
)
from apportion.adapters.live.token_bucket import TokenBucket
from apportion.adapters.live.verdicts import Verdict, advised
from apportion.models import Bind, Eviction, GroupKey, NodeName, PodKey, Snapshot
from kubernetes_objects import NOON_S, in_group, pod, pod_group, snapshot

G = GroupKey("default/g")
NEWER = GroupKey("default/newer")


def key(name: str) -> PodKey:
    return PodKey(f"default/{name}")


def binds(**nodes: str) -> list[Bind]:
    return [Bind(key(p), G, NodeName(n)) for p, n in nodes.items()]


def test_pods_that_were_bound_are_told_of_together() -> None:
    (event,) = bound_events(binds(a="n1", b="n1", c="n2"))

    assert (event.reason, event.type, event.note) == (
        "Scheduled", "Normal", "bound 3 pods to n1 ×2, n2",
    )  # fmt: skip
    assert event.pod == key("a")


def test_many_nodes_are_counted_only() -> None:
    (event,) = bound_events(binds(**{f"p{i}": f"n{i}" for i in range(9)}))

    assert event.note == "bound 9 pods to 9 nodes"


def gone(name: str, *mine: GroupKey, reason: str = "is beyond its due") -> Eviction:
    return Eviction(key(name), G, NodeName("n"), mine, reason)


def test_evicted_pods_are_told_for_whom_and_why() -> None:
    evictions = [gone("a", NEWER), gone("b", NEWER), gone("c", reason="is broken"), gone("d")]

    told = evicted_events(evictions, [key("a"), key("b"), key("c")])

    assert [(e.reason, e.note, e.pod) for e in told] == [
        ("Evicted", "evicted 1 pod from n: is broken", key("c")),
        (
            "Preempted",
            "evicted 2 pods from n ×2, for default/newer: is beyond its due",
            key("a"),
        ),
    ]


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def teller(burst: int = 100, clock: Clock | None = None) -> Teller:
    return Teller("apportion", "replica-1", TokenBucket(1.0, burst, clock or Clock()))


def waiting(reason: str = "Unschedulable", message: str = "no room") -> dict[GroupKey, Verdict]:
    return {G: Verdict(G, reason, message, (key("a"),), (("capacity", reason),))}


def world() -> Snapshot:
    return snapshot(
        pod_group("g", minMember=2), pod("a", annotations=in_group("g"), meta={"uid": "u"})
    )


def told(
    by: Teller, verdicts: dict[GroupKey, Verdict], *happened: Event, groups: Any = None
) -> list[Any]:
    return [w.body for w in by.told(verdicts, happened, world(), groups or {}, NOON_S + 0.25)]


def test_a_group_that_waits_is_told_of_once_for_a_reason() -> None:
    by = teller()

    first = told(by, waiting())
    again = told(by, waiting(message="still no room"))
    other = told(by, waiting("QueueLimit"))
    gone = told(by, {})
    back = told(by, waiting("QueueLimit"))

    assert [len(x) for x in (first, again, other, gone, back)] == [1, 0, 1, 0, 1]


def test_once_more_when_it_is_known_what_would_start_the_group() -> None:
    by, known = teller(), {g: advised(v, "with more") for g, v in waiting().items()}
    told(by, waiting())

    first = told(by, known)
    other = told(by, {g: advised(v, "with less") for g, v in waiting().items()})
    gone = told(by, waiting())
    back = told(by, known)

    assert [e["note"] for e in first] == ["no room; would start with more"]
    assert (other, gone, back) == ([], [], [])


def test_an_event_is_about_the_pod_group_else_about_the_pod() -> None:
    documents = [Document("test", 0, pod_group("g", meta={"uid": "gu"}))]
    read = read_objects(documents, ReadOptions(), Ledger())
    groups: dict[str, Thing] = {
        t.key: t for t in read.of("scheduling.volcano.sh", "PodGroup")
    }  # fmt: skip

    (of_group,) = told(teller(), waiting(), groups=groups)
    (of_pod,) = told(teller(), waiting())

    assert of_group["regarding"] == {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "namespace": "default", "name": "g", "uid": "gu",
    }  # fmt: skip
    assert of_pod["regarding"] == {
        "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a", "uid": "u",
    }  # fmt: skip


def test_an_event_has_what_the_api_asks_for() -> None:
    (write,) = teller().told(waiting(), [], world(), {}, NOON_S + 0.25)
    body: Any = dict(write.body)

    assert write.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert body.pop("metadata")["name"].startswith("a.")
    del body["regarding"]
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-05T12:00:00.250000Z",
        "reportingController": "apportion",
        "reportingInstance": "replica-1",
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "note": "no room",
    }


def test_what_the_bucket_does_not_bear_is_told_later() -> None:
    clock = Clock()
    by = teller(1, clock)
    h = GroupKey("default/h")
    both = {**waiting(), h: Verdict(h, "Unschedulable", "no room", (key("a"),))}

    first = told(by, both)
    at_once = told(by, both)
    clock.now_s = 1.0
    later = told(by, both)

    assert [len(x) for x in (first, at_once, later)] == [1, 0, 1]
    assert by.suppressed == 2


def test_names_of_events_differ() -> None:
    by = teller()
    event = Event(G, "Scheduled", "Binding", "bound", key("a"))

    names = {b["metadata"]["name"] for b in told(by, {}, event, event)}

    assert len(names) == 2


def test_a_bucket_fills_up_to_its_burst() -> None:
    clock = Clock()
    bucket = TokenBucket(0.5, 2, clock)

    at_first = [bucket.take() for _ in range(3)]
    clock.now_s = 100.0
    later = [bucket.take() for _ in range(3)]
    clock.now_s = 101.0
    half = bucket.take()
    clock.now_s = 102.0

    assert (at_first, later, half, bucket.take()) == (
        [True, True, False], [True, True, False], False, True,
    )  # fmt: skip


@pytest.mark.parametrize(("per_s", "burst"), [(0.0, 1), (1.0, 0)])
def test_a_bucket_that_gives_nothing_is_refused(per_s: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a rate above 0 and a burst of at least 1"):
        TokenBucket(per_s, burst, Clock())
