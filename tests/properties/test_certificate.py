"""Bounds found without a search are never on the wrong side, on every legal plan there is."""

from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from apportion.models import Config, Node, Queue, Snapshot
from apportion.solver.bounding import model
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


def pushed_cluster(seed: int) -> tuple[Snapshot, Config]:
    """Return two queues, one of which starts work that pushes its own running work beyond."""
    rng = Random(f"pushed cluster {seed}")
    nodes = [node(f"n{i}", rng.choice((4, 6, 8))) for i in range(rng.choice((1, 2)))]
    parts: list[Node | Members | Queue] = [*nodes, queue("gives", rng.choice((2, 4)))]
    parts.append(queue("takes", rng.choice((2, 4, 6))))
    for n in nodes:
        for k in range(rng.choice((1, 2, 3))):
            parts.append(
                Members(
                    f"old{n.name}{k}", "gives", rng.choice((1, 2)), on=[n.name],
                    priority=rng.choice((0, 0, 1)), created_s=rng.randrange(1000, 9000),
                )
            )  # fmt: skip
    for k in range(rng.choice((1, 2))):
        size = rng.choice((1, 2, 3))
        parts.append(Members(f"first{k}", "gives", size, waiting=1, priority=9, may_preempt=False))
    parts.append(Members("due", "takes", rng.choice((2, 3, 4)), waiting=rng.choice((1, 2))))
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


@pytest.mark.parametrize("seeds", shards(60, 5_400_000, each=30))
def test_no_plan_surpasses_a_bound_where_work_is_pushed_beyond(
    seeds: list[int], tally: Tally
) -> None:
    on_clusters(seeds, tally, Property(pushed_cluster, partial(faults, tally)))


def test_work_that_nothing_pushes_beyond_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that nothing more becomes beyond, whatever starts before it."""
    monkeypatch.setattr(model, "growing", lambda beyond, started: {})

    found = [
        f for seed in range(5_400_000, 5_400_030) for f in faults(Tally(), *pushed_cluster(seed))
    ]

    assert any("entitled" in f.says for f in found)


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
