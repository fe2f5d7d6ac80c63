"""The leap: far work is looked at once when time runs short, and nothing before it gets worse."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apportion.models import Config
from apportion.policies.fairness import Work
from apportion.solver.leap import far_work, is_better
from apportion.solver.linear import goal_of
from apportion.solver.process import Reply
from apportion.solver.search import Clock, Found, search
from apportion.solver.stages import Stage
from oracle.build import Members, node, queue, snapshot
from oracle.worlds import world

from .children import Asked, InProcess
from .parts import DETERMINISTIC, Model, model_of


def contested() -> Model:
    """Return a node with a pod that another one may have evicted."""
    return model_of(
        snapshot(
            node("n1", 2),
            queue("q"),
            Members("v", "q", 2, on=["n1"]),
            Members("g", "q", 2, waiting=1, priority=1, may_preempt=True),
        )
    )


def three_stages() -> list[Stage]:
    """Return work by the first variable, its price by the second, far work by the third."""
    price: Any = object()
    return [
        Stage(Work("entitled"), goal_of([(1, 0)]), 0, 9),
        Stage(price, goal_of([(-1, 1)]), -9, 0),
        Stage(Work("surplus"), goal_of([(1, 2)]), 0, 9),
    ]


def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let more than half of the time be gone as soon as the search has begun."""
    left: Iterator[float] = iter((10.0, 10.0))
    monkeypatch.setattr(Clock, "left", lambda _: next(left, 5.0))


class Scripted(InProcess):
    """Completes the hint, gives these values to the leap, and has no time for more."""

    def __init__(self, hint: tuple[int, ...], leap: tuple[int, ...]) -> None:
        super().__init__()
        self._hint, self._leap = hint, leap

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        values = [self._hint, self._leap][len(self.asked) - 1] if len(self.asked) < 3 else None
        return Reply("FEASIBLE" if values else "KILLED", values)


def leapt(
    monkeypatch: pytest.MonkeyPatch, hint: tuple[int, int, int], leap: tuple[int, int, int]
) -> tuple[Found, Scripted]:
    board = contested().board
    rest = (0,) * (len(board.lower) - 3)
    process = Scripted((*hint, *rest), (*leap, *rest))
    hurried(monkeypatch)
    start = [None] * len(board.lower)
    return search(board, three_stages(), process, DETERMINISTIC, Clock(10.0), start), process


def test_far_work_is_looked_at_once_with_all_before_it_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, process = leapt(monkeypatch, (4, 2, 1), (4, 2, 7))

    leap = process.asked[1]
    assert leap.goal == goal_of([(1, 2)])
    assert leap.floors == (((0,), (1,), 4), ((1,), (-1,), -2))
    assert leap.limit_s == pytest.approx(2.5)
    assert found.values is not None
    assert found.values[:3] == (4, 2, 7)
    assert found.bounds == [None, None, None]
    assert not found.proven


def test_a_solution_that_is_worse_before_the_far_work_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, _ = leapt(monkeypatch, (4, 2, 1), (4, 3, 9))

    assert found.values is not None
    assert found.values[:3] == (4, 2, 1)


def test_work_that_no_price_stands_before_is_near() -> None:
    near = [s for s in three_stages() if isinstance(s.goal, Work)]

    assert far_work(near, 0, (0, 0, 0)) is None
    assert far_work(three_stages(), 2, (0, 0, 0)) is None
    assert far_work(three_stages(), 0, (0, 0, 9)) is None, "all of it starts"
    assert far_work(three_stages(), 0, (0, 0, 8)) == 2


def test_the_first_stage_that_differs_decides() -> None:
    stages = three_stages()

    assert is_better(stages, (1, 1, 0), (1, 2, 9))
    assert not is_better(stages, (1, 2, 9), (1, 1, 0))
    assert not is_better(stages, (1, 1, 0), (1, 1, 0))


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_what_is_proven_is_the_same_with_a_leap(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(world(seed, "small"), Config(deterministic=True))
    stages = model.stages()
    hint = [None] * len(model.board.lower)
    calm = search(model.board, stages, InProcess(), DETERMINISTIC, Clock(None), hint)
    hurried(monkeypatch)

    leapt = search(model.board, stages, InProcess(), DETERMINISTIC, Clock(10.0), hint)

    assert leapt.proven == calm.proven
    assert leapt.bounds == calm.bounds
