"""Masking plays no part in a plan, and leaves no name of the cluster."""

from collections.abc import Iterator
from functools import partial

import pytest

from apportion.adapters.masking.mask import Mask
from apportion.models import Config, Snapshot
from apportion.models.snapshot import write
from apportion.solver.process import SolverProcess
from leaks import left, names_of
from masked_plans import plans_apart
from properties.clusters import cluster
from properties.configs import config
from properties.mixtures import mixture
from properties.trials import Fault, Property, Tally, on_clusters, shards


def faults(solver: SolverProcess, snapshot: Snapshot, settings: Config) -> Iterator[Fault]:
    for said in plans_apart(snapshot, settings, solver):
        yield Fault("masked plans apart", said)
    for name in left(write(Mask([snapshot]).of(snapshot)), names_of(snapshot), snapshot):
        yield Fault("names left", name)


@pytest.mark.parametrize("seeds", shards(100, 930_000))
def test_masking_plays_no_part_and_leaves_no_name(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    asked = partial(faults, solver)
    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), asked))


@pytest.mark.parametrize("seeds", shards(50, 4_500_000))
def test_masking_a_mixture_of_everything_plays_no_part(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(faults, solver)))
