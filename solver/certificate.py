"""The certificate: what no plan can surpass in work and costs of evictions, without a search.

Nothing of it rests on a heuristic: counting takes all that waits and could be put on some node.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..models import GroupKey
from ..policies.eviction_cost import ByPriority
from ..policies.fairness import Work, missing_of, weights_of
from ..policies.goals import EVICTION_COSTS
from ..policies.levels import TIERS, Level, Levels, Tier
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .bounding.bounds import LIMIT_S, Reached, work_bounds
from .bounding.prices import price_bounds
from .rows import TierResult


def certified(
    outcome: Outcome, tiers: Sequence[TierResult], limit_s: float = LIMIT_S
) -> list[TierResult]:
    """Return the tiers of an outcome with the better of two bounds: what is known, and ours.

    ``limit_s``: processor time to tighten bounds of work in, where answers are not deterministic.
    """
    work = _work_bounded(outcome, tiers, limit_s)
    least = _costs_bounded(outcome, tiers)
    out: list[TierResult] = []
    for t in tiers:
        known = t.bound
        if isinstance(t.goal, Work):
            known = work[t.goal.name]
        elif t.goal.name in least:
            known = max(least[t.goal.name], known if known is not None else 0)
        out.append(TierResult(t.goal, t.value, known))
    return out


def _work_bounded(
    outcome: Outcome, tiers: Sequence[TierResult], limit_s: float
) -> Mapping[Tier, int]:
    scene, levels = outcome.scene, outcome.levels
    assert levels is not None
    best: dict[Tier, int] = {}
    for t in tiers:
        if isinstance(t.goal, Work):
            most = counted(scene, levels, t.goal)
            best[t.goal.name] = most if t.bound is None else min(most, t.bound)
    work: dict[Tier, int] = {t.goal.name: t.value for t in tiers if isinstance(t.goal, Work)}
    wanting: dict[Tier, bool] = {tier: work[tier] < best[tier] for tier in best}
    reached = Reached(work, ByPriority().measure(outcome))
    for tier, bound in work_bounds(scene, levels, reached, wanting, limit_s):
        best[tier] = min(best[tier], bound)
    return best


def _costs_bounded(outcome: Outcome, tiers: Sequence[TierResult]) -> Mapping[str, int]:
    """Return the least that each cost of evictions can be: 0, and more where it is open."""
    costs = {t.goal.name: t.value for t in tiers if any(t.goal is e for e in EVICTION_COSTS)}
    least = dict.fromkeys(costs, 0)
    known = {t.goal.name: t.bound for t in tiers}
    if all(known[name] == value or value == 0 for name, value in costs.items()):
        return least
    assert outcome.levels is not None
    work: dict[Tier, int] = {t.goal.name: t.value for t in tiers if isinstance(t.goal, Work)}
    return least | dict(price_bounds(outcome.scene, outcome.levels, work, costs))


def nothing_starts(outcome: Outcome) -> bool:
    """Say whether it is proven that no plan starts anything, whoever is evicted."""
    tiers = [TierResult(Work(t), 0, None) for t in TIERS]
    return all(t.bound == 0 for t in certified(outcome, tiers))


def counted(scene: Scene, levels: Levels, goal: Work) -> int:
    """Return what the tier were worth if all started that could."""
    weights = weights_of(scene, levels, goal.name)
    return sum(weights[level] * value * n for _, level, value, n in wanted(scene, levels, weights))


def wanted(
    scene: Scene, levels: Levels, known: Collection[Level]
) -> Iterator[tuple[GroupKey, Level, int, int]]:
    """Yield group, level, worth and number of all minima and elastic members that could start."""
    for m in scene.roster.waiting:
        minimum, elastic = levels.minimum.get(m.key), levels.elastic.get(m.key)
        if minimum is None and elastic is None:
            continue
        if minimum is not None and minimum.level in known:
            yield m.key, minimum.level, minimum.value, 1
        if elastic is not None and elastic.level in known:
            able = sum(bool(scene.mask(p).any()) for p in m.pending)
            if able > missing_of(m):
                yield m.key, elastic.level, elastic.value, able - missing_of(m)
