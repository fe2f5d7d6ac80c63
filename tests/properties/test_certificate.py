"""Bounds found without a search are never on the wrong side, on every legal plan there is."""

from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from apportion.models import Config, Node, Queue, Snapshot
from apportion.solver.bounding.returning import Returning
from oracle import worlds
from oracle.build import Members, node, queue, snapshot
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


def full_cluster(seed: int) -> tuple[Snapshot, Config]:
    """Return nodes full of single pods of one or two queues, and gangs that are due some of it."""
    rng = Random(f"full cluster {seed}")
    nodes = [node(f"n{i}", rng.choice((2, 3, 4))) for i in range(3)]
    parts: list[Node | Members | Queue] = list(nodes)
    several = rng.random() < 0.3
    for n in nodes:
        left = n.allocatable["cpu"] // 1000
        while left and rng.random() < 0.95:
            size = min(left, rng.choice((1, 1, 2)))
            left -= size
            name = "other" if several and rng.random() < 0.4 else "old"
            parts.append(
                Members(
                    f"{name}{len(parts)}", name, size, on=[n.name],
                    priority=rng.choice((0, 0, 1, 2)), created_s=rng.randrange(1000, 9000),
                )
            )  # fmt: skip
    names = ["old", "other", "new"] if several else ["old", "new"]
    parts += [queue(q, rng.choice((None, 0, 0, 2, 5))) for q in names]
    for k in range(rng.choice((1, 1, 2))):
        count = rng.choice((1, 1, 2))
        size = rng.choice((1, 2, 2, 3))
        parts.append(Members(f"gang{k}", "new", size, waiting=count, minimum=count, priority=5))
    return snapshot(*parts), Config(deterministic=True)


@pytest.mark.parametrize("seeds", shards(200, 5_000_000, each=50))
def test_no_plan_surpasses_a_bound(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(any_cluster, partial(faults, tally)))


@pytest.mark.parametrize("seeds", shards(400, 5_100_000, each=50))
def test_no_plan_surpasses_a_bound_in_a_crowded_cluster(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(crowded_cluster, partial(faults, tally)))


@pytest.mark.parametrize("seeds", shards(150, 5_200_000, each=50))
def test_no_plan_surpasses_a_bound_in_a_mixture(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(small_mixture, partial(faults, tally)))


@pytest.mark.parametrize("seeds", shards(150, 5_300_000, each=50))
def test_no_plan_surpasses_a_bound_in_a_full_cluster(seeds: list[int], tally: Tally) -> None:
    on_clusters(seeds, tally, Property(full_cluster, partial(faults, tally)))


def test_tails_that_are_too_short_are_caught_in_full_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Say that nobody who is evicted is ever out."""
    monkeypatch.setattr(Returning, "_found", lambda self, tail: 0)

    found = [
        f for seed in range(5_300_000, 5_300_030) for f in faults(Tally(), *full_cluster(seed))
    ]

    assert any("returning victims" in f.says for f in found)


def test_point_a_little_below_zero_is_branched_on_from_zero(tally: Tally) -> None:
    """A solver's point may lie outside the bounds of its columns by a trace."""
    on_clusters([5_000_369], tally, Property(any_cluster, partial(faults, tally)))
