"""What one cycle did, for those who show it: metrics, the log, the debug page."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...models import Plan, Snapshot

PHASES = ("snapshot", "solve", "apply")
"""Phases of a cycle, in their order; the second look before a plan is applied is in the first."""


@dataclass(frozen=True, slots=True)
class CycleReport:
    """One cycle, from what it saw to what came of its plan."""

    number: int
    started_s: float
    """Seconds since 1970."""
    seconds_by_phase: Mapping[str, float]
    snapshot: Snapshot
    plan: Plan
    bound: int
    """Pods that were bound."""
    evicted: int
    """Pods that were evicted."""
    refused: int
    """Groups that did not get what the plan gave them, as the cluster refused it."""
    changed_objects: int
    """Objects that changed since the cycle before."""

    @property
    def seconds(self) -> float:
        """How long the cycle took."""
        return sum(self.seconds_by_phase.values())
