"""Groups that wait get one reason and one message; Unschedulable only where nodes would help."""

from typing import Any

import pytest

from apportion.adapters.live.verdicts import (
    GANG_NOT_READY,
    MOST_BYTES,
    NOT_READY,
    QUEUE_LIMIT,
    UNSCHEDULABLE,
    WAITS_FOR_ROOM,
    Verdict,
    cut,
    verdicts_of,
    word_of,
)
from apportion.models import Config, GroupKey, Reason
from apportion.solver.entry import plan
from kubernetes_objects import Data, in_group, node, pod, pod_group, queue, snapshot

GREEDY = Config(engine="greedy", deterministic=True)


def verdict(*objects: Data) -> Verdict | None:
    world = snapshot(node("n"), *objects)
    return verdicts_of(plan(world, GREEDY), world).get(GroupKey("default/g"))


def members(n: int, requests: Any = None, **more: Any) -> list[Data]:
    return [pod(f"m{i}", requests, annotations=in_group("g"), **more) for i in range(n)]


LARGE = {"cpu": "9"}
PROMISED = pod("m0", {"cpu": "8"}, annotations=in_group("g"), priority=5)
LEAVING = pod("old", {"cpu": "8"}, nodeName="n", meta={"deletionTimestamp": "2026-01-05T12:00:00Z"})


@pytest.mark.parametrize(
    ("objects", "reason", "words", "pods"),
    [
        pytest.param(
            [pod_group("g", minMember=2), *members(2, LARGE)],
            UNSCHEDULABLE, "cannot run on this cluster even when it is empty", 2,
            id="no node is large enough",
        ),
        pytest.param(
            [pod_group("g", minMember=9), *members(9)],
            UNSCHEDULABLE, "8 of 9 members would fit", 9, id="the nodes are too few",
        ),
        pytest.param(
            [queue("q", capability={"cpu": 1}), pod_group("g", minMember=2, queue="q"),
             *members(2)],
            QUEUE_LIMIT, "queue q may have 1", 2, id="above the limit of its queue",
        ),
        pytest.param(
            [queue("q", status={"state": "Closed"}), pod_group("g", minMember=1, queue="q"),
             *members(1)],
            QUEUE_LIMIT, "queue q is Closed", 1, id="its queue is closed",
        ),
        pytest.param(
            [pod_group("g", minMember=3), *members(2)],
            GANG_NOT_READY, "only 2/3 members exist", 2, id="members are missing",
        ),
        pytest.param(
            [pod_group("g", minMember=2), *members(1),
             pod("gated", annotations=in_group("g"), schedulingGates=[{"name": "x"}])],
            GANG_NOT_READY, "wait for scheduling gates: x", 1, id="a member is gated",
        ),
        pytest.param(
            [pod_group("g", minMember=1),
             *members(1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "no"}}])],
            NOT_READY, "PersistentVolumeClaim", 1, id="a volume is missing",
        ),
        pytest.param(
            [pod_group("g", minMember=1), PROMISED, LEAVING],
            WAITS_FOR_ROOM, "promised n, once the pods that leave are gone from there", 1,
            id="its place is not free yet",
        ),
    ],
)  # fmt: skip
def test_a_group_that_waits(objects: list[Data], reason: str, words: str, pods: int) -> None:
    found = verdict(*objects)

    assert found is not None
    assert (found.reason, len(found.pods)) == (reason, pods)
    assert words in found.message


def test_a_group_that_starts_has_none() -> None:
    assert verdict(pod_group("g", minMember=1), *members(1)) is None


def reason(rule: str, about: str = "x", message: str = "m") -> Reason:
    return Reason(rule, about, message)


@pytest.mark.parametrize(
    ("rules", "want"),
    [
        (["capacity"], UNSCHEDULABLE),
        (["topology", "capacity"], UNSCHEDULABLE),
        (["order"], UNSCHEDULABLE),
        (["capacity", "preemption"], UNSCHEDULABLE),
        (["capacity", "quota"], QUEUE_LIMIT),
        (["gates"], GANG_NOT_READY),
        (["resource-claims"], NOT_READY),
        (["cluster"], NOT_READY),
    ],
)
def test_of_several_reasons_what_no_node_would_cure(rules: list[str], want: str) -> None:
    assert word_of(reason(r) for r in rules) == want


def test_a_message_is_short_and_valid() -> None:
    assert cut("ä" * 600) == "ä" * 510 + "..."
    assert len(cut("x" * 5000).encode()) == MOST_BYTES
    assert cut("x" * MOST_BYTES) == "x" * MOST_BYTES


def test_words_of_a_message_are_not_in_the_key() -> None:
    def at(use: int) -> Verdict | None:
        busy = [
            pod(f"busy{i}", {"cpu": "1"}, annotations=in_group("b"), nodeName="n")
            for i in range(use)
        ]
        limited = queue("q", capability={"cpu": 4})
        others = pod_group("b", minMember=1, queue="q")
        wants = pod_group("g", minMember=2, queue="q")
        return verdict(limited, others, *busy, wants, *members(2))

    three, four = at(3), at(4)

    assert three is not None
    assert four is not None
    assert three.message != four.message
    assert three.key == four.key == (QUEUE_LIMIT, (("quota", "queue q"),))
