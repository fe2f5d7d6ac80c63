"""The leap: far work is looked at once when time runs short, and nothing before it gets worse."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apportion.models import Config
from apportion.policies.fairness import Work
from apportion.policies.goals import EVICTION_COSTS
from apportion.solver.hints import hint_of
from apportion.solver.leap import far_work, is_better, open_prices, plain_model
from apportion.solver.linear import goal_of, linear_of
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
    """Completes the hint, gives these values to both solves of the leap, and has no more time."""

    def __init__(self, *values: tuple[int, ...]) -> None:
        super().__init__()
        self._values = list(values)

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        values = self._values.pop(0) if self._values else None
        return Reply("FEASIBLE" if values else "KILLED", values)


Three = tuple[int, int, int]


def leapt(
    monkeypatch: pytest.MonkeyPatch, hint: Three, far: Three, plan: Three
) -> tuple[Found, Scripted]:
    board = contested().board
    rest = (0,) * (len(board.lower) - 3)
    process = Scripted((*hint, *rest), (*far, *rest), (*plan, *rest))
    hurried(monkeypatch)
    start = [None] * len(board.lower)
    return search(board, three_stages(), process, DETERMINISTIC, Clock(10.0), start), process


def test_far_work_is_looked_for_without_prices_and_then_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, process = leapt(monkeypatch, (4, 2, 1), (4, 9, 7), (4, 1, 7))

    _, far, plan, after = process.asked
    assert far.goal == goal_of([(1, 2)])
    assert far.floors == (((0,), (1,), 4),)
    assert far.limit_s == pytest.approx(3.0)
    assert plan.hint is not None
    assert plan.hint[:3] == (4, 9, 7)
    assert plan.floors == (((0,), (1,), 4), ((2,), (1,), 6)), "what is paid already may be more"
    assert after.floors == (((0,), (1,), 4), ((1,), (-1,), -1)), "it goes on with the far work"
    assert found.values is not None
    assert found.values[:3] == (4, 1, 7)
    assert found.bounds == [None, None, None]
    assert not found.proven


@pytest.mark.parametrize(("took_s", "leaps"), [(1.4, True), (1.6, False)])
def test_there_is_no_leap_without_four_times_what_completing_took(
    monkeypatch: pytest.MonkeyPatch, took_s: float, leaps: bool
) -> None:
    spent = iter((0.0, took_s))
    monkeypatch.setattr(Clock, "spent", lambda _: next(spent))

    _, process = leapt(monkeypatch, (4, 2, 1), (4, 9, 7), (4, 1, 7))

    assert (process.asked[1].goal == goal_of([(1, 2)])) is leaps


def test_what_costs_nothing_yet_has_to_stay_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _, process = leapt(monkeypatch, (4, 0, 1), (4, 9, 7), (4, 0, 7))

    assert process.asked[2].floors == (((0,), (1,), 4), ((1,), (-1,), 0), ((2,), (1,), 6))


def test_a_solution_that_is_worse_before_the_far_work_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, _ = leapt(monkeypatch, (4, 2, 1), (4, 9, 9), (4, 3, 9))

    assert found.values is not None
    assert found.values[:3] == (4, 2, 1)


def test_prices_that_are_paid_count_those_first_that_come_first() -> None:
    first, second = EVICTION_COSTS[:2]
    stages = [
        Stage(first, goal_of([(-1, 0)]), -9, 0),
        Stage(second, goal_of([(-5, 1)]), -9, 0),
        Stage(EVICTION_COSTS[3], goal_of([(-1, 2)]), -9, 0),
        Stage(second, goal_of([(-1, 3)]), -9, 0),
        Stage(Work("surplus"), goal_of([(1, 4)]), 0, 9),
    ]

    assert open_prices(stages, 0, 4, (1, 1, 1, 0, 0)) == goal_of([(-2, 0), (-5, 1)])
    assert open_prices(stages, 1, 4, (1, 1, 1, 0, 0)) == goal_of([(-5, 1)])


def test_the_board_without_prices_is_the_one_before_goals_spoke() -> None:
    model = contested()
    before = linear_of(model.board)

    model.stages()

    assert len(linear_of(model.board).upper) > len(before.upper)
    assert plain_model(model.board) == before


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
def test_a_leap_makes_nothing_worse_and_no_bound_wrong(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(world(seed, "small"), Config(deterministic=True))
    stages = model.stages()
    hint = hint_of(model.board, model.compiled, model.greedy)
    calm = search(model.board, stages, InProcess(), DETERMINISTIC, Clock(None), hint)
    start = search(model.board, stages, Starting(), DETERMINISTIC, Clock(None), hint)
    hurried(monkeypatch)

    leapt = search(model.board, stages, InProcess(), DETERMINISTIC, Clock(10.0), hint)

    assert calm.proven
    if not stages:
        return
    assert calm.values is not None
    assert leapt.values is not None
    assert start.values is not None
    assert not is_better(stages, start.values, leapt.values)
    for stage, bound in zip(stages, leapt.bounds, strict=True):
        best, found = stage.terms.value(calm.values), stage.terms.value(leapt.values)
        assert bound is None or bound >= best
        if found != best:
            break  # later bounds are those of other plans


class Starting(InProcess):
    """Completes the hint and does nothing more."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        return super().answer(asked, parameters) if asked.fixed else Reply("KILLED")
