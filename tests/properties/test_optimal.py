"""On clusters small enough to try every plan: values are optimal, bounds hold, nobody objects."""

from functools import partial

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from apportion.policies import loss_rows
from apportion.solver.process import SolverProcess
from oracle import worlds
from properties.clusters import SMALL, cluster
from properties.configs import config
from properties.optimal import faults
from properties.trials import Property, Tally, on_clusters, shards


def any_cluster(seed: int) -> tuple[Snapshot, Config]:
    """Return a cluster in which anything may turn up."""
    return cluster(seed, SMALL), config(seed, judged=True)


def crowded_cluster(seed: int) -> tuple[Snapshot, Config]:
    """Return one of those that the brute force is tried on: full, with rights and dues at odds."""
    settings = replace(worlds.settings(seed), deterministic=True)
    return worlds.world(seed, "small" if seed % 2 else "tiny"), settings


@pytest.mark.parametrize("seeds", shards(400, 300_000))
def test_small_clusters_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(any_cluster, partial(faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(100, 450_000))
def test_sums_that_are_chained_say_the_same(
    seeds: list[int], solver: SolverProcess, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few victims as of many: what they lose is added up one after the other."""
    monkeypatch.setattr(loss_rows, "CHAINED", 0)
    on_clusters(seeds, tally, Property(crowded_cluster, partial(faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(400, 400_000))
def test_crowded_clusters_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(crowded_cluster, partial(faults, solver, tally)))
