"""Search: stages in order, each floored for the next, merged where their ranges allow it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from apportion.models import Config, PodKey
from apportion.policies.board import Board
from apportion.policies.fairness import Work
from apportion.solver import search as searching
from apportion.solver.allowance import S_PER_EFFORT, S_PER_TERM, Allowance
from apportion.solver.decode import Decision
from apportion.solver.entry import kept_for_the_end
from apportion.solver.linear import goal_of, linear_of
from apportion.solver.process import Reply
from apportion.solver.search import (
    FOR_WORK,
    Clock,
    Found,
    parameters_of,
    search,
)
from apportion.solver.stages import Stage
from oracle.build import Members, node, queue, snapshot

from .children import Asked, InProcess
from .parts import DETERMINISTIC, Model, model_of


def cluster() -> Model:
    """Return two nodes and three groups, of which not all fit."""
    return model_of(
        snapshot(
            node("n1", 3),
            node("n2", 2),
            queue("q"),
            Members("a", "q", 2, waiting=1),
            Members("b", "q", 3, waiting=1, priority=1),
            Members("c", "q", 1, waiting=2, minimum=2),
        )
    )


class Scripted(InProcess):
    """Gives these replies, one after the other, whatever it is asked."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__()
        self._left = list(replies)

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        return self._left.pop(0)


def two_stages(board: Board, high: int = 9) -> list[Stage]:
    """Return two stages: more of the board's first variable, then less of its second."""
    goal: Any = object()
    return [
        Stage(goal, goal_of([(1, 0)]), 0, high),
        Stage(goal, goal_of([(-1, 1)]), -high, 0),
    ]


def values(board: Board, first: int, second: int) -> tuple[int, ...]:
    return (first, second, *[0] * (len(board.lower) - 2))


def searched(
    model: Model, process: InProcess, stages: Sequence[Stage] | None = None, hint: Any = None
) -> Found:
    mine = model.stages() if stages is None else stages
    return search(model.board, mine, process, DETERMINISTIC, Clock(None), hint)


def test_no_stage_is_no_search() -> None:
    found = searched(cluster(), Scripted(), [])

    assert (found.values, found.bounds, found.proven) == (None, [], True)


def test_stage_that_is_at_its_most_already_is_skipped() -> None:
    board = cluster().board
    process = Scripted(Reply("OPTIMAL", values(board, 9, 0), 9))

    found = searched(cluster(), process, two_stages(board), [None] * len(board.lower))

    assert len(process.asked) == 1, "only the hint is completed"
    assert found.proven
    assert found.bounds == [9, 0]


def test_neighbours_of_small_range_are_one_solve_the_earlier_weighted_above_the_later() -> None:
    board = cluster().board
    process = Scripted(Reply("OPTIMAL", values(board, 4, 3), 37))

    found = searched(cluster(), process, two_stages(board))

    ((goal),) = [a.goal for a in process.asked]
    assert dict(zip(goal.vars, goal.coefs, strict=True)) == {0: 10, 1: -1}
    assert found.bounds == [4, -3]
    assert found.proven


def test_what_a_stage_reached_is_a_floor_and_a_hint_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searching, "MERGE_RANGE", 1)
    board = cluster().board
    first, second = values(board, 4, 3), values(board, 4, 1)
    process = Scripted(Reply("OPTIMAL", first, 4), Reply("OPTIMAL", second, -1))

    found = searched(cluster(), process, two_stages(board))

    assert process.asked[0].floors == ()
    assert process.asked[1].floors == (((0,), (1,), 4),)
    assert process.asked[1].hint == first
    assert (found.values, found.bounds, found.proven) == (second, [4, -1], True)


def test_bound_of_merged_stages_is_split_on_the_safe_side() -> None:
    board = cluster().board
    reached = values(board, 4, 3)

    open_ = searched(
        cluster(), Scripted(Reply("FEASIBLE", reached, 65)), two_stages(board)
    )  # 65 = 10 · 6 + 5, and the second is worth 0 at most, −9 at least
    closed = searched(cluster(), Scripted(Reply("FEASIBLE", reached, 38)), two_stages(board))

    assert not open_.proven
    assert open_.bounds == [7, None]
    assert closed.bounds == [4, -2], "the first is proven: 10 · 5 − 9 > 38"


def test_no_bound_without_one_from_the_solver() -> None:
    board = cluster().board

    found = searched(cluster(), Scripted(Reply("FEASIBLE", values(board, 4, 3))), two_stages(board))

    assert found.bounds == [None, None]
    assert not found.proven


def test_bound_is_at_most_what_the_stage_could_ever_be() -> None:
    board = cluster().board
    reply = Reply("FEASIBLE", values(board, 4, 3), 10_000)

    found = searched(cluster(), Scripted(reply), two_stages(board))

    assert found.bounds[0] == 9


@pytest.mark.parametrize("status", ["INFEASIBLE", "INVALID", "KILLED", "LATE"])
def test_solver_that_gives_nothing_ends_the_search(status: str) -> None:
    board = cluster().board
    known = values(board, 1, 1)
    process = Scripted(Reply("OPTIMAL", known, 0), Reply(status, detail="why"))

    found = searched(cluster(), process, two_stages(board), [None] * len(board.lower))

    assert (found.values, found.bounds) == (known, [None, None])
    assert not found.proven
    assert found.detail == "why"


def test_known_solution_that_the_solver_refuses_is_told() -> None:
    board = cluster().board
    process = Scripted(Reply("INFEASIBLE"), Reply("OPTIMAL", values(board, 4, 3), 37))

    found = searched(cluster(), process, two_stages(board), [None] * len(board.lower))

    assert "greedy plan is INFEASIBLE" in found.detail
    assert found.values == values(board, 4, 3)


