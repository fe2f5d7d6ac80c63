"""The README's commands print what it shows; ``...`` there stands for anything, over lines too."""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.cli import app, check, plan, world
from apportion.adapters.cli.options import Chosen, chosen
from apportion.solver.process import SolverProcess

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BUDGET = "60s"
"""What is shown is found in a moment; on a machine that is busy with other things, by then."""
TIME = re.compile(r"\b\d+\.\d\d s\b")


def commands(block: str) -> list[tuple[str, str]]:
    """Return each command of a block with the output that follows it."""
    parts = re.split(r"^\$ (.+)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def pattern_of(shown: str) -> re.Pattern[str]:
    """Return what the output has to match."""
    pieces = [re.escape(piece) for piece in plain(shown).split("...")]
    return re.compile(".*?".join(pieces), re.DOTALL)


def plain(text: str) -> str:
    """Return the text without what is free: times, and empty lines at the end."""
    return TIME.sub("0.00 s", text).rstrip("\n")


def patient(config: str | None, budget: str | None, *more: Any) -> Chosen:
    """Choose the settings of a command, with a budget that no busy machine uses up."""
    return chosen(config, budget or BUDGET, *more)


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCK.findall(README), ids=lambda b: b.split("\n", 1)[0][2:50])
def test_commands_print_what_is_shown(
    block: str,
    solver: SolverProcess,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    for module in (plan, check, world):
        monkeypatch.setattr(module, "solver_for", lambda config, stack: solver)
    for module in (check, world):
        monkeypatch.setattr(module, "chosen", patient)
    for command, shown in commands(block):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        line, _, file = command.replace("/tmp/", f"{tmp_path}/").partition(" > ")
        words = shlex.split(line)
        assert words[0] == "apportion"

        code = app.run(words[1:])
        said = capsys.readouterr()
        if file:
            Path(file).write_text(said.out)
            said = said._replace(out="")

        assert code == 0, said.err
        assert pattern_of(shown).fullmatch(plain(said.out)), said.out


def test_the_first_commands_are_verbs_of_make() -> None:
    verbs = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = re.findall(r"^make (\w+)", README, re.MULTILINE)

    assert shown == ["plan", "test"]
    assert set(shown) <= set(verbs)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120
