"""No legal plan of a small cluster surpasses a bound that was found without a search."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from apportion.models import Config, NodeName, PodKey, Snapshot
from apportion.policies.fairness import Work
from apportion.policies.goals import EVICTION_COSTS
from apportion.policies.levels import TIERS, Level, Levels, Tier
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.bounding.bounds import Reached, work_bounds
from apportion.solver.bounding.prices import price_bounds
from apportion.solver.certificate import counted
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.rows import entries
from oracle.search import Meter, Oversize, choices, named, placings, start_sets
from oracle.standing import standing_of
from properties.optimal import TOO_LARGE
from properties.trials import BOUNDS, COMPARED, Fault, Tally

STEPS = 40_000
PLANS = "plans compared"
SHARP = "tiers whose bound some plan reaches"
TIERS_TRIED = "tiers"
CHEAP = "costs whose bound some plan reaches"
COSTS_TRIED = "costs"


def faults(tally: Tally, snapshot: Snapshot, settings: Config) -> Iterator[Fault]:
    """Give the bounds that some legal plan surpasses, for several plans to start from."""
    scene = Scene(snapshot, settings, rules_for(settings))
    levels = levels_of(scene, rank_and_place(scene))
    if not levels.minimum and not levels.elastic:
        return
    try:
        plans = list(reachable(scene, levels))
    except Oversize:
        tally.counts[TOO_LARGE] += 1
        return
    tally.counts[COMPARED] += 1
    tally.counts[PLANS] += len(plans)
    rng = Random(len(plans))
    no_costs = dict.fromkeys((e.name for e in EVICTION_COSTS), 0)
    nothing = Measured(dict.fromkeys(TIERS, 0), {}, no_costs)
    bases = [nothing, max(plans, key=lambda p: [p.work[t] for t in TIERS])]
    bases += rng.sample(plans, min(2, len(plans)))
    for base in bases:
        said = bounds_of(scene, levels, base)
        for n, tier in enumerate(TIERS):
            best = max((p.work[tier] for p in plans if p.is_as_good(base, n)), default=0)
            tally.counts[TIERS_TRIED] += 1
            tally.counts[SHARP] += best == said[tier]
            if best > said[tier]:
                yield Fault(BOUNDS, f"{tier}: a plan reaches {best}, the bound is {said[tier]}")
        yield from _wrong_costs(tally, scene, levels, base, plans)


def _wrong_costs(
    tally: Tally, scene: Scene, levels: Levels, base: "Measured", plans: "list[Measured]"
) -> Iterator[Fault]:
    if not any(base.prices.values()):
        return
    known = dict(price_bounds(scene, levels, base.work, base.prices))
    as_good = [p for p in plans if all(p.work[t] >= base.work[t] for t in TIERS)]
    for name, reached in base.prices.items():
        least = min(p.prices[name] for p in as_good)
        tally.counts[COSTS_TRIED] += bool(reached)
        tally.counts[CHEAP] += bool(reached) and least == known.get(name, 0)
        if least < known.get(name, 0):
            yield Fault(BOUNDS, f"{name}: a plan costs {least}, the bound is {known[name]}")
        as_good = [p for p in as_good if p.prices[name] <= reached]


def bounds_of(scene: Scene, levels: Levels, base: "Measured") -> Mapping[Tier, int]:
    """Return the bounds of all tiers, given what a plan reaches."""
    out: dict[Tier, int] = {t: counted(scene, levels, Work(t)) for t in TIERS}
    reached = Reached(base.work, base.victims)
    for tier, bound in work_bounds(scene, levels, reached, dict.fromkeys(TIERS, True)):
        out[tier] = min(out[tier], bound)
    return out


@dataclass(frozen=True)
class Measured:
    """A legal plan: its work, what it evicts for the levels of each tier, and all costs."""

    work: Mapping[Tier, int]
    costs: Mapping[Tier, int]
    prices: Mapping[str, int]

    @property
    def victims(self) -> int:
        return self.prices["victims"]

    def is_as_good(self, base: "Measured", tiers: int) -> bool:
        """Say whether it reaches as much in the first tiers, and evicts no more for them."""
        first = TIERS[:tiers]
        return (
            all(self.work[t] >= base.work[t] for t in first)
            and sum(self.costs[t] for t in first) <= base.victims
        )


def reachable(scene: Scene, levels: Levels) -> Iterator[Measured]:
    """Give all legal plans, one for each set of pods that starts and each set that is evicted.

    Raises
    ------
    Oversize
        If there is too much to try.
    """
    s = standing_of(scene.snapshot, scene.config)
    meter = Meter(STEPS)
    for started in start_sets(s, meter):
        for choice in choices(s, started, meter):
            places = next(placings(choice, meter), None)
            if places is not None:
                yield _measured(scene, levels, *named(s.cluster, places, choice.evicted))


def _measured(
    scene: Scene, levels: Levels, places: Mapping[PodKey, NodeName], gone: Collection[PodKey]
) -> Measured:
    outcome = Outcome(scene, places, gone, bound=())
    outcome.levels = levels
    goals = [Work(t) for t in TIERS]
    by_entry = entries(outcome, goals)
    costs: dict[Tier, int] = {
        t: -sum(v for (name, at), v in by_entry.items() if name == "victims" and _is_of(at, n))
        for n, t in enumerate(TIERS)
    }
    work: dict[Tier, int] = {t: Work(t).measure(outcome) for t in TIERS}
    return Measured(work, costs, {e.name: e.measure(outcome) for e in EVICTION_COSTS})


def _is_of(level: Level | None, tier: int) -> bool:
    return level is not None and level.tier == tier
