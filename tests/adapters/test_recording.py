"""Cycles on disk, read back, verified and planned again."""

import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from apportion.adapters.recording import Recorder, files_of, recorded
from apportion.adapters.replay import replayed
from apportion.models import Config, InputError, Plan, Snapshot
from apportion.solver.entry import plan
from oracle.build import Members, node, queue, snapshot

CONFIG = Config(engine="greedy", deterministic=True, grace_s=7)
WORLD = snapshot(
    node("n1", 2), node("n2", 2), queue("q"), Members("g", "q", waiting=3, minimum=3),
    Members("h", "q", waiting=2),
)  # fmt: skip


def planner(world: Snapshot, config: Config) -> Plan:
    return plan(world, config)


def kept(folder: Path, *plans: Plan, most: int = 100) -> None:
    recorder = Recorder(str(folder), most)
    for one in plans:
        recorder.keep(WORLD, CONFIG, one)


def test_a_cycle_is_read_back_as_it_was(tmp_path: Path) -> None:
    made = plan(WORLD, CONFIG)

    kept(tmp_path, made)

    [one] = recorded(str(tmp_path))
    assert (one.number, one.snapshot, one.config, one.plan) == (1, WORLD, CONFIG, made)


def test_the_oldest_cycles_go_and_numbers_go_on(tmp_path: Path) -> None:
    made = plan(WORLD, CONFIG)

    kept(tmp_path, made, made, made, most=2)
    kept(tmp_path, made, most=2)

    assert [number for number, _ in files_of(tmp_path)] == [3, 4]


def test_what_was_not_finished_is_never_read_and_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "cycle-0000000001.json.gz.part").write_bytes(b"half")

    with pytest.raises(InputError, match="holds no recorded cycles"):
        list(recorded(str(tmp_path)))
    Recorder(str(tmp_path))

    assert not list(tmp_path.iterdir())


def test_a_plan_that_was_made_the_same_way_is_replayed_alike(tmp_path: Path) -> None:
    kept(tmp_path, plan(WORLD, CONFIG))

    [done] = [replayed(one, planner) for one in recorded(str(tmp_path))]

    assert done.violations == ()
    assert done.differences == ()


def test_a_plan_that_breaks_a_rule_is_told_of(tmp_path: Path) -> None:
    made = plan(WORLD, CONFIG)
    kept(tmp_path, replace(made, binds=made.binds[1:]))

    [done] = [replayed(one, planner) for one in recorded(str(tmp_path))]

    assert any("gang" in v for v in done.violations)


def test_a_plan_that_would_be_another_now_says_in_which_tier_and_for_whom(tmp_path: Path) -> None:
    nothing = plan(replace(WORLD, nodes=()), CONFIG)
    kept(tmp_path, replace(nothing, snapshot=WORLD.digest))

    [done] = [replayed(one, planner) for one in recorded(str(tmp_path))]

    assert any(d.startswith("tier ") and d.endswith("better") for d in done.differences)
    assert "group x/g: 0 of its pods were to start, 3 now" in done.differences


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no gzip", "is damaged"),
        (gzip.compress(b'{"kind": "Plan"}'), "is no recorded cycle"),
        (gzip.compress(b"["), "is no recorded cycle"),
        (gzip.compress(json.dumps({"apiVersion": "apportion.dev/v1alpha1", "kind": "Cycle"})
                       .encode()), "is no recorded cycle"),
        (gzip.compress(b"{}")[:-4], "is damaged"),
    ],
    ids=["not zipped", "of another kind", "no JSON", "with nothing in it", "cut off"],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "cycle-0000000001.json.gz").write_bytes(content)

    with pytest.raises(InputError, match=rf"cycle-0000000001.*{why}"):
        list(recorded(str(tmp_path)))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        list(recorded(str(tmp_path / "nothing")))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError, match="--record"):
        Recorder(str(tmp_path / "file" / "below"))
