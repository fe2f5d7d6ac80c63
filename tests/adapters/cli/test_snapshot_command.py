"""``apportion snapshot`` of files, masked or not, and ``apportion unmask``."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.recording import Recorder
from apportion.models import Config
from apportion.models.snapshot import read
from apportion.solver.entry import plan
from oracle.build import Members, node, queue, snapshot

SMALL = "examples/small"
NAMES = ("research", "sweep", "ledger", "gpu-a", "cpu-a", "dedicated", "example.com")


def kept(cli: Any, folder: Path, *more: str) -> Path:
    out = folder / "seen.json.gz"
    result = cli("snapshot", "-f", SMALL, "--out", out, *more)
    assert result.code == 0, result.err
    return out


def test_files_become_the_snapshot_that_plan_writes(cli: Any, tmp_path: Path) -> None:
    cli("plan", SMALL, "--snapshot-out", tmp_path / "planned.json")

    seen = kept(cli, tmp_path)

    assert read(seen.read_bytes()) == read((tmp_path / "planned.json").read_bytes())


def test_a_masked_file_has_no_name_and_says_so(cli: Any, tmp_path: Path) -> None:
    seen = kept(cli, tmp_path, "--mask")

    text = gzip.decompress(seen.read_bytes()).decode()
    assert [n for n in NAMES if n in text] == []
    assert read(seen.read_bytes()).masked


def test_the_answer_about_a_masked_file_is_translated_back(cli: Any, tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    seen = kept(cli, tmp_path, "--mask", "--mask-key", str(key))
    (tmp_path / "masked.json").write_text(cli("plan", seen, "--deterministic", "-o", "json").out)
    want = json.loads(cli("plan", SMALL, "--deterministic", "-o", "json").out)

    result = cli("unmask", tmp_path / "masked.json", "--mask-key", key)

    got = json.loads(result.out)
    differ = {k for k in want if got[k] != want[k]}
    assert differ == {"snapshot", "digest"}


def test_a_page_is_translated_word_by_word(cli: Any, tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    seen = kept(cli, tmp_path, "--mask", "--mask-key", str(key))
    page = cli("plan", seen, "--deterministic", "-o", "yaml").out

    result = cli("unmask", "-", "--mask-key", key, stdin=page)

    assert result.code == 0
    assert "pod: research/train-0" in result.out
    assert "research" not in page


def test_the_key_is_a_file_of_its_own_and_gzipped_if_its_name_says_so(
    cli: Any, tmp_path: Path
) -> None:
    key = tmp_path / "key.json.gz"
    seen = kept(cli, tmp_path, "--mask", "--mask-key", str(key))

    body = json.loads(gzip.decompress(key.read_bytes()))

    assert body["kind"] == "MaskKey"
    assert read(seen.read_bytes()).nodes[0].name in body["names"]
    assert "research" in body["names"].values()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("snapshot", "-f", SMALL, "--mask-key", "k.json"), "add --mask"),
        (("snapshot", "-f", SMALL, "--kubeconfig", "k"), "name different clusters"),
        (("unmask", "-", "--mask-key", "nowhere.json"), "nowhere.json: cannot be read"),
        (("unmask", "nowhere", "--mask-key", "README.md"), "README.md: is no JSON"),
    ],
)
def test_what_does_not_go_together_is_said(cli: Any, args: tuple[str, ...], said: str) -> None:
    result = cli(*args)

    assert result.code == 2
    assert said in result.err


def test_another_document_is_no_key(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"kind": "Plan"}')

    result = cli("unmask", "-", "--mask-key", tmp_path / "plan.json")

    assert result.code == 2
    assert "is no key of a mask" in result.err


def test_what_is_masked_is_refused(cli: Any, tmp_path: Path) -> None:
    seen = kept(cli, tmp_path, "--mask")

    result = cli("snapshot", "-f", seen, "--mask", "--out", tmp_path / "again.json")

    assert result.code == 2
    assert "masked already" in result.err


def test_recorded_cycles_are_masked_into_another_folder(cli: Any, tmp_path: Path) -> None:
    world = snapshot(node("tokyo", 2), queue("finance"), Members("payroll", "finance", waiting=1))
    settings = Config(engine="greedy", deterministic=True)
    Recorder(str(tmp_path / "kept")).keep(world, settings, plan(world, settings))
    out, key = tmp_path / "masked", tmp_path / "key.json"

    result = cli("snapshot", "--cycles", tmp_path / "kept", "--mask", "--out", out,
                 "--mask-key", key)  # fmt: skip

    assert (result.code, result.out) == (0, f"1 cycle in {out}\n")
    assert cli("replay", out).out.splitlines()[-1] == "1 cycle: 1 legal, 0 planned otherwise now"
    assert "finance" in json.loads(key.read_text())["names"].values()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--mask",), "--out DIR"),
        (("--out", "x"), "goes with --mask"),
        (("--mask", "--out", "x", "-f", SMALL), "stands alone"),
    ],
)
def test_cycles_need_a_mask_and_a_folder(cli: Any, more: tuple[str, ...], said: str) -> None:
    result = cli("snapshot", "--cycles", "nowhere", *more)

    assert result.code == 2
    assert said in result.err
