"""Trials: a property on many random clusters, cut into shards that several processes share."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings

from apportion.models import Config, Plan, Snapshot
from apportion.models.snapshot import write
from properties.clusters import Size, clusters
from properties.configs import configs

EACH = 100
"""Clusters of one shard."""
SOAK = 10
"""How many times as many clusters the soak tries."""


@dataclass
class Tally:
    """What was tried, for the summary."""

    counts: Counter[str] = field(default_factory=Counter)
    largest_gap: float = 0.0

    def note(self, plan: Plan) -> None:
        self.counts[f"{plan.solver.engine}, {plan.solver.status}"] += 1
        self.counts["with evictions"] += bool(plan.evictions)
        self.counts["put in order by exchanges"] += bool(plan.solver.exchanges)
        self.counts["order proven"] += plan.solver.order_proven
        self.largest_gap = max(self.largest_gap, plan.solver.gap or 0.0)


def shards(number: int, first_seed: int) -> list[Any]:
    """Return the seeds of the shards of CI, and those of the soak, which are others."""
    soak = range(first_seed + number, first_seed + number + number * SOAK)
    return [
        *(pytest.param(n, id=f"seed{n}") for n in range(first_seed, first_seed + number)),
        *(pytest.param(n, id=f"seed{n}", marks=pytest.mark.soak) for n in soak),
    ]


def on_clusters(
    shard: int,
    size: Size,
    tally: Tally,
    check: Callable[[Snapshot, Config], None],
    judged: bool = False,
) -> None:
    """Try the check on the clusters of a shard; a cluster that fails is shrunk and shown."""

    @settings(
        max_examples=EACH,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        # Clusters are large on purpose, and a plan takes longer than an example usually does.
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @seed(shard)
    @given(clusters(size), configs(judged))
    def every(snapshot: Snapshot, config: Config) -> None:
        note(f"snapshot: {write(snapshot).decode()}")
        started = time.perf_counter()
        check(snapshot, config)
        tally.counts["clusters"] += 1
        tally.counts["milliseconds"] += round(1000 * (time.perf_counter() - started))

    every()
