"""Changes that are told are the smallest of their kind."""

from collections.abc import Iterator

import pytest

from apportion.adapters.ask.explain import explain
from apportion.adapters.ask.raises import less_than
from apportion.models import Config, GroupKey, Snapshot
from apportion.models.edits import SetQueue
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
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


def test_a_limit_is_no_higher_than_it_has_to_be(solver: SolverProcess) -> None:
    start = snapshot(
        node("n", 12), queue("q", capability={"cpu": 4000}),
        Members("r", "q", 2, on=["n"], priority=9),
        Members("h", "q", 3, waiting=1, created_s=200),
        Members("g", "q", 4, waiting=1, created_s=300),
    )  # fmt: skip

    assert says(start, "queue", solver) == [("set the limit of queue q to 9 cpu", True)]


def test_less_of_an_amount_is_a_sum_of_requests_or_a_unit_less() -> None:
    start = snapshot(
        node("n", 12), queue("q", due=2), Members("g", "q", 2, waiting=1),
        Members("h", "q", 4, waiting=1),
    )  # fmt: skip
    scene = Scene(start, CONFIG, rules_for(CONFIG))
    edits = [SetQueue("q", "due", "cpu", 6000), SetQueue("q", "due", "memory", 1)]

    def amounts(any_: bool) -> list[int | None]:
        less = less_than(scene, edits, any_)
        return [e.amount for some in less for e in some if e.resource == "cpu" and len(some) > 1]

    assert [edits[1:], edits[:1]] == less_than(scene, edits, True)[:2]
    assert amounts(False)[:1] == [5999]
    assert amounts(True)[:4] == [2001, 4000, 4001, 5999]
