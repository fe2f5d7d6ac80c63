"""No plan breaks a rule, to the checker or the brute force; and its document reads back."""

from functools import partial

import pytest

from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.legal import faults
from properties.trials import Property, Tally, on_clusters, shards


@pytest.mark.parametrize("seeds", shards(600, 100_000))
def test_plan_breaks_no_rule_and_reads_back(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(lambda seed: (cluster(seed), config(seed)), partial(faults, solver, tally))
    on_clusters(seeds, tally, made)
