"""On small clusters with volumes, or devices to claim: legal, as good as can be, nobody objects."""

from functools import partial

import pytest
from msgspec.structs import replace

from apportion.models import Config, Snapshot
from apportion.solver.process import SolverProcess
from oracle import worlds
from oracle.claiming import claiming
from oracle.legality import violations
from oracle.stored import stored
from properties.optimal import faults
from properties.solved import solved
from properties.trials import ILLEGAL, Fault, Property, Tally, on_clusters, shards


def with_volumes(seed: int) -> tuple[Snapshot, Config]:
    settings = replace(worlds.settings(seed), deterministic=True)
    return stored(seed, "small" if seed % 2 else "tiny"), settings


def with_devices(seed: int) -> tuple[Snapshot, Config]:
    settings = replace(worlds.settings(seed), deterministic=True)
    return claiming(seed, "small" if seed % 2 else "tiny"), settings


def all_faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> list[Fault]:
    plan = solved(snapshot, settings, solver).plan
    broken = violations(snapshot, settings, plan.places, [e.pod for e in plan.evictions])
    illegal = [Fault(ILLEGAL, said) for said in broken]
    return [*illegal, *faults(solver, tally, snapshot, settings)]


@pytest.mark.parametrize("seeds", shards(200, 2_000_000))
def test_clusters_with_volumes_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(with_volumes, partial(all_faults, solver, tally))
    on_clusters(seeds, tally, made)


@pytest.mark.parametrize("seeds", shards(200, 3_000_000))
def test_clusters_with_devices_to_claim_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    made = Property(with_devices, partial(all_faults, solver, tally))
    on_clusters(seeds, tally, made)


def test_a_minimum_may_be_made_up_of_members_that_make_no_demand(
    solver: SolverProcess, tally: Tally
) -> None:
    """Of a group that may evict, only the member that was not counted leaves room for another."""
    settings = Config(deterministic=True)

    assert all_faults(solver, tally, stored(540, "small"), settings) == []
