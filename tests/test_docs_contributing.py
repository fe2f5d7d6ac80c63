"""The rule that CONTRIBUTING shows works as it stands there, as an installed package."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from apportion.adapters.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
FILE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the files of the page, and what installing them leaves, on Python's path."""
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).write_text(text)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head)
    points = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {where}" for name, where in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(points) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("start_limit", "test_start_limit"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def cases_of(module: ModuleType) -> list[str]:
    return [name for name in vars(module) if name.startswith("test_")]


def test_the_page_shows_a_whole_package() -> None:
    names = [name for name, _ in FILE.findall(PAGE)]

    assert names == ["start_limit.py", "test_start_limit.py", "pyproject.toml", "settings.yaml"]


@pytest.mark.slow
def test_the_tests_on_the_page_pass(installed: Path) -> None:
    shown = importlib.import_module("test_start_limit")
    assert shown.__file__ == str(installed / "test_start_limit.py")

    names = cases_of(shown)
    for name in names:
        getattr(shown, name)()

    assert len(names) == 4


@pytest.mark.slow
def test_the_tests_on_the_page_fail_without_the_rule(installed: Path) -> None:
    rule = importlib.import_module("start_limit").StartLimit
    shown = importlib.import_module("test_start_limit")
    rule.check = lambda self, outcome: ()
    rule.constrain = lambda self, board: None
    rule.track = None

    failed = []
    for name in cases_of(shown):
        try:
            getattr(shown, name)()
        except AssertionError:
            failed.append(name)

    assert failed == ["test_one_too_many_is_refused", "test_the_plan_keeps_to_it"]


def test_the_rule_is_listed_with_its_option(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed.is_dir()
    code = app.run(["rules"])

    said = capsys.readouterr().out
    assert code == 0
    assert "start-limit  (installed)\n    Σ pods that start on a node" in said
    assert "option most: int (default 10)" in said


@pytest.mark.slow
def test_the_settings_on_the_page_limit_a_plan(
    installed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = ["plan", "tests/scenarios/fairness/borrow.yaml", "--deterministic"]

    app.run(words)
    free = capsys.readouterr().out
    app.run([*words, "--config", str(installed / "settings.yaml")])
    limited = capsys.readouterr().out

    assert "Starts now  10 pods" in free
    assert "Starts now  4 pods" in limited
