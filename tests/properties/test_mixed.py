"""Clusters that mix everything: legal, rows and checker agree, optimal, at rest, the same again."""

from functools import partial

import pytest

from apportion.solver.process import SolverProcess
from properties import halves, legal, optimal, rows, sameness, settling
from properties.mixtures import mixture, small_mixture
from properties.trials import Property, Tally, on_clusters, shards

STEPS = 60_000
"""Of the brute force: where there is so much to look at, a step takes long."""


@pytest.mark.parametrize("seeds", shards(100, 4_000_000))
def test_small_mixtures_are_solved_as_well_as_can_be(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    faults = partial(optimal.faults, solver, tally, steps=STEPS)

    on_clusters(seeds, tally, Property(small_mixture, faults))


@pytest.mark.parametrize("seeds", shards(100, 4_100_000))
def test_plan_of_a_mixture_breaks_no_rule_and_reads_back(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(legal.faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(50, 4_200_000))
def test_rows_accept_what_the_checker_accepts_in_mixtures(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(rows.faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(50, 4_300_000, each=10))
def test_mixtures_come_to_rest_and_nobody_takes_turns(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(settling.faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(50, 4_400_000))
def test_order_of_objects_plays_no_part_in_mixtures(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(sameness.shuffled_faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(50, 4_500_000))
def test_names_play_no_part_but_for_their_order_in_mixtures(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(mixture, partial(sameness.renamed_faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(25, 4_600_000))
def test_rows_and_rules_agree_on_mixtures(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(small_mixture, partial(halves.faults, solver, tally)))
