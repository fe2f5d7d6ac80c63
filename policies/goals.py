"""The tiers of the objective, first things first."""

from typing import Any

from ..models import Config
from .api import Objective
from .closeness import Closeness
from .eviction_cost import ByPriority, GangsBroken, LostWork, Returning, Youngest
from .expected_fragmentation import ExpectedFragmentation
from .fairness import work_tiers
from .placement import Binpack, LargeHoles, MemberOrder, Seniority, Spread, Stability, Waiting
from .wishes import Wishes

EVICTION_COSTS = (
    Returning(),
    ByPriority(),
    GangsBroken(),
    LostWork(),
    Youngest(),
)
PACKING: dict[str, Any] = {
    "binpack": Binpack(),
    "spread": Spread(),
    "fragmentation": LargeHoles(),
    "expected-fragmentation": ExpectedFragmentation(),
}


BEFORE_INSTALLED: tuple[Objective, ...] = (
    Seniority(),
    Waiting(),
    MemberOrder(),
    Closeness(),
    Wishes(),
)
"""What comes after evictions, and before goals of installed packages."""

OPTIONAL: tuple[Objective, ...] = (*BEFORE_INSTALLED, Stability(), *PACKING.values())
"""Goals that can be turned off."""


def goals_for(config: Config, extra: tuple[Any, ...] = ()) -> tuple[Objective, ...]:
    """Return the tiers in order; goals of installed packages come before packing."""
    goals: tuple[Objective, ...] = (
        *work_tiers(),
        *EVICTION_COSTS,
        *BEFORE_INSTALLED,
        *(r for r in extra if isinstance(r, Objective)),
        Stability(),
        PACKING[config.tiers.packing],
    )
    return tuple(g for g in goals if g.name not in config.off)
