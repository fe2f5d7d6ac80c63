"""What people see of a cycle reaches the server, in the background and in a sensible order."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.access import LostError, RefusedError
from apportion.adapters.live.carry import Carried
from apportion.adapters.live.discovery import Resource
from apportion.adapters.live.loop import Cycle
from apportion.adapters.live.mirror import Mirror
from apportion.adapters.live.pod_conditions import MOST
from apportion.adapters.live.publisher import GROUP, QUEUE, Means, Publisher
from apportion.adapters.live.unready import Unready
from apportion.adapters.live.verdicts import Verdict, advised
from apportion.models import GroupKey, Plan, PodKey
from fakes.requests import FakeRequests
from kubernetes_objects import NOON, NOON_S, Data, in_group, node, pod, pod_group, queue

from .worlds import GREEDY, planned

API = "scheduling.volcano.sh"
STATUS = frozenset(("status",))
SERVED = {
    GROUP: Resource(API, "v1beta1", "PodGroup", "podgroups", True, STATUS),
    QUEUE: Resource(API, "v1beta1", "Queue", "queues", False, STATUS),
}


class Bench:
    """A cluster as it was read, and a publisher for it."""

    def __init__(
        self,
        *objects: Data,
        served: Mapping[Any, Resource] = SERVED,
        fails: Callable[[str, str], Exception | None] = lambda method, path: None,
    ) -> None:
        self.mirror = Mirror(ReadOptions())
        for one in objects:
            group = one["apiVersion"].rpartition("/")[0]
            self.mirror.put((group, one["kind"]), json.dumps(one).encode())
        self.api = FakeRequests(fails)
        self.leads = True
        self.now_s = 0.0
        self.slept: list[float] = []
        self.results: list[tuple[str, str]] = []
        self.publisher = Publisher(
            self.api, self.mirror, served, "apportion", "me", lambda: self.leads,
            Means(lambda: NOON_S, lambda: self.now_s, self.sleep),
            lambda kind, result: self.results.append((kind, result)),
        )  # fmt: skip

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def again(self) -> None:
        """Let the publisher do what it has left."""
        asyncio.run(self.publisher.once())

    def cycle(self, carry: Iterable[str] = (), *unready: Unready) -> None:
        """Plan, take these pods as bound or evicted, and tell of it."""
        seen = self.mirror.snapshot(NOON_S)
        self.told(planned(seen), carry, *unready)

    def told(self, plan: Plan, carry: Iterable[str] = (), *unready: Unready) -> None:
        done = [PodKey(f"default/{name}") for name in carry]
        seen = self.mirror.snapshot(NOON_S)
        carried = Carried(bound=done, evicted=done)
        self.publisher.note(Cycle(1, seen, GREEDY, plan, carried, {}, 0, unready))
        asyncio.run(self.publisher.once())

    @property
    def sent(self) -> list[str]:
        """Return what was written, each as the method and the end of the path."""
        return [f"{r.method} {r.path.partition('v1beta1/')[2] or r.path}" for r in self.api.sent]

    @property
    def reasons(self) -> list[str]:
        """Return the reasons of all events."""
        return [r.body["reason"] for r in self.api.sent if r.path.endswith("/events")]


LARGE = {"cpu": "99"}
WAITS = pod("a", LARGE, annotations=in_group("g"), meta={"uid": "u", "creationTimestamp": NOON})
EVENTS = "POST /apis/events.k8s.io/v1/namespaces/default/events"


class Knows:
    """An adviser that may come to know what would start everybody."""

    says = ""

    def over(
        self, cycle: Cycle, verdicts: Mapping[GroupKey, Verdict]
    ) -> Mapping[GroupKey, Verdict]:
        return {g: advised(v, self.says) if self.says else v for g, v in verdicts.items()}


def messages(bench: Bench) -> list[str]:
    """Return what pods were told."""
    return [
        r.body["status"]["conditions"][0]["message"] for r in bench.api.sent if "/pods/" in r.path
    ]


def test_what_has_become_known_is_told_without_another_cycle() -> None:
    bench = Bench(node("n"), queue("default"), pod_group("g", minMember=1), WAITS)
    bench.publisher.adviser = knows = Knows()
    bench.cycle()
    before = len(bench.sent)

    knows.says = "with 1 more node"
    bench.publisher.tell_again()
    bench.again()
    bench.again()

    assert bench.sent[before:] == ["PATCH /api/v1/namespaces/default/pods/a/status", EVENTS]
    plain, known = messages(bench)
    assert known == f"{plain}; would start with 1 more node"


def test_who_has_got_a_node_meanwhile_is_not_told_why_it_waits() -> None:
    bench = Bench(node("n"), pod("a", LARGE), served={})
    bench.publisher.adviser = knows = Knows()
    bench.cycle()
    before = len(bench.sent)

    bench.mirror.put(("", "Pod"), json.dumps(pod("a", LARGE, nodeName="n")).encode())
    knows.says = "with 1 more node"
    bench.publisher.tell_again()
    bench.again()

    assert bench.sent[before:] == [EVENTS]


def test_statuses_come_first_then_conditions_then_events() -> None:
    bench = Bench(node("n"), queue("default"), pod_group("g", minMember=1), WAITS)

    bench.cycle()

    assert bench.sent == [
        "PATCH namespaces/default/podgroups/g/status",
        "PATCH queues/default/status",
        "PATCH /api/v1/namespaces/default/pods/a/status",
        EVENTS,
    ]
    assert bench.publisher.counts.written == 4


def test_without_volcanos_kinds_pods_are_told_all_the_same() -> None:
    bench = Bench(node("n"), pod("a", LARGE), served={})

    bench.cycle()

    assert bench.sent == ["PATCH /api/v1/namespaces/default/pods/a/status", EVENTS]


def test_the_default_queue_is_made() -> None:
    bench = Bench(node("n"))

    bench.cycle()

    assert bench.sent == ["POST queues"]


def test_what_has_happened_is_told() -> None:
    bench = Bench(node("n"), pod_group("g", minMember=1), pod("a", annotations=in_group("g")))

    bench.cycle(["a"], Unready(GroupKey("default/g"), 0, 1, ()))

    assert bench.reasons == ["Scheduled", "Unready"]


def test_a_bind_that_had_to_be_prepared_is_told_once_it_is_seen() -> None:
    bench = Bench(node("n"), pod("a"), served={})
    seen = bench.mirror.snapshot(NOON_S)
    carried = Carried(preparing=[GroupKey("default/a")])
    bench.publisher.note(Cycle(1, seen, GREEDY, planned(seen), carried, {}, 0))
    asyncio.run(bench.publisher.once())
    before = list(bench.reasons)

    bench.mirror.put(("", "Pod"), json.dumps(pod("a", nodeName="n")).encode())
    bench.cycle()
    bench.cycle()

    assert (before, bench.reasons) == ([], ["Scheduled"])


def test_a_second_cycle_says_nothing_new() -> None:
    bench = Bench(node("n"), pod("a", LARGE), served={})
    bench.cycle()
    before = len(bench.sent)

    bench.cycle()

    assert len(bench.sent) == before


def test_what_did_not_arrive_is_sent_again_without_another_cycle() -> None:
    failures: list[Exception] = [LostError("no answer"), RefusedError(503, "Unavailable")]

    def fails(method: str, path: str) -> Exception | None:
        return failures.pop() if path.endswith(("/a/status", "/g/status")) and failures else None

    bench = Bench(node("n"), queue("default"), pod_group("g", minMember=1), WAITS, fails=fails)

    bench.cycle()
    bench.again()
    bench.again()

    assert bench.sent.count("PATCH namespaces/default/podgroups/g/status") >= 2
    assert bench.sent.count("PATCH /api/v1/namespaces/default/pods/a/status") == 2
    assert bench.publisher.counts.failed == 2
    assert bench.slept == [1.0]


def test_who_is_gone_is_not_told() -> None:
    def fails(method: str, path: str) -> Exception | None:
        return RefusedError(404, "NotFound")

    bench = Bench(node("n"), pod("a", LARGE), served={}, fails=fails)

    bench.cycle()
    before = len(bench.sent)
    bench.cycle()

    assert (len(bench.sent), bench.publisher.counts.failed) == (before, 0)
    assert bench.results == []


def test_what_came_of_each_request_is_counted() -> None:
    failures = {"/events": LostError("no answer"), "/a/status": RefusedError(403, "Forbidden")}

    def fails(method: str, path: str) -> Exception | None:
        return next((e for end, e in failures.items() if path.endswith(end)), None)

    bench = Bench(node("n"), queue("default"), pod_group("g", minMember=1), WAITS, fails=fails)

    bench.cycle()

    assert bench.results == [
        ("PodGroup", "written"),
        ("Queue", "written"),
        ("Pod", "refused"),
        ("Event", "unanswered"),
    ]


def test_refusals_are_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    def fails(method: str, path: str) -> Exception | None:
        return RefusedError(403, "Forbidden", "no right")

    bench = Bench(node("n"), pod("a", LARGE), pod("b", LARGE), served={}, fails=fails)

    bench.cycle()
    bench.now_s = 61.0
    bench.cycle()

    assert [r.message for r in caplog.records].count("not written") == 2


def test_a_refusal_keeps_nothing_else_back() -> None:
    def fails(method: str, path: str) -> Exception | None:
        return RefusedError(403, "Forbidden") if "podgroups" in path else None

    bench = Bench(node("n"), queue("default"), pod_group("g", minMember=1), WAITS, fails=fails)

    bench.cycle()

    assert bench.reasons == ["FailedScheduling"]
    assert bench.publisher.counts.failed == 1


def test_who_does_not_lead_writes_nothing() -> None:
    bench = Bench(node("n"), pod("a", LARGE))
    bench.leads = False

    bench.cycle()

    assert bench.sent == []


def test_a_pod_that_bears_the_reason_is_not_written_to_after_a_restart() -> None:
    there = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    bench = Bench(node("n"), pod("a", LARGE, status={"conditions": [there]}), served={})

    bench.cycle()

    assert bench.sent == [EVENTS]


def test_many_conditions_are_written_in_several_goes_of_one_cycle() -> None:
    bench = Bench(node("n"), *(pod(f"p{i}", LARGE) for i in range(MOST + 1)), served={})
    bench.cycle()
    before = bench.publisher.counts.written

    bench.again()

    assert before >= MOST
    assert len({s for s in bench.sent if s.endswith("/status")}) == MOST + 1


def test_of_fast_cycles_the_last_is_told_and_all_that_has_happened() -> None:
    bench = Bench(node("n"), pod("a"), pod("b"), served={})
    plan = planned(bench.mirror.snapshot(NOON_S))
    seen = bench.mirror.snapshot(NOON_S)

    async def both() -> None:
        for name in "ab":
            done = Carried(bound=[PodKey(f"default/{name}")])
            bench.publisher.note(Cycle(1, seen, GREEDY, plan, done, {}, 0))
        running = asyncio.create_task(bench.publisher.run())
        async with asyncio.timeout(60):
            while len(bench.api.sent) < 2:
                await asyncio.sleep(0)
        running.cancel()

    asyncio.run(both())

    assert bench.reasons == ["Scheduled", "Scheduled"]
