"""The page of ``apportion status``: numbers as on every other page, no spaces at line ends."""

import pytest

from apportion.adapters.cli.status import show
from apportion.adapters.live.status import Leader, QueueState, Status, Waiting

CYCLE = {
    "number": 1234, "endedS": 90, "seconds": 0.25, "bound": 2, "evicted": 0, "held": 1,
    "engine": "exact", "status": "optimal", "gap": 0.0,
}  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], status: Status) -> list[str]:
    show(status, 100)
    return capsys.readouterr().out.splitlines()


def test_it_says_who_leads_and_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, Status(Leader("a-1", 95, 1, CYCLE), (), (), 7))

    assert lines[0] == "Leader      a-1, renewed 5 s ago, 1 change so far"
    assert lines[1] == (
        "Last cycle  number 1,234, 10 s ago, in 0.25 s: 2 bound, 0 evicted, 1 group held "
        "(exact, optimal, gap"
    )
    assert lines[2] == "0 %)"


def test_queues_show_amounts_as_other_pages_do(capsys: pytest.CaptureFixture[str]) -> None:
    has = {"cpu": "3800m", "memory": "4Gi", "nvidia.com/gpu": "2k", "a.io/b": "wrong"}
    idle = QueueState("idle", "Open", 0, 0, {})

    lines = shown(capsys, Status(None, (QueueState("q", "Open", 1, 2, has), idle), (), 0))

    (busy,) = [ln for ln in lines if ln.startswith("  q ")]
    assert busy.endswith("1 run  2 wait  b wrong, gpu 2,000, cpu 3.8, memory 4Gi")
    assert [ln for ln in lines if ln != ln.rstrip()] == []


def test_pods_that_wait_for_the_same_are_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    waits = Waiting("x", ("a", "b", "c"), "Unschedulable", "no room", 40)

    lines = shown(capsys, Status(None, (), (waits,), 0))

    assert lines[-2:] == ["Pods  0 run, 3 wait", "  x/a and 2 others  60 s  no room"]
