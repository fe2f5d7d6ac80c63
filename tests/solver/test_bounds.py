"""A bound comes only from an unrestricted model; mutants that break that, or tiers, are seen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from apportion.models import Config
from apportion.policies.api import Objective
from apportion.policies.board import Board
from apportion.solver import entry, search
from apportion.solver.linear import Linear
from apportion.solver.process import Reply
from apportion.solver.stages import Stage, stages_of
from oracle.worlds import world
from properties.optimal import faults
from properties.trials import BOUNDS, WORSE, Tally

from .children import Asked, InProcess

CONFIG = Config(deterministic=True)
SEEDS = (*range(8), 56, 74, 101, 111)
"""In the last four of these worlds the greedy plan is not the best."""


def kinds(process: InProcess, seeds: Sequence[int] = SEEDS) -> set[str]:
    """Return what the brute force has against plans that this process helped to make."""
    found = [f for s in seeds for f in faults(process, Tally(), world(s, "tiny"), CONFIG)]
    return {f.kind for f in found}


def size_of(model: Linear) -> tuple[int, int]:
    return len(model.upper), len(model.bounds)


class Watching(InProcess):
    """Compares every solve that may give a bound with the whole board."""

    def __init__(self) -> None:
        super().__init__()
        self.looked_at = 0
        self.board: Board | None = None

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        reply = super().answer(asked, parameters)
        first = len(self.asked) == 1
        if not first:
            board = self.board
            assert board is not None
            assert asked.fixed == ()
            assert size_of(asked.model) == (len(board.lower), len(board.rows))
            assert asked.model.lower == list(board.lower)
            assert asked.model.upper == list(board.upper_)
            for vars_, coefs, least in asked.floors:
                assert asked.hint is not None
                reached = sum(c * asked.hint[v] for v, c in zip(vars_, coefs, strict=True))
                assert reached == least, "a floor asks for more than was reached"
            self.looked_at += 1
        return reply


def test_what_gives_a_bound_is_the_whole_board_with_what_was_reached_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = 0
    for seed in SEEDS:
        process = Watching()

        def watch(board: Board, *rest: Any, process: Watching = process) -> search.Found:
            process.board = board
            return search.search(board, *rest)

        monkeypatch.setattr(entry, "search", watch)
        entry.plan(world(seed, "tiny"), CONFIG, process=process)
        looked_at += process.looked_at

    assert looked_at >= 10


def test_brute_force_has_nothing_against_the_engine() -> None:
    assert kinds(InProcess()) == set()


class FixingFirst(InProcess):
    """A mutant: a heuristic decides who starts, and the rest is solved and called a bound."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        if asked.hint is not None:
            asked = replace(asked, fixed=tuple(enumerate(asked.hint)))
        return super().answer(asked, parameters)


class Overstating(InProcess):
    """A mutant: says that the bound is what it has, whatever else there could be."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        if asked.hint is None:
            return super().answer(asked, parameters)
        value = asked.goal.value(asked.hint)
        return Reply("FEASIBLE", asked.hint, value)


class Understating(InProcess):
    """A mutant: its bounds are one too small where it has not proven them."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        reply = super().answer(asked, parameters)
        if asked.hint is None or reply.bound is None:
            return reply
        return replace(reply, status="FEASIBLE", bound=reply.bound - 1)


@pytest.mark.parametrize("mutant", [FixingFirst, Overstating, Understating])
def test_bound_of_a_restricted_model_is_caught(mutant: type[InProcess]) -> None:
    assert kinds(mutant()) & {BOUNDS, WORSE}


def test_bound_below_the_optimum_is_called_wrong_even_if_the_value_is_below_it_too() -> None:
    assert BOUNDS in kinds(Overstating())


class Forgetting(InProcess):
    """A mutant: later stages may give back what earlier ones reached."""

    def answer(self, asked: Asked, parameters: Mapping[str, Any]) -> Reply:
        return super().answer(replace(asked, floors=()), parameters)


def test_stages_that_give_back_what_was_reached_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MERGE_RANGE", 1)

    assert WORSE in kinds(Forgetting())


def test_stages_solved_one_by_one_are_as_good_as_merged_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MERGE_RANGE", 1)

    assert kinds(InProcess()) == set()


def _backwards(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    return stages_of(board, goals)[::-1]


def _work_swapped(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    stages = stages_of(board, goals)
    work = [i for i, s in enumerate(stages) if s.weight and s.level is not None]
    swapped = list(stages)
    for i, j in zip(work, reversed(work), strict=True):
        swapped[i] = stages[j]
    return swapped


def _costs_first(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    return sorted(stages_of(board, goals), key=lambda s: s.high > 0)


def _without_costs(board: Board, goals: Sequence[Objective]) -> list[Stage]:
    return [s for s in stages_of(board, goals) if s.high > 0]


@pytest.mark.parametrize("order", [_backwards, _work_swapped, _costs_first, _without_costs])
def test_tiers_in_another_order_are_caught(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "stages_of", order)

    assert WORSE in kinds(InProcess())
