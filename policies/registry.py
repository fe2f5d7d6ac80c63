"""The rules of a cycle: the house's own, and those of installed packages (entry points)."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib.metadata import entry_points
from typing import Any

from ..models import Config, InputError
from .budgets import Budgets
from .capacity import Capacity
from .gang import Gang
from .host_ports import HostPorts
from .node_rules import NodeAffinity, NodeState, Taints
from .pod_affinity import PodAffinity
from .preemption import Preemption
from .queue_access import QueueAccess
from .quota import Quota
from .topology_spread import TopologySpread

GROUP = "apportion.rules"
BUILT_IN: tuple[Callable[..., Any], ...] = (
    NodeState,
    NodeAffinity,
    Taints,
    QueueAccess,
    Gang,
    Preemption,
    Capacity,
    Quota,
    Budgets,
    HostPorts,
    PodAffinity,
    TopologySpread,
)
ALWAYS_ON = frozenset({"capacity", "gang", "preemption", "budget", "queue"})
"""Rules that cannot be turned off: without them a plan could do harm."""


def built_in() -> dict[str, Callable[..., Any]]:
    """Return the house's rules by name."""
    return {make().name: make for make in BUILT_IN}


def installed() -> dict[str, Callable[..., Any]]:
    """Return the rules of installed packages by entry point name."""
    return {e.name: e.load() for e in entry_points(group=GROUP)}


def rules_for(config: Config) -> tuple[Any, ...]:
    """Return the rules of a configuration, with their options set.

    Raises
    ------
    InputError
        For a rule or an option that does not exist, or a rule that cannot be turned off.
    """
    makers = {**built_in(), **installed()}
    for name in (*config.off, *config.options):
        if name not in makers:
            known = ", ".join(sorted(makers))
            raise InputError(f"configuration: there is no rule {name!r}; rules are: {known}")
    for name in config.off:
        if name in ALWAYS_ON:
            raise InputError(f"configuration: rule {name!r} cannot be turned off")
    return tuple(
        _make(name, make, config.options.get(name, {}))
        for name, make in makers.items()
        if name not in config.off
    )


def _make(name: str, make: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    rule = make()
    known = {f.name for f in fields(rule)} - {"name"}
    for option in options:
        if option not in known:
            offers = ", ".join(sorted(known)) or "none"
            raise InputError(
                f"configuration: rule {name!r} has no option {option!r}; it has: {offers}"
            )
    try:
        return make(**options)
    except (TypeError, ValueError) as e:
        raise InputError(f"configuration: rule {name!r}: {e}") from e
