"""Tier rows: values measured on the plan, bounds from stages, and none where none is known."""

import pytest

from apportion.policies.goals import goals_for
from apportion.solver.decode import decode, outcome_of
from apportion.solver.rows import TierResult, tier_results, vector_of
from apportion.solver.search import Clock, search
from apportion.solver.stages import stages_of
from oracle.worlds import world

from .children import InProcess
from .parts import DETERMINISTIC, model_of

WORK = ("repair", "entitled", "surplus")


class Searched:
    """A world with its goals and stages, and what the search found."""

    def __init__(self, seed: int) -> None:
        self.model = model_of(world(seed, "tiny"))
        scene, board = self.model.scene, self.model.board
        self.goals = goals_for(scene.config, scene.rules)
        self.stages = stages_of(board, self.goals)
        self.found = search(board, self.stages, InProcess(), DETERMINISTIC, Clock(None))
        assert self.found.values is not None
        decision = decode(board, self.model.compiled, self.found.values)
        self.outcome = outcome_of(scene, decision, self.model.levels)

    def move_bounds(self, by: int) -> None:
        self.found.bounds = [None if b is None else b + by for b in self.found.bounds]

    def rows(self) -> dict[str, TierResult]:
        """Return the rows of the goals that have a stage, by name."""
        made = tier_results(
            self.goals, self.outcome, self.outcome, self.model.board, self.stages, self.found
        )
        staged = {s.goal.name for s in self.stages}
        return {r.goal.name: r for r in made if r.goal.name in staged}


@pytest.mark.parametrize("seed", range(8))
def test_proven_tiers_are_bounded_by_their_value(seed: int) -> None:
    made = Searched(seed).rows()

    assert made
    assert all(made[w].bound == made[w].value for w in WORK if w in made)


@pytest.mark.parametrize("seed", range(8))
def test_open_tiers_are_bounded_on_their_side(seed: int) -> None:
    some = Searched(seed)
    some.move_bounds(1)

    for r in some.rows().values():
        assert r.bound is not None
        assert r.value < r.bound if r.goal.sense == "max" else r.value > r.bound


def test_no_bounds_from_a_board_with_a_rounded_row() -> None:
    some = Searched(4)
    some.model.board.exact = False

    assert all(r.bound is None for r in some.rows().values())


def test_no_bound_of_stages_that_know_none() -> None:
    some = Searched(4)
    some.found.bounds = [None] * len(some.found.bounds)

    assert all(r.bound is None for r in some.rows().values())


def test_stages_after_an_open_one_count_as_fully_open() -> None:
    some = next(s for s in map(Searched, range(40)) if _levels(s) > 1)
    name = next(w for w in WORK if sum(s.goal.name == w for s in some.stages) > 1)
    mine = [i for i, s in enumerate(some.stages) if s.goal.name == name]
    some.found.bounds = list(some.found.bounds)
    first = some.stages[mine[0]]
    some.found.bounds[mine[0]] = first.terms.value(some.found.values or ()) + 1

    bound = some.rows()[name].bound

    rest = sum(some.stages[i].weight * some.stages[i].high for i in mine[1:])
    assert bound == first.weight * (some.found.bounds[mine[0]] or 0) + rest


def _levels(some: Searched) -> int:
    return max(sum(s.goal.name == w for s in some.stages) for w in WORK)


def test_value_is_measured_on_the_plan_and_not_taken_from_the_search() -> None:
    some = Searched(4)
    some.move_bounds(100)

    assert all(r.value == r.goal.measure(some.outcome) for r in some.rows().values())


@pytest.mark.parametrize("seed", range(8))
def test_engine_is_never_below_the_greedy_plan(seed: int) -> None:
    some = Searched(seed)
    model = some.model

    greedy = outcome_of(model.scene, model.greedy, model.levels)

    assert vector_of(some.outcome, some.goals) >= vector_of(greedy, some.goals)
