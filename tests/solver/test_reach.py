"""A model of the whole cluster is built only where that leaves time to search it."""

import pytest
from benchmarks.edges import onto_empty
from benchmarks.large import Large, large

from apportion.models import Config
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import reach
from apportion.solver.entry import TOO_LARGE, plan
from apportion.solver.reach import cells_of, is_within_reach
from apportion.solver.search import Clock


def _scene(nodes: int, waiting: int, budget_ms: int = 5000) -> Scene:
    config = Config(budget_ms=budget_ms)
    return Scene(large(Large(nodes=nodes, waiting=waiting)), config, rules_for(config))


def test_equal_nodes_and_equal_pods_are_few_cells() -> None:
    config = Config()
    assert cells_of(Scene(onto_empty(50, 400), config, rules_for(config))) == 1


def test_cells_grow_with_kinds_of_pods_and_nodes() -> None:
    small, more_pods, more_nodes = _scene(20, 50), _scene(20, 150), _scene(60, 50)
    assert cells_of(small) < cells_of(more_pods)
    assert cells_of(small) < cells_of(more_nodes)


def test_without_a_clock_the_budget_says_what_is_within_reach() -> None:
    assert is_within_reach(_scene(60, 150), Clock(None))
    assert not is_within_reach(_scene(60, 150, budget_ms=50), Clock(None))
    assert not is_within_reach(_scene(60, 150), Clock(0.05))


def test_what_is_out_of_reach_is_answered_by_greedy_with_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reach, "SHARE", 0.0)
    made = plan(large(Large(nodes=30, waiting=60)), Config(budget_ms=60_000))
    assert (made.solver.engine, made.solver.status) == ("greedy", "feasible")
    assert made.solver.detail == TOO_LARGE
    work = [t for t in made.objective if t.name in ("repair", "entitled", "surplus")]
    assert all(t.bound is not None and t.bound >= t.value for t in work)
