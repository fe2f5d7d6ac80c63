"""The portfolio: other greedy plans are made where there is time, and the best one is kept."""

import time
from collections.abc import Callable

import pytest
from benchmarks.first_fit import first_fit
from benchmarks.large import Large, large
from benchmarks.priority_instances import Small, small

from apportion.models import Config, Snapshot
from apportion.policies.goals import goals_for
from apportion.policies.legality import verify
from apportion.policies.levels import Levels
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import portfolio
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.entry import settle_greedy
from apportion.solver.greedy import Ranking, rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.rows import vector_of
from apportion.solver.search import Clock

CONFIG = Config(engine="greedy")
SEED = 4
"""Of a cluster on which another score of nodes is better."""


class World:
    """A cluster with its first greedy plan; the plans that were settled after it are counted."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        snapshot = snapshot or large(Large(30, 90, queues=5, fill=0.9, seed=SEED))
        self.scene = Scene(snapshot, CONFIG, rules_for(CONFIG))
        self.goals = goals_for(CONFIG, self.scene.rules)
        ranking = rank_and_place(self.scene)
        self.levels = levels_of(self.scene, ranking)
        self.first = (ranking.draft, settle_greedy(self.scene, ranking, self.levels))
        self.settled = 0

    def settle(self, scene: Scene, ranking: Ranking, levels: Levels) -> Decision:
        self.settled += 1
        return settle_greedy(scene, ranking, levels)

    def best(self, clock: Clock) -> Decision:
        found = portfolio.best_of(
            self.scene, self.levels, self.goals, self.first, self.settle, clock
        )
        return found[1]

    def value(self, decision: Decision) -> tuple[int, ...]:
        return vector_of(outcome_of(self.scene, decision, self.levels), self.goals)


@pytest.fixture
def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search of the whole would come to an end."""
    never: Callable[[Scene, Clock], bool] = lambda scene, clock: False  # noqa: E731  # has a type
    monkeypatch.setattr(portfolio, "is_within_reach", never)


@pytest.mark.usefixtures("out_of_reach")
def test_the_best_of_several_greedy_plans_is_kept() -> None:
    world = World()

    found = world.best(Clock(1000.0))

    assert world.settled == len(portfolio.OTHERS)
    assert world.value(found) > world.value(world.first[1])
    assert verify(outcome_of(world.scene, found, world.levels)) == []


@pytest.mark.usefixtures("out_of_reach")
def test_no_other_plan_is_made_where_one_may_take_longer_than_there_is_time() -> None:
    world = World()

    found = world.best(Clock(1000.0, started=time.monotonic() - 500))

    assert found is world.first[1]
    assert world.settled == 0


def test_few_others_are_made_where_a_search_follows_the_plain_one_among_them() -> None:
    world = World()

    found = world.best(Clock(1000.0))

    assert portfolio.NEAR[0][0] == "first"
    assert world.settled == len(portfolio.NEAR) < len(portfolio.OTHERS)
    assert world.value(found) >= world.value(world.first[1])


def test_nothing_else_is_tried_where_everything_starts() -> None:
    world = World(small(Small(4, 4, 1, 90, 1)))

    found = world.best(Clock(1000.0))

    assert len(found.places) == 16
    assert world.settled == 0


@pytest.mark.parametrize("seed", range(4))
def test_packing_pod_by_pod_is_never_better_where_a_search_follows(seed: int) -> None:
    snapshot = small(Small(16, 8, 2, 105, seed))
    world = World(snapshot)

    found = world.best(Clock(1000.0))

    passed = {key: world.scene.index[node] for key, node in first_fit(snapshot).items()}
    assert world.value(found) >= world.value(Decision(passed, frozenset()))
