"""One solver process for all tests of a worker; plans, commands and packages for tests."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.cli import app
from apportion.adapters.cli import plan as plan_command
from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

from .packages import write_package

Solve = Callable[..., Plan]


@pytest.fixture(scope="session")
def process() -> Iterator[SolverProcess]:
    with SolverProcess() as started:
        yield started


@pytest.fixture
def solve(process: SolverProcess) -> Solve:
    """Return ``solve(world, **settings)``."""

    def solved(world: Snapshot, **settings: Any) -> Plan:
        return plan(world, Config(deterministic=True, **settings), process=process)

    return solved


Install = Callable[..., None]
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return ``install(name, module text, rule=...)``: a package in a folder on the path."""

    def installed(name: str, text: str | None, **rules: str) -> None:
        write_package(tmp_path / name, name, text, **rules)
        monkeypatch.syspath_prepend(tmp_path / name)
        names.append(name)

    names: list[str] = []
    yield installed
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def cli(
    process: SolverProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """Return ``cli(*args)``: the exit code, and what was said on either stream."""
    monkeypatch.setattr(plan_command, "solver_for", lambda *_: process)

    def run(*args: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = app.run([str(a) for a in args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
