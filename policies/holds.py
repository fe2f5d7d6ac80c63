"""Holds: what keeps a whole group from starting, whatever the nodes."""

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from ..models import GroupKey, Reason
from .api import Holding
from .outcome import Outcome
from .scene import Scene

_MEMO: "WeakKeyDictionary[Scene, dict[GroupKey, tuple[Reason, ...]]]" = WeakKeyDictionary()


def holds(scene: Scene, group: GroupKey) -> Iterable[Reason]:
    """Return the reasons, from every rule that holds groups, why the group cannot start at all."""
    memo = _MEMO.setdefault(scene, {})
    if group not in memo:
        nothing = Outcome(scene, {})
        memo[group] = tuple(
            reason
            for rule in scene.rules
            if isinstance(rule, Holding)
            for reason in rule.hold(nothing, group)
        )
    return memo[group]
