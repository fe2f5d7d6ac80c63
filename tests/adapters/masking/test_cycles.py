"""Recorded cycles are masked together, and replay as the originals do."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.masking.cycles import mask_cycles
from apportion.adapters.masking.key_file import Unmasking
from apportion.adapters.recording import Recorder, files_of, recorded
from apportion.adapters.replay import replayed
from apportion.models import Config, InputError, Plan, QueueShare, Snapshot
from apportion.models.plan import to_document
from apportion.solver.entry import plan
from oracle.build import Members, node, queue, snapshot

SETTINGS = Config(
    engine="greedy", deterministic=True, queues={"finance": QueueShare(within="users")}
)
FIRST = snapshot(
    node("tokyo-1", 2), node("tokyo-2", 2), queue("finance"),
    Members("payroll", "finance", waiting=3, minimum=3), Members("audit", "finance", waiting=2),
)  # fmt: skip
LATER = replace(FIRST, pods=FIRST.pods[:-1], taken_at_s=FIRST.taken_at_s + 1)
NAMES = (b"tokyo", b"finance", b"payroll", b"audit")


def planner(world: Snapshot, config: Config) -> Plan:
    return plan(world, config)


def data(made: Plan) -> Any:
    return json.loads(json.dumps(to_document(made)))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a folder of two recorded cycles."""
    recorder = Recorder(str(tmp_path / "kept"))
    for world in (FIRST, LATER):
        recorder.keep(world, SETTINGS, plan(world, SETTINGS))
    return tmp_path / "kept"


def test_no_name_is_left_and_the_cycles_replay_alike(kept: Path, tmp_path: Path) -> None:
    assert all(n in gzip.decompress(files_of(kept)[0][1].read_bytes()) for n in NAMES)

    n, _ = mask_cycles(str(kept), str(tmp_path / "masked"))

    files = files_of(tmp_path / "masked")
    assert n == len(files) == 2
    for _, file in files:
        assert [n for n in NAMES if n in gzip.decompress(file.read_bytes())] == []
    for one in recorded(str(tmp_path / "masked")):
        done = replayed(one, planner)
        assert (done.violations, done.differences) == ((), ())


def test_one_key_leads_back_from_all_of_them(kept: Path, tmp_path: Path) -> None:
    _, key = mask_cycles(str(kept), str(tmp_path / "masked"))

    back = Unmasking(key)
    pairs = zip(recorded(str(kept)), recorded(str(tmp_path / "masked")), strict=True)
    for original, masked in pairs:
        want, got = data(original.plan), back.document(data(masked.plan))
        for part in ("binds", "held", "queues", "objective"):
            assert got[part] == want[part]
        assert original.number == masked.number


def test_a_folder_that_has_cycles_is_left_alone(kept: Path) -> None:
    with pytest.raises(InputError, match="has cycles in it"):
        mask_cycles(str(kept), str(kept))

    assert len(files_of(kept)) == 2


def test_masked_cycles_are_refused(kept: Path, tmp_path: Path) -> None:
    mask_cycles(str(kept), str(tmp_path / "masked"))

    with pytest.raises(InputError, match="masked already"):
        mask_cycles(str(tmp_path / "masked"), str(tmp_path / "again"))
