"""Bounds from a linear program: true whatever the multipliers, and only of the whole program."""

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest
from pybind11_abseil.status import Status, StatusCode, StatusNotOk

from apportion.models import Config
from apportion.policies.levels import Levels
from apportion.policies.scene import Scene
from apportion.solver.bounding import bounds, model
from apportion.solver.bounding.branching import Branching
from apportion.solver.bounding.duality import upper_bound
from apportion.solver.bounding.ground import Ground
from apportion.solver.bounding.leaving import Leaving
from apportion.solver.bounding.program import Program, Real
from apportion.solver.bounding.reach import Reach
from apportion.solver.bounding.solving import Solver
from apportion.solver.entry import plan
from oracle import worlds
from oracle.build import Members, node, queue, snapshot
from properties import ceilings
from properties.ceilings import faults
from properties.trials import Tally

FAR = float("inf")
SEEDS = range(5_100_200, 5_100_240)


def program(
    seed: int, large: int = 1 << 40
) -> tuple[Program, np.ndarray[tuple[int, ...], np.dtype[np.float64]], float]:
    """Return a small program, its goal, and the best integer point by trying them all."""
    rng = Random(seed)
    n, m = 4, 3
    made = Program()
    columns = made.add_columns([rng.randint(1, 3) for _ in range(n)])
    coefs = [[rng.choice((-2, -1, 0, 1, 1, 2, 3)) for _ in range(n)] for _ in range(m)]
    most = [rng.randint(0, 6) for _ in range(m)]
    rows = made.add_rows(most)
    for row, of in zip(rows, coefs, strict=True):
        made.put(row, columns, of)
    goal = np.array([rng.choice((-1, 1, 2, 5, large)) for _ in range(n)], dtype=np.float64)
    best = max(
        float(np.array(x) @ goal)
        for x in product(*(range(int(u) + 1) for u in made.upper))
        if all(
            sum(a * b for a, b in zip(of, x, strict=True)) <= b0
            for of, b0 in zip(coefs, most, strict=True)
        )
    )
    return made, goal, best


@pytest.mark.parametrize("seed", range(60))
def test_no_multipliers_give_a_bound_that_is_too_low(seed: int) -> None:
    made, goal, best = program(seed)
    rng = np.random.default_rng(seed)
    lower = np.zeros(made.columns)

    for scale in (0.0, 1.0, 1e3, 1e12):
        tried = rng.uniform(-0.2, 1.0, made.rows) * scale
        assert upper_bound(made, goal, tried, lower, made.upper) >= best
    found = Solver(made, goal).maximize(goal, lower, made.upper, 10.0)
    assert found is not None
    assert best <= upper_bound(made, goal, found.multipliers, lower, made.upper)


@pytest.mark.parametrize("seed", range(60))
def test_branching_comes_down_to_the_best_integer_point(seed: int) -> None:
    made, goal, best = program(seed, large=1000)

    bound = Branching(made, goal, np.arange(made.columns)).run(-FAR, FAR, nodes=500)

    assert best <= bound <= best + 1e-6 * max(1.0, abs(best))


def test_bound_of_part_of_the_program_is_rounded_outward() -> None:
    made = Program()
    column = made.add_columns(10)
    row = made.add_rows(1.0)
    made.put(row, column, 0.1)  # a little more than a tenth, as it is stored
    goal, lower = np.array([1.0]), np.zeros(1)

    assert upper_bound(made, goal, np.array([10.0]), lower, made.upper) >= 10.0


def wrong(seeds: range = SEEDS) -> int:
    settings = Config(deterministic=True)
    worlds_of = (worlds.world(seed, "tiny") for seed in seeds)
    return sum(len(list(faults(Tally(), w, settings))) for w in worlds_of)


def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "candidates", lambda scene: [])


def part_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold every other group, as a search in a neighbourhood would."""
    whole = model.model_of

    def fixed(scene: Scene, levels: Levels) -> Ground:
        ground = whole(scene, levels)
        starts = ground.parts.starts.column
        ground.parts.program.upper[starts[::2]] = 0.0
        return ground

    monkeypatch.setattr(bounds, "model_of", fixed)


def some_victims_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold some of the pods that might leave, as in a neighbourhood of the plan at hand."""
    whole = Leaving.tell

    def fixed(leaving: Leaving) -> dict[str, Real]:
        leaving._program.upper[leaving._first :: 3] = 0.0
        return whole(leaving)

    monkeypatch.setattr(Leaving, "tell", fixed)


def cost_is_taken_for_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that a plan's own costs are the least there are."""
    monkeypatch.setattr(ceilings, "price_bounds", lambda scene, levels, work, costs: costs.items())


def nobody_has_a_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that waits stand in free room alone."""
    monkeypatch.setattr(Reach, "is_rightless", lambda self, number: True)


def nothing_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a point's own value for the bound."""
    monkeypatch.setattr(Branching, "run", lambda self, reached, *_: reached)


def test_bounds_of_the_whole_program_are_right() -> None:
    assert wrong() == 0


MUTANTS = [
    nobody_leaves, part_of_the_work, some_victims_stay, nothing_is_whole,
    cost_is_taken_for_its_bound, nobody_has_a_right,
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_bound_of_a_program_in_which_something_is_fixed_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)

    assert wrong() > 0


def test_work_without_a_right_is_proven_to_stay_out() -> None:
    made = plan(
        snapshot(
            node("n1", 8, 8), node("n2", 8, 8), queue("q"),
            Members("old", "q", 1, on=["n1", "n2"], gpus=1),
            Members("large", "q", 1, waiting=1, gpus=8),
            Members("small", "q", 1, waiting=1, gpus=7),
        ),
        Config(engine="greedy", deterministic=True),
    )  # fmt: skip

    assert [h.group for h in made.held] == ["x/large"]
    assert made.solver.gap == 0


def test_work_without_a_right_stays_out_whoever_else_could_make_room() -> None:
    """Others may evict, but what that frees is theirs: nothing for a pod of a whole node."""
    made = plan(
        snapshot(
            node("n1", 8, 8), node("n2", 8, 8), queue("q", reclaimable=False), queue("r"),
            Members("old", "q", 1, on=["n1", "n2"], gpus=1),
            Members("top", "q", 1, waiting=1, gpus=1, priority=9),
            Members("large", "r", 1, waiting=1, gpus=8),
        ),
        Config(engine="greedy", deterministic=True),
    )  # fmt: skip

    assert [h.group for h in made.held] == ["x/large"]
    assert made.solver.gap == 0


def test_where_the_lp_solver_gives_up_there_is_a_bound_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, goal, best = program(3)

    class GivesUp:
        """A solver that fails as GLOP does on numerical trouble."""

        def update(self, _: object) -> None:
            pass

        def solve(self, *_: object) -> object:
            raise StatusNotOk(Status(StatusCode.INTERNAL, "ABNORMAL"))

    asked = Solver(made, goal)
    monkeypatch.setattr(asked, "_solver", GivesUp())
    assert asked.maximize(goal, np.zeros(made.columns), made.upper, 10.0) is None
    again = asked.maximize(goal, np.zeros(made.columns), made.upper, 10.0)
    assert again is not None
    assert best <= upper_bound(made, goal, again.multipliers, np.zeros(made.columns), made.upper)
