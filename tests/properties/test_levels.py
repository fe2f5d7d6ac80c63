"""On small clusters with levels: values are optimal, bounds hold, nobody objects."""

from functools import partial

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from apportion.solver.process import SolverProcess
from oracle import worlds
from oracle.leveled import leveled
from properties.optimal import faults
from properties.trials import Property, Tally, on_clusters, shards


def leveled_cluster(seed: int) -> tuple[Snapshot, Config]:
    """Return a full cluster with racks and blocks, and groups that ask for them."""
    settings = replace(worlds.settings(seed), deterministic=True)
    return leveled(seed, "small" if seed % 2 else "tiny"), settings


@pytest.mark.parametrize("seeds", shards(200, 500_000))
def test_clusters_with_levels_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(leveled_cluster, partial(faults, solver, tally)))
