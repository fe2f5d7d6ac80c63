"""Levels: to which slice of the order minima and elastic members belong, and what they are worth.

A level comes wholly before the next. Worth is the dominant share in units of 1 / scale, at least 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..models import GroupKey, Pod
from .standing import StandingTable

Tier = Literal["repair", "entitled", "surplus"]
TIERS: tuple[Tier, ...] = ("repair", "entitled", "surplus")


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """A place in the order: by slice, then by queue priority, then by priority, from the top."""

    tier: int
    """Index into :data:`TIERS`."""
    slice: int
    queue_priority: int = 0
    """Negated, so that the higher sorts first."""
    priority: int = 0
    """Negated."""
    elastic: bool = False
    """Elastic members come after minima of the same place."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Level and worth of a group's minimum (``each`` False) or of each elastic member."""

    level: Level
    value: int


@dataclass(frozen=True)
class Levels:
    """Worth of every group's minimum and of each of its elastic members."""

    minimum: Mapping[GroupKey, Worth]
    elastic: Mapping[GroupKey, Worth]

    def order(self, tier: Tier) -> list[Level]:
        """Return the levels of a tier, first things first."""
        index = TIERS.index(tier)
        used = {w.level for of in (self.minimum, self.elastic) for w in of.values()}
        return sorted(v for v in used if v.tier == index)


def scale_of(table: StandingTable, parts: Iterable[Sequence[Pod]]) -> int:
    """Return a scale at which the smallest of the parts is worth about 8, within 100 to 10^6."""
    shares = {table.share_of(p) for p in parts}
    least = min((s for s in shares if s > 0), default=Fraction(1))
    return max(100, min(10**6, int(8 / least) + 1))


def worth(table: StandingTable, pods: Sequence[Pod], scale: int) -> int:
    """Return what the pods are worth together."""
    return max(1, int(table.share_of(pods) * scale))
