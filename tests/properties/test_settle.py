"""Repeated cycles come to rest, and what has come to rest stays as it is."""

from functools import partial

import pytest

from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.settling import faults
from properties.trials import Property, Tally, on_clusters, shards


@pytest.mark.parametrize("seeds", shards(200, 700_000, each=10))
def test_cycles_come_to_rest_and_nobody_takes_turns(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(lambda seed: (cluster(seed), config(seed)), partial(faults, solver, tally))
    on_clusters(seeds, tally, made)
