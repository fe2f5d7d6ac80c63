"""Changes that are told are the smallest of their kind."""

from collections.abc import Iterator

import pytest

from apportion.adapters.ask.explain import explain
from apportion.models import Config, GroupKey, Snapshot
from apportion.solver.process import SolverProcess
from oracle.build import Members, node, queue, snapshot

CONFIG = Config(deterministic=True, budget_ms=2000)
G = GroupKey("x/g")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess() as process:
        yield process


def says(start: Snapshot, kind: str, solver: SolverProcess) -> list[tuple[str, bool]]:
    found = explain(start, CONFIG, G, process=solver)
    return [(c.says, c.smallest) for c in found.changes if c.kind == kind]


@pytest.mark.parametrize(
    ("created_s", "want"), [pytest.param(100, 5, id="older"), pytest.param(300, 6, id="younger")]
)
def test_a_priority_is_no_higher_than_it_has_to_be(
    created_s: int, want: int, solver: SolverProcess
) -> None:
    start = snapshot(
        node("n", 4), queue("q"),
        Members("h", "q", 4, waiting=1, priority=5, created_s=200),
        Members("g", "q", 4, waiting=1, created_s=created_s),
    )  # fmt: skip

    assert says(start, "priority", solver) == [(f"give group x/g priority {want}", True)]