def test_search_stops_where_no_time_is_left() -> None:
    model = cluster()
    process = Scripted()

    found = search(model.board, model.stages(), process, DETERMINISTIC, Clock(0.0))

    assert (process.asked, found.values, found.detail) == ([], None, "out of time")


def test_earlier_stages_get_part_of_the_time_and_the_last_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searching, "MERGE_RANGE", 1)
    monkeypatch.setattr(Clock, "left", lambda _: 10.0)
    board = cluster().board
    process = Scripted(*[Reply("FEASIBLE", values(board, 1, 1), 9)] * 3)

    search(board, two_stages(board), process, DETERMINISTIC, Clock(10.0), [None] * len(board.lower))

    hint, first, last = (a.limit_s for a in process.asked)
    assert hint is not None
    assert first is not None
    assert hint < first < 10.0 == last


def test_engine_finds_the_best_and_proves_it() -> None:
    model = cluster()

    found = searched(model, InProcess())

    assert found.proven
    assert found.values is not None
    reached = [s.terms.value(found.values) for s in model.stages()]
    assert found.bounds == reached


def test_deterministic_search_has_one_worker_and_no_clock() -> None:
    asked = parameters_of(Config(deterministic=True, seed=7, budget_ms=1500, workers=2))
    free = parameters_of(Config(workers=2))

    assert (asked["num_workers"], asked["random_seed"]) == (1, 7)
    assert asked["max_deterministic_time"] == 1.5
    assert free["num_workers"] == 2
    assert "max_deterministic_time" not in free


def test_where_work_is_contested_one_worker_goes_without_an_lp() -> None:
    two, one = Config(workers=2), Config(deterministic=True)

    assert parameters_of(two, contested=True)["subsolvers"] == ["no_lp", "default_lp"]
    assert parameters_of(one, contested=True)["linearization_level"] == 0
    assert not {"subsolvers", "linearization_level"} & parameters_of(two).keys()


def test_a_clock_is_out_sooner_for_whoever_leaves_time_to_others() -> None:
    late = Clock(1000.0, started=time.monotonic() - 950)

    assert not late.is_out()
    assert late.before(60).is_out()
    assert Clock(None).before(60).left() is None


def test_clock_is_nearly_out_where_a_change_could_not_be_judged() -> None:
    began_s = time.monotonic() - 1000

    assert Clock(1200.0, began_s).is_nearly_out()
    assert not Clock(1300.0, began_s).is_nearly_out()
    assert not Clock(None, began_s).is_nearly_out()


@pytest.mark.parametrize(
    ("budget_s", "evicted", "want_s"),
    [
        pytest.param(10_000.0, [], 800, id="a part of the budget"),
        pytest.param(10_000.0, ["x/a"], 1200, id="victims have prices with bounds"),
        pytest.param(1_200.0, ["x/a"], 100, id="half of the rest goes into what is better"),
        pytest.param(900.0, [], 0, id="greedy took all of it"),
    ],
)
def test_what_follows_the_search_has_time_by_what_greedy_took(
    budget_s: float, evicted: list[str], want_s: float
) -> None:
    clock = Clock(budget_s, started=time.monotonic() - 1000)
    greedy = Decision({}, frozenset(map(PodKey, evicted)))

    assert kept_for_the_end(clock, greedy) == pytest.approx(want_s, abs=5)
    assert kept_for_the_end(Clock(None), greedy) == 0


def test_each_level_of_work_is_solved_alone_where_nobody_is_evicted_for_it() -> None:
    model, process = cluster(), InProcess()
    stages = model.stages()
    work = [s for s in stages if isinstance(s.goal, Work)]

    found = searched(model, process)

    goals = [asked.goal for asked in process.asked]
    assert len(work) > 1
    assert goals[: len(work)] == [s.terms for s in work]
    assert len(goals) == len(work) + 1, "all that comes after it in one go"
    assert found.proven


def test_work_after_a_level_that_is_not_proven_is_solved_in_one_go() -> None:
    model = cluster()
    work = [s for s in model.stages() if isinstance(s.goal, Work)]
    first = Reply("FEASIBLE", tuple(model.values()), work[0].high)
    process = Scripted(first, Reply("FEASIBLE", tuple(model.values()), 0))

    searched(model, process, work)

    assert [len(asked.goal.vars) for asked in process.asked] == [1, len(work) - 1]


def test_equal_nodes_are_looked_for_where_packing_is_all_there_is() -> None:
    assert parameters_of(Config(), symmetric=True)["symmetry_level"] == 2
    assert parameters_of(Config())["symmetry_level"] == 0
    assert parameters_of(Config(), contested=True)["symmetry_level"] == 0


def test_budget_is_shared_by_all_solves_and_the_last_ones_are_left_out() -> None:
    model, given = cluster(), list[float]()

    class Slow(InProcess):
        def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
            if not asked.fixed:
                given.append(parameters["max_deterministic_time"])
            return replace(super().answer(asked, parameters), effort_s=1.0)

    found = searched(model, Slow())

    terms = len(linear_of(model.board).vars)
    before_s = Allowance.of_search(DETERMINISTIC).left_s - terms * S_PER_TERM
    after_s = before_s - terms * S_PER_TERM - S_PER_EFFORT
    wanted = [FOR_WORK * left_s / S_PER_EFFORT for left_s in (before_s, after_s)]
    assert given == pytest.approx(wanted)
    assert after_s - S_PER_EFFORT < 0 < after_s
    assert not found.proven
    assert (found.values is not None, found.detail) == (True, "out of time")
