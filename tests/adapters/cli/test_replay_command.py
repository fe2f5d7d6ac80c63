"""``apportion replay``: recorded cycles, verified and planned again."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from apportion.adapters.recording import Recorder
from apportion.models import Config
from apportion.solver.entry import plan
from oracle.build import Members, node, queue, snapshot

CONFIG = Config(engine="greedy", deterministic=True)
WORLD = snapshot(node("n1", 2), queue("q"), Members("g", "q", waiting=2, minimum=2))


def test_legal_cycles_are_a_line_each(cli: Any, tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path))
    for _ in range(2):
        recorder.keep(WORLD, CONFIG, plan(WORLD, CONFIG))

    result = cli("replay", str(tmp_path))

    assert result.code == 0
    assert result.out.splitlines() == [
        "cycle 1  planned alike (greedy, feasible)",
        "cycle 2  planned alike (greedy, feasible)",
        "2 cycles: 2 legal, 0 planned otherwise now",
    ]


def test_an_illegal_plan_is_exit_code_one(cli: Any, tmp_path: Path) -> None:
    made = plan(WORLD, CONFIG)
    Recorder(str(tmp_path)).keep(WORLD, CONFIG, replace(made, binds=made.binds[:1]))

    result = cli("replay", str(tmp_path), "--output", "json")

    assert result.code == 1
    assert json.loads(result.out)["violations"]


def test_a_folder_without_cycles_is_unusable(cli: Any, tmp_path: Path) -> None:
    result = cli("replay", str(tmp_path))

    assert result.code == 2
    assert "apportion run --record DIR makes some" in result.err
