"""Changes that are told are the smallest of their kind."""

from collections.abc import Iterator, Sequence

import pytest

from apportion.adapters.ask.explain import explain
from apportion.adapters.ask.raises import lowest
from apportion.models import Config, GroupKey, Snapshot
from apportion.models.edits import Edit, SetQueue
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


class Threshold:
    """Answers as a trial would where an amount has to be so large."""

    is_over = False

    def __init__(self, least: int) -> None:
        self._least = least
        self.asked = 0

    def starts(self, edits: Sequence[Edit]) -> bool:
        self.asked += 1
        (e,) = edits
        assert isinstance(e, SetQueue)
        assert e.amount is not None
        return e.amount >= self._least

    could = has_room = likely = starts


@pytest.mark.parametrize(
    ("least", "most_asked"),
    [
        pytest.param(9000, 1, id="as told"),
        pytest.param(6000, 6, id="a sum of requests"),
        pytest.param(4501, 30, id="between sums of requests"),
        pytest.param(2001, 30, id="just above what it is"),
    ],
)
def test_amounts_are_lowered_as_far_as_they_do(least: int, most_asked: int) -> None:
    start = snapshot(
        node("n", 12), queue("q", due=2), Members("g", "q", 2, waiting=1),
        Members("h", "q", 3, waiting=1),
    )  # fmt: skip
    scene, trial = Scene(start, CONFIG, rules_for(CONFIG)), Threshold(least)

    found = lowest(scene, [SetQueue("q", "due", "cpu", 9000)], trial)

    assert found == [SetQueue("q", "due", "cpu", least)]
    assert trial.asked <= most_asked
