"""Moves on random clusters: legal, nothing lost, something gained, and at rest in the end."""

from functools import partial

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from apportion.solver.process import SolverProcess
from properties.configs import config
from properties.moving import faults, in_pieces
from properties.trials import Property, Tally, on_clusters, shards


def _made(seed: int) -> tuple[Snapshot, Config]:
    """Return a cluster, and settings: what is moved does not depend on the engine."""
    return in_pieces(seed), replace(config(seed), moves=3, engine="greedy", evictions="all")


@pytest.mark.parametrize("seeds", shards(60, 1_500_000, each=15))
def test_moves_lose_nothing_and_come_to_rest(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(_made, partial(faults, solver, tally)))
