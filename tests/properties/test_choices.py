"""Groups that need some of many parts: legal, optimal, and both halves of every rule agree."""

from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from apportion.solver.process import SolverProcess
from oracle import worlds
from oracle.parted import with_parts
from properties import halves, legal, optimal
from properties.clusters import SMALL, cluster
from properties.configs import config
from properties.trials import Property, Tally, on_clusters, shards


def small(seed: int) -> tuple[Snapshot, Config]:
    """Return a cluster that the brute force can go through, under settings that it follows."""
    rng = Random(f"parts {seed}")
    if seed % 2:
        return with_parts(cluster(seed, SMALL), rng), config(seed, judged=True)
    settings = replace(worlds.settings(seed), deterministic=True)
    return with_parts(worlds.world(seed, "small"), rng), settings


def large(seed: int) -> tuple[Snapshot, Config]:
    return with_parts(cluster(seed), Random(f"parts {seed}")), config(seed)


@pytest.mark.parametrize("seeds", shards(50, 4_700_000))
def test_groups_of_parts_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(small, partial(optimal.faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(25, 4_800_000))
def test_rows_and_rules_agree_on_groups_of_parts(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(small, partial(halves.faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(25, 4_900_000))
def test_plan_with_groups_of_parts_breaks_no_rule(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(large, partial(legal.faults, solver, tally)))
