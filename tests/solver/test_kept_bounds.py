"""Bounds that were proven before time ran out stay where the greedy plan is the better one."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from apportion.models import Config, Plan
from apportion.solver import search
from apportion.solver.process import Reply
from oracle.search import optimum
from oracle.worlds import world
from properties.optimal import optimal_work, wrong_bounds
from properties.solved import solved

from .children import Asked, InProcess

CONFIG = Config(deterministic=True)
WORK = ("repair", "entitled", "surplus")


class Spoiling(InProcess):
    """Solves so many stages; of each later one it has the worst solution, and its true bound."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self._good = good + 1  # the hint is completed first

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        best = super().answer(asked, parameters)
        if len(self.asked) <= self._good:
            return best
        goal = replace(asked.goal, coefs=tuple(-c for c in asked.goal.coefs))
        worst = super().answer(replace(asked, goal=goal, hint=None), parameters)
        return Reply("FEASIBLE", worst.values, best.bound)


class SpoilingFixed(Spoiling):
    """A mutant: takes the bound from a model in which all that starts and leaves is fixed."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        reply = super().answer(asked, parameters)
        if asked.hint is None:
            return reply
        fixed = tuple(enumerate(asked.hint))
        return replace(reply, bound=InProcess.answer(self, replace(asked, fixed=fixed), {}).bound)


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every stage be a solve of its own, so that some are done and others not."""
    monkeypatch.setattr(search, "MERGE_RANGE", 1)


def fallbacks(kind: type[Spoiling], seeds: range) -> Iterator[tuple[Plan, list[str]]]:
    """Give greedy plans that beat a spoiled search, and what is wrong with their bounds."""
    for seed in seeds:
        snapshot = world(seed, "tiny")
        for good in range(3):
            made = solved(snapshot, CONFIG, kind(good))
            if made.plan.solver.status == "fallback":
                best = optimum(snapshot, CONFIG, made.worth_by_level())
                assert best is not None
                yield made.plan, wrong_bounds(made.plan.objective, optimal_work(made, best[0]))


def test_greedy_plan_keeps_bounds_and_none_is_wrong() -> None:
    closed = opened = 0
    for plan, wrong in fallbacks(Spoiling, range(25)):
        assert wrong == []
        rows = [t for t in plan.objective if t.name in WORK and t.bound is not None]
        closed += sum(t.value == t.bound != 0 for t in rows)
        opened += any(t.bound is None for t in plan.objective)

    assert closed >= 3
    assert opened >= 3, "where the search was worse, later tiers know no bound"


def test_bound_of_a_model_in_which_something_is_fixed_is_caught() -> None:
    assert any(wrong for _, wrong in fallbacks(SpoilingFixed, range(25)))


def test_solve_in_which_something_is_fixed_has_no_bound() -> None:
    """The search itself never asks for one; a reply to such a question carries none."""
    from apportion.solver.linear import Linear, goal_of
    from apportion.solver.process import SolverProcess

    model = Linear([0, 0], [5, 5])
    goal = goal_of([(1, 0), (1, 1)])

    with SolverProcess() as process:
        free = process.solve(model, goal, (), None, {}, None)
        held = process.solve(model, goal, (), None, {}, None, [(0, 2)])

    assert (free.status, free.bound) == ("OPTIMAL", 10)
    assert (held.status, held.bound) == ("OPTIMAL", None)
    assert held.values == (2, 5)
