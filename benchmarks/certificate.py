"""The certificate: how near bounds without a search are, what they take, and that none is wrong.

A bound is wrong where the greedy plan surpasses it, or another legal plan that is as good in the
tiers before: the greedy plan without evictions, or what the search finds. So it is of work and of
what evictions cost.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion.models import Config, Snapshot
from apportion.policies.eviction_cost import ByPriority
from apportion.policies.fairness import Work
from apportion.policies.goals import EVICTION_COSTS
from apportion.policies.legality import verify
from apportion.policies.levels import TIERS, Levels, Tier
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.bounding.bounds import Reached, work_bounds
from apportion.solver.bounding.prices import price_bounds
from apportion.solver.certificate import counted
from apportion.solver.decode import outcome_of
from apportion.solver.entry import plan, settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of

from .large import Large, large
from .subjects import Row, Subject, register

SIZES = (50, 100, 200, 500, 1000)
MANY, FEW = 200, 6
SEARCHED = 40
"""Clusters of up to so many nodes are searched as well."""


@dataclass(frozen=True)
class Certified:
    """A greedy plan with its bounds, and what they took."""

    scene: Scene
    levels: Levels
    outcome: Outcome
    counted: Mapping[Tier, int]
    bounds: Mapping[Tier, int]
    costs: Mapping[str, int]
    """What evictions cost at least."""
    seconds: float
    """Processor time."""

    def gap(self, bounds: Mapping[Tier, int]) -> float:
        """Return the worst gap of the tiers of work."""
        reached = work_of(self.outcome)
        return max((bounds[t] - reached[t]) / max(1, bounds[t]) for t in TIERS)


def work_of(outcome: Outcome) -> dict[Tier, int]:
    return {t: Work(t).measure(outcome) for t in TIERS}


def costs_of(outcome: Outcome) -> dict[str, int]:
    return {e.name: e.measure(outcome) for e in EVICTION_COSTS}


def certified(snapshot: Snapshot) -> Certified:
    """Plan greedily, and bound what the plan reaches."""
    config = Config(engine="greedy")
    scene = Scene(snapshot, config, rules_for(config))
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    outcome = outcome_of(scene, settle_greedy(scene, ranking, levels), levels)
    started = time.process_time()
    most: dict[Tier, int] = {t: counted(scene, levels, Work(t)) for t in TIERS}
    reached = work_of(outcome)
    wanting: dict[Tier, bool] = {t: reached[t] < most[t] for t in TIERS}
    bounds = dict(most)
    for tier, bound in work_bounds(
        scene, levels, Reached(reached, ByPriority().measure(outcome)), wanting
    ):
        bounds[tier] = min(bounds[tier], bound)
    costs = costs_of(outcome)
    least = dict(price_bounds(scene, levels, reached, costs)) if any(costs.values()) else {}
    return Certified(scene, levels, outcome, most, bounds, least, time.process_time() - started)


def beaten(of: Certified) -> Iterator[str]:
    """Say which bounds are wrong."""
    reached, victims = work_of(of.outcome), ByPriority().measure(of.outcome)
    for t in TIERS:
        if of.bounds[t] < reached[t]:
            yield f"{t}: the greedy plan has {reached[t]}, the bound is {of.bounds[t]}"
    own = costs_of(of.outcome)
    for cost, least in of.costs.items():
        if own[cost] < least:
            yield f"{cost}: the greedy plan has {own[cost]}, the bound is {least}"
    for name, outcome in _others(of):
        work = work_of(outcome)
        yield from _cheaper(of, name, outcome)
        if ByPriority().measure(outcome) > victims:
            continue
        for n, t in enumerate(TIERS):
            as_good = all(work[x] >= reached[x] for x in TIERS[:n])
            if as_good and work[t] > of.bounds[t]:
                yield f"{t}: {name} has {work[t]}, the bound is {of.bounds[t]}"


def _cheaper(of: Certified, name: str, outcome: Outcome) -> Iterator[str]:
    """Say which bounds of costs a plan that is as good in what comes before is below."""
    work, reached, own = work_of(outcome), work_of(of.outcome), costs_of(of.outcome)
    as_good = all(work[t] >= reached[t] for t in TIERS)
    for cost, value in costs_of(outcome).items():
        if as_good and value < of.costs.get(cost, 0):
            yield f"{cost}: {name} has {value}, the bound is {of.costs[cost]}"
        as_good = as_good and value <= own[cost]


def _others(of: Certified) -> Iterator[tuple[str, Outcome]]:
    snapshot = of.scene.snapshot
    configs = {"greedy without evictions": Config(engine="greedy", evictions="none")}
    if len(snapshot.nodes) <= SEARCHED:
        configs["the search"] = Config(budget_ms=5000)
    for name, config in configs.items():
        outcome = Outcome.of_plan(of.scene, plan(snapshot, config))
        outcome.levels = of.levels
        yield name, outcome


def _sizes(short: bool, runs: int) -> Sequence[Row]:
    rows = []
    for nodes in SIZES[:2] if short else SIZES:
        found = [certified(large(Large(nodes=nodes, waiting=2 * nodes))) for _ in range(runs)]
        row = Row(f"{nodes} nodes, {2 * nodes} waiting", nodes=nodes, waiting=2 * nodes)
        row.seconds = row.cpu = [f.seconds for f in found]
        row.started, row.gap = len(found[0].outcome.places), found[0].gap(found[0].bounds)
        alone = found[0].gap(found[0].counted)
        row.note = f"gap {row.gap:.4%}; by counting alone {alone:.4%}"
        rows.append(row)
    return rows


def _many(short: bool, runs: int) -> Sequence[Row]:
    del runs
    tried, wrong, illegal, near = 0, list[str](), list[str](), 0
    seconds: list[float] = []
    for seed in range(FEW if short else MANY):
        rng = random.Random(f"certificate {seed}")
        nodes = rng.choice((10, 20, 40) if short else (10, 20, 40, 50, 100, 200, 400, 1000))
        of = Large(
            nodes=nodes, waiting=nodes * rng.choice((1, 2, 4)), queues=rng.choice((2, 5, 20)),
            fill=rng.choice((0.0, 0.5, 0.8, 0.95)), seed=seed,
        )  # fmt: skip
        found = certified(large(of))
        tried += 1
        seconds.append(found.seconds)
        near += found.gap(found.bounds) <= 0.01
        wrong += [f"{of}: {said}" for said in beaten(found)]
        illegal += [f"{of}: {said}" for said in verify(found.outcome)]
    row = Row(
        f"{tried} random clusters",
        wanted="no bound is wrong, every plan passes the checker",
        seconds=seconds,
        cpu=seconds,
    )
    said = f"{len(wrong)} wrong bounds, {len(illegal)} violations, {near} within 1 %"
    row.note = "; ".join([said, *wrong[:3], *illegal[:3]])
    return [row]


register(Subject("certificate", "gap and time of bounds without a search, by size", _sizes, True))
register(Subject("certificate-soak", "bounds without a search that another plan surpasses", _many))
