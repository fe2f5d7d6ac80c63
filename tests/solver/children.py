"""Solver processes for tests: one that solves in this process, and children that misbehave."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from apportion.solver import child
from apportion.solver.linear import Goal, Linear
from apportion.solver.process import Floor, Reply, SolverProcess, reply_of


@dataclass(frozen=True)
class Asked:
    """What one solve was asked."""

    model: Linear
    goal: Goal
    floors: tuple[Floor, ...]
    hint: tuple[Any, ...] | None
    """Numbers; None where the solver is told none."""
    fixed: tuple[tuple[int, int], ...]
    limit_s: float | None


class InProcess(SolverProcess):
    """Answers as the child does, from the same code, without a child; keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        self.replies: list[Reply] = []

    def start(self) -> None:
        """There is nothing to start."""

    def kill(self) -> None:
        """There is nothing to end."""

    def wait(self, limit_s: float | None = None) -> bool:
        """It is always ready."""
        return True

    def solve(
        self,
        model: Linear,
        goal: Goal,
        floors: Sequence[Floor],
        hint: Sequence[int | None] | None,
        parameters: Mapping[str, Any],
        limit_s: float | None,
        fixed: Sequence[tuple[int, int]] = (),
    ) -> Reply:
        given = None if hint is None else tuple(hint)
        asked = Asked(model, goal, tuple(floors), given, tuple(fixed), limit_s)
        self.asked.append(asked)
        self.replies.append(self.answer(asked, parameters))
        return self.replies[-1]

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        built = child._build(asked.model)
        said = child._solve(
            built,
            {
                "goal": (asked.goal.vars, asked.goal.coefs), "floors": asked.floors,
                "hint": asked.hint, "fixed": asked.fixed, "parameters": parameters,
            },
            BytesIO(),
        )  # fmt: skip
        return reply_of(said, asked.model)


class Failing(InProcess):
    """Solves as often as it is told to; then gives the same reply for ever."""

    def __init__(self, good: int, then: Reply) -> None:
        super().__init__()
        self._good, self._then = good, then

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        if len(self.asked) > self._good:
            return self._then
        return super().answer(asked, parameters)


SAYS = """#!{python} -SE
import os, pickle, signal, sys
out, source = sys.stdout.buffer, sys.stdin.buffer
def say(message):
    data = message if isinstance(message, bytes) else pickle.dumps(message)
    out.write(len(data).to_bytes(8, "big") + data)
    out.flush()
def hear():
    return source.read(int.from_bytes(source.read(8), "big"))
def hang():
    signal.pause()
{body}
"""


def pretend(body: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let solver processes that are started from now on run this script in the child's stead."""
    script = directory / "child"
    script.write_text(SAYS.format(python=sys.executable, body=body))
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
