"""What the solver is told and what the checker says agree on the plans that leave the solver."""

from functools import partial

import pytest

from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.rows import faults
from properties.trials import Property, Tally, on_clusters, shards


@pytest.mark.parametrize("seeds", shards(200, 200_000))
def test_rows_accept_what_the_checker_accepts(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(lambda seed: (cluster(seed), config(seed)), partial(faults, solver, tally))
    on_clusters(seeds, tally, made)
