"""Gangs that started and do not get ready."""

from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live.unready import UnreadyGangs
from apportion.models import Config, Snapshot
from oracle.build import NOW, Members, node, queue, snapshot

LATE = Config(ready_within_s=40, unready="release")
OWNED = {"owner": "Job/g", "ready": False}


def world(pod: dict[str, Any], **group: Any) -> Snapshot:
    running = Members("g", "q", on=["n1", "n1"], minimum=2, pod=pod, **group)
    return snapshot(node("n1", 4), queue("q"), running)


def test_a_gang_that_is_late_is_let_go_with_all_its_pods() -> None:
    [late] = UnreadyGangs().due(world(OWNED), LATE)

    assert late.message == "0 of 2 members are ready"
    assert [e.pod for e in late.release] == ["x/g0", "x/g1"]
    assert late.release[0].reason == "only 0 of at least 2 members became ready in time"


@pytest.mark.parametrize(
    ("pod", "config"),
    [
        (OWNED, Config(ready_within_s=40)),
        ({"ready": False}, LATE),
    ],
    ids=["only to be told of", "a pod that nobody brings back"],
)
def test_a_gang_that_is_late_is_only_told_of(pod: dict[str, Any], config: Config) -> None:
    [late] = UnreadyGangs().due(world(pod), config)

    assert late.release == ()


@pytest.mark.parametrize(
    ("pod", "config"),
    [
        (OWNED, Config()),
        (OWNED, Config(ready_within_s=50)),
        ({"owner": "Job/g"}, LATE),
    ],
    ids=["no limit", "not yet", "ready"],
)
def test_a_gang_that_is_not_late_is_left_alone(pod: dict[str, Any], config: Config) -> None:
    assert UnreadyGangs().due(world(pod), config) == []


def test_a_gang_of_which_enough_are_ready_is_left_alone() -> None:
    gang = Members("g", "q", on=["n1", "n1", "n1"], minimum=2, pod=OWNED)
    gang.pods[:2] = [replace(p, ready=True) for p in gang.pods[:2]]

    assert UnreadyGangs().due(snapshot(node("n1", 4), queue("q"), gang), LATE) == []


def test_nobody_is_told_of_twice_for_one_start() -> None:
    gangs = UnreadyGangs()

    assert gangs.due(world(OWNED), LATE)
    assert not gangs.due(world(OWNED), LATE)
    assert gangs.due(world({**OWNED, "started_s": NOW - 45}), LATE)
