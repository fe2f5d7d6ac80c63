"""The command line in this process, with one solver process for all tests of a worker."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apportion.adapters.cli import app, check, plan, solving, world
from apportion.adapters.cli.options import Chosen, chosen
from apportion.models import Config
from apportion.solver.process import SolverProcess

ROOT = Path(__file__).resolve().parents[3]


BUDGET = "60s"
"""What is asked here is found in a moment; on a machine that is busy with other things, by then."""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Cli = Callable[..., Result]


def patient(config: str | None, budget: str | None, *more: Any) -> Chosen:
    """Choose the settings of a command; where no budget is named, one that lasts."""
    return chosen(config, budget or BUDGET, *more)


@pytest.fixture(scope="session")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


@pytest.fixture
def cli(
    solver: SolverProcess,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Cli:
    """Return ``cli(*args, stdin="")``, run at the root of the tree."""

    def shared(config: Config, stack: ExitStack) -> SolverProcess | None:
        del stack
        return None if config.engine == "greedy" else solver

    for module in (solving, plan, check, world):
        monkeypatch.setattr(module, "solver_for", shared)
    for module in (check, world):
        monkeypatch.setattr(module, "chosen", patient)
    monkeypatch.chdir(ROOT)

    def run(*args: str | Path, stdin: str | bytes = "") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = app.run([str(a) for a in args])
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return run
