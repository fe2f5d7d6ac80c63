"""Neighbourhoods, though the whole would fit: legal, never worse than greedy, and so again."""

from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import pytest

from apportion.models import Config, Snapshot
from apportion.policies.goals import goals_for
from apportion.policies.legality import verify
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver import improve
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.entry import settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess
from apportion.solver.rows import vector_of
from apportion.solver.search import Clock
from properties.clusters import cluster
from properties.configs import config
from properties.trials import ILLEGAL, Fault, Property, Tally, on_clusters, shards

LESS = "plans worse than greedy's"
OTHER = "other plans of the same cluster"
BETTER = "better than greedy"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give what is wrong with a plan that neighbourhoods of a few nodes make of greedy's."""
    scene = Scene(snapshot, settings, rules_for(settings))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    goals = goals_for(settings, scene.rules)
    first = settle_greedy(scene, ranking, levels)

    def better() -> Decision:
        return improve.improved(scene, levels, goals, first, solver, Clock(None))

    with patch.object(improve, "MOST", 2):
        made, again = better(), better()
    before, after = (outcome_of(scene, d, levels) for d in (first, made))
    gain = vector_of(after, goals), vector_of(before, goals)
    tally.counts[BETTER] += gain[0] > gain[1]

    for v in verify(after):
        yield Fault(ILLEGAL, str(v))
    if gain[0] < gain[1]:
        yield Fault(LESS, f"{gain[0]} < {gain[1]}")
    if (made.places, made.evicted) != (again.places, again.evicted):
        yield Fault(OTHER, f"{made} and {again}")


@pytest.mark.parametrize("seeds", shards(50, 1_100_000))
def test_neighbourhoods_make_no_plan_worse_or_illegal(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(lambda seed: (cluster(seed), config(seed)), partial(faults, solver, tally))
    on_clusters(seeds, tally, made)
