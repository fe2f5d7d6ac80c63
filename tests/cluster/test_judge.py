"""The judges of a soak find what is wrong, and accuse nobody of what is right."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.client import Data
from cluster.in_vain import KINDS, InVain
from cluster.judge import SETTLE_S, Judge
from cluster.objects import gang, node, pod, priority_class, queue

GPU = "nvidia.com/gpu"


@dataclass
class Server:
    """What a client would read; a client of the judges."""

    things: list[Data] = field(default_factory=list)
    now_s: float = 1000.0

    def find_all(self, kind: str) -> list[Data]:
        return [t for t in self.things if t["kind"] == kind.partition(".")[0]]

    def has(self, *things: Data) -> "Server":
        self.things = [
            {**t, "metadata": {**t["metadata"], "uid": t["metadata"]["name"]}} for t in things
        ]
        return self


def on(one: Data, where: str) -> Data:
    status = {"phase": "Running"}
    return {**one, "spec": {**one["spec"], "nodeName": where}, "status": status}


def running(name: str, of: str, gpus: int) -> list[Data]:
    """Return a gang of one, on n1."""
    group, one = gang(name, 1, gpus, queue=of)
    return [group, on(one, "n1")]


class Court:
    """A judge who looks at things, with a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.judge = Judge(Server(), 30.0, lambda: self.now_s)

    def sees(self, things: Iterable[Data], after_s: float = 1.0) -> list[str]:
        self.now_s += after_s
        server = Server().has(*things)
        kinds = ("Pod", "Node", "PodGroup", "Queue")
        self.judge.judge(*(server.find_all(k) for k in kinds))
        return self.judge.found


def with_limit(gpus: int) -> list[Data]:
    return [node("n1", 64), queue("a", capability={GPU: gpus})]


def test_a_queue_that_gets_more_than_its_limit_is_found() -> None:
    court = Court()
    fits = [*with_limit(8), *running("g", "a", 8)]

    assert court.sees(fits) == []
    assert court.sees([*fits, *running("h", "a", 1)]) == ["queue a has 9 GPUs, it may have 8"]


def test_a_queue_keeps_what_it_had_when_its_limit_is_lowered_and_gets_nothing_more() -> None:
    court = Court()
    g, h = running("g", "a", 8), running("h", "a", 4)

    assert court.sees([*with_limit(16), *g, *h]) == []
    assert court.sees([*with_limit(4), *g, *h]) == []
    assert court.sees([*with_limit(4), *g, *h], 2 * SETTLE_S) == []
    assert court.sees([*with_limit(4), *g]) == []
    assert court.sees([*with_limit(4), *g, *h]) == ["queue a has 12 GPUs, it may have 8"]


def test_a_pod_that_is_bound_to_a_node_long_gone_is_found() -> None:
    court = Court()
    late = on(pod("late"), "n2")

    assert court.sees([node("n1"), node("n2")]) == []
    assert court.sees([node("n1"), on(pod("before"), "n2")]) == []
    assert court.sees([node("n1"), on(pod("before"), "n2")], 2 * SETTLE_S) == []
    assert court.sees([node("n1"), late]) == [
        "pod late was bound to node n2, which had been deleted"
    ]


def test_a_gang_that_stays_there_in_part_is_found() -> None:
    court = Court()
    group, one, other = gang("g", 2, 1)
    part = [node("n1"), group, on(one, "n1"), other]

    assert court.sees(part) == []
    assert court.sees(part, 29.0) == []
    assert court.sees(part, 2.0) == ["gang g has been there in part for 30 s"]


def waits(tmp_path: Path, *things: Data) -> tuple[Server, InVain]:
    settings = tmp_path / "settings.yaml"
    settings.write_text("apiVersion: apportion.dev/v1alpha1\nkind: Configuration\n")
    server = Server().has(*things)
    return server, InVain(server, settings, 60.0, lambda: server.now_s)


def test_a_gang_that_could_have_started_for_a_minute_waits_in_vain(tmp_path: Path) -> None:
    server, court = waits(tmp_path, ready("n1"), *gang("g", 2, 4))

    assert court.look() == []
    server.now_s += 59
    assert court.look() == []
    server.now_s += 2
    assert court.look() == ["group default/g waits, though it could have started"]
    assert court.longest == (61, "default/g-1")


@pytest.mark.parametrize(
    "things",
    [
        [*gang("g", 3, 4)],
        [*gang("g", 2, 4), *running("other", "default", 1)],
        [*gang("g", 2, 4, queue="a"), queue("a", capability={GPU: 4})],
        [
            *gang("g", 2, 4, priority="low"), *gang("first", 2, 4, priority="high"),
            priority_class("low", 1), priority_class("high", 2),
        ],
    ],
    ids=["too large", "no room", "at the limit", "others come first"],
)  # fmt: skip
def test_a_gang_that_has_to_wait_does_not_wait_in_vain(tmp_path: Path, things: list[Data]) -> None:
    server, court = waits(tmp_path, ready("n1"), *things)

    found: list[str] = []
    for _ in range(3):
        found += court.look()
        server.now_s += 61

    assert [f for f in found if "default/g " in f] == []


def test_who_waits_anew_has_not_waited_before(tmp_path: Path) -> None:
    server, court = waits(tmp_path, ready("n1"), *gang("g", 1, 4))

    assert court.look() == []
    server.now_s += 61
    for one in server.find_all("Pod"):
        one["metadata"]["uid"] = "another"
    assert court.look() == []


def test_every_kind_that_a_soak_makes_is_read() -> None:
    assert {"Node", "Pod", "PodGroup", "Queue", "PriorityClass"} <= {kind for _, kind in KINDS}


def ready(name: str) -> Data:
    one = node(name, 8)
    one["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return one
