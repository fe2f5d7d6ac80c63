"""The rules of a cycle: the house's own, and those of installed packages (entry points)."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from typing import Any

from ..models import Config, InputError
from .api import Constraint, Filter, Holding, Objective, Tracked
from .attach_limits import AttachLimits
from .budgets import Budgets
from .capacity import Capacity
from .device_blocks import DeviceBlocks
from .devices import Devices
from .gang import Gang
from .goals import OPTIONAL
from .host_ports import HostPorts
from .node_rules import NodeAffinity, NodeState, Taints
from .numa import NumaCells
from .pod_affinity import PodAffinity
from .preemption import Preemption
from .queue_access import QueueAccess
from .quota import Quota
from .resource_claims import ResourceClaims
from .shared_claims import SharedClaims
from .storage_quota import StorageQuota
from .topology import Topology
from .topology_spread import TopologySpread
from .volumes import Volumes

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
    Volumes,
    AttachLimits,
    SharedClaims,
    Devices,
    NumaCells,
    Topology,
    ResourceClaims,
    DeviceBlocks,
    StorageQuota,
)
ALWAYS_ON = frozenset({"capacity", "devices", "gang", "preemption", "budget", "queue"})
"""Rules that cannot be turned off: without them a plan could do harm."""
TURNED_OFF = frozenset(g.name for g in OPTIONAL)
"""Goals that can be turned off."""


@cache
def built_in() -> dict[str, Callable[..., Any]]:
    """Return the house's rules by name."""
    return {make().name: make for make in BUILT_IN}


def installed() -> dict[str, Callable[..., Any]]:
    """Return the rules of installed packages by name.

    Raises
    ------
    InputError
        For a package whose rule cannot be had, or has a name that is taken.
    """
    return dict(_installed(tuple((p, _changed(p)) for p in sys.path)))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _installed(path: object) -> dict[str, Callable[..., Any]]:
    """Look at what is installed, once for each state of the path."""
    del path
    out: dict[str, Callable[..., Any]] = {}
    found = {(e.name, e.value): e for e in entry_points(group=GROUP)}
    for e in sorted(found.values(), key=lambda e: (e.name, e.value)):
        where = f"installed rule {e.name!r} ({e.value})"
        if e.name in built_in():
            raise InputError(f"{where}: a built-in rule has this name; rename or uninstall it")
        if e.name in out:
            raise InputError(f"{where}: two packages have a rule of this name; uninstall one")
        try:
            out[e.name] = e.load()
            problem = _problem(e.name, out[e.name]())
        except Exception as error:  # whatever somebody else's module does when it is imported
            problem = f"{type(error).__name__}: {error}".splitlines()[0]
        if problem:
            raise InputError(f"{where}: {problem}; repair or uninstall the package")
    return out


def _problem(name: str, rule: object) -> str:
    """Say what keeps an object from being a rule of that name; nothing if it is one."""
    if not isinstance(rule, Filter | Constraint | Objective | Tracked | Holding):
        return "it has neither half of a rule (see policies/api.py)"
    if rule.name != name:
        return f"it calls itself {rule.name!r}, the entry point must have the same name"
    if not is_dataclass(rule):
        return "it is no dataclass"
    return ""


def rules_for(config: Config) -> tuple[Any, ...]:
    """Return the rules of a configuration, with their options set.

    Raises
    ------
    InputError
        For a rule or an option that does not exist, or a rule that cannot be turned off.
    """
    makers = {**built_in(), **installed()}
    for name in (*config.off, *config.options):
        if name not in makers and not (name in config.off and name in TURNED_OFF):
            known, goals = ", ".join(sorted(makers)), ", ".join(sorted(TURNED_OFF))
            raise InputError(
                f"configuration: there is no rule {name!r}; rules are: {known}; goals that can be "
                f"turned off are: {goals}"
            )
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
