"""Holds: what keeps a whole group from starting, whatever the nodes."""

from collections.abc import Iterable

from ..models import GroupKey, Reason
from .outcome import Outcome
from .scene import Scene


def holds(scene: Scene, group: GroupKey) -> Iterable[Reason]:
    """Return the reasons, from every rule that holds groups, why the group cannot start at all."""
    memo = scene.once("holds", _nothing_known)
    if group not in memo:
        nothing = scene.once("nothing", lambda of: Outcome(of, {}))
        memo[group] = tuple(
            reason for rule in scene.holding for reason in rule.hold(nothing, group)
        )
    return memo[group]


def _nothing_known(_: Scene) -> dict[GroupKey, tuple[Reason, ...]]:
    return {}
