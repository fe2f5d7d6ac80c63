"""Bounds found without a search are never on the wrong side, on every legal plan there is."""

from functools import partial

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from oracle import worlds
from properties.ceilings import faults
from properties.clusters import SMALL, cluster
from properties.configs import config
from properties.mixtures import small_mixture
from properties.trials import Property, Tally, on_clusters, shards


def any_cluster(seed: int) -> tuple[Snapshot, Config]:
    return cluster(seed, SMALL), config(seed, judged=True)


def crowded_cluster(seed: int) -> tuple[Snapshot, Config]:
    settings = replace(worlds.settings(seed), deterministic=True)
    return worlds.world(seed, "small" if seed % 2 else "tiny"), settings


@pytest.mark.parametrize("seeds", shards(200, 5_000_000, each=50))
def test_no_plan_surpasses_a_bound(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(any_cluster, partial(faults, tally)))


@pytest.mark.parametrize("seeds", shards(400, 5_100_000, each=50))
def test_no_plan_surpasses_a_bound_in_a_crowded_cluster(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(crowded_cluster, partial(faults, tally)))


@pytest.mark.parametrize("seeds", shards(150, 5_200_000, each=50))
def test_no_plan_surpasses_a_bound_in_a_mixture(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(small_mixture, partial(faults, tally)))


def test_point_a_little_below_zero_is_branched_on_from_zero(tally: Tally) -> None:
    """A solver's point may lie outside the bounds of its columns by a trace."""
    on_clusters([5_000_369], tally, Property(any_cluster, partial(faults, tally)))
