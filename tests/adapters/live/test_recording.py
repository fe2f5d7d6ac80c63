"""Recording beside the loop."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.live.carry import Carried
from apportion.adapters.live.loop import Cycle
from apportion.adapters.live.recording import Recording
from apportion.adapters.recording import Recorder, recorded
from apportion.models import Config, Plan, Snapshot
from oracle.build import Members, node, queue, snapshot

from .worlds import GREEDY, planned

WORLD = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=1))
CYCLE = Cycle(1, WORLD, GREEDY, planned(WORLD), Carried(), {}, 0)


def test_a_cycle_is_written_with_what_it_saw(tmp_path: Path, run: Any) -> None:
    async def go() -> None:
        recording = Recording(Recorder(str(tmp_path)))
        recording.note(CYCLE)
        await recording.finish()

    run(go())

    [one] = recorded(str(tmp_path))
    assert (one.snapshot, one.config, one.plan) == (WORLD, GREEDY, CYCLE.plan)


def test_a_cycle_that_comes_while_the_disk_is_slow_is_left_out(tmp_path: Path, run: Any) -> None:
    class Slow(Recorder):
        go = threading.Event()

        def keep(self, snapshot: Snapshot, config: Config, plan: Plan) -> Path:
            self.go.wait(60)
            return super().keep(snapshot, config, plan)

    async def go() -> int:
        recording = Recording(Slow(str(tmp_path)))
        recording.note(CYCLE)
        await asyncio.sleep(0)
        recording.note(CYCLE)
        Slow.go.set()
        await recording.finish()
        return recording.skipped

    assert run(go()) == 1
    assert len(list(recorded(str(tmp_path)))) == 1


def test_a_disk_that_is_full_is_told_of_once_and_stops_nothing(
    tmp_path: Path, run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(Recorder):
        def keep(self, snapshot: Snapshot, config: Config, plan: Plan) -> Path:
            raise OSError(28, "No space left on device")

    async def go() -> None:
        recording = Recording(Full(str(tmp_path)))
        for _ in range(2):
            recording.note(CYCLE)
            await recording.finish()

    with caplog.at_level(logging.WARNING, "apportion"):
        run(go())

    [said] = caplog.records
    assert "No space left" in said.__dict__["fields"]["why"]
