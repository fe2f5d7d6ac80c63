"""One solver process for all tests of a worker, and plans that do not depend on the clock."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

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
