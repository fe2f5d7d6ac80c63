"""Trials: a property on many random clusters, cut into shards that several processes share."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from apportion.models import Config, Plan, Snapshot
from apportion.models.snapshot import write
from apportion.models.value import to_json
from properties.reduction import reduced

SOAK = 10
"""How many times as many clusters the soak tries."""
CLUSTERS, MILLISECONDS = "clusters", "milliseconds"
ILLEGAL = "plans illegal"
COMPARED = "optimum compared"
WORSE = "tiers below their optimum"
BOUNDS = "bounds on the wrong side"
OBJECTIONS = "objections"
ALWAYS = (ILLEGAL, COMPARED, WORSE, BOUNDS, OBJECTIONS)
"""Counts that the summary shows even where they are 0."""


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


@dataclass(frozen=True)
class Fault:
    """A property that a cluster does not have."""

    kind: str
    says: str


@dataclass(frozen=True)
class Property:
    """Something that has to hold for every cluster: how to make one of a seed, and what to ask."""

    made: Callable[[int], tuple[Snapshot, Config]]
    faults: Callable[[Snapshot, Config], Iterable[Fault]]

    def of(self, seed: int) -> list[Fault]:
        """Return what is wrong with the cluster of a seed."""
        snapshot, config = self.made(seed)
        try:
            return list(self.faults(snapshot, config))
        except Exception as e:
            e.add_note(f"on the cluster of seed {seed}")
            raise


def shards(ci: int, first: int, each: int = 25) -> list[Any]:
    """Return the seeds of ``ci`` clusters by shards, and those of the soak, which are others."""
    middle, end = first + ci, first + ci + ci * SOAK

    def shard(start: int) -> Any:
        marks = [pytest.mark.soak] if start >= middle else []
        name = f"seeds{start}to{start + each - 1}"
        return pytest.param(list(range(start, start + each)), id=name, marks=marks)

    return [shard(s) for s in range(first, end, each)]


def on_clusters(seeds: Iterable[int], tally: Tally, prop: Property) -> None:
    """Ask for the property of every cluster; show all faults, and the first as small as it gets."""
    shown: list[str] = []
    for seed in seeds:
        started = time.perf_counter()
        faults = prop.of(seed)
        tally.counts[CLUSTERS] += 1
        tally.counts[MILLISECONDS] += round(1000 * (time.perf_counter() - started))
        for kind in {f.kind for f in faults}:
            tally.counts[kind] += 1
        if faults and not shown:
            shown.append("\n".join(_smallest(seed, prop, faults[0].kind)))
        shown += [f"seed {seed}: {f.kind}: {f.says}" for f in faults]
    assert not shown, "\n".join(shown)


def _smallest(seed: int, prop: Property, kind: str) -> Iterator[str]:
    snapshot, config = prop.made(seed)

    def is_wrong(tried: Snapshot) -> bool:
        return any(f.kind == kind for f in prop.faults(tried, config))

    yield f"the cluster of seed {seed}, reduced to what shows the fault:"
    yield write(reduced(snapshot, is_wrong)).decode()
    yield f"settings: {to_json(config).decode()}"
