"""Volcano's scheduler.conf: its actions, tiers and plugins in our settings; the rest is named."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ..models import InputError, Warned
from .paths import below

KEY = "volcano-scheduler.conf"
_TITLE = "Configuration"
_NOTHING = "has no counterpart here and is left out"

EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
_ALWAYS_ACTIONS = ("enqueue", "allocate", "backfill")
_ALWAYS_ON = ("gang", "priority", "conformance", "drf", "pdb", "cdp", "resourcequota")
"""Plugins whose behaviour is always there, or is part of the fair shares."""
_RULE_OF_FLAG = {
    "predicate.NodeAffinityEnable": "node-affinity",
    "predicate.NodePortsEnable": "host-ports",
    "predicate.TaintTolerationEnable": "taints",
    "predicate.PodAffinityEnable": "pod-affinity",
    "predicate.PodTopologySpreadEnable": "topology-spread",
}
_VOLUMES = tuple(
    f"predicate.{x}Enable" for x in ("NodeVolumeLimits", "VolumeZone", "VolumeBinding")
)
_FALSE = ("false", "0", "f")
_TRUE = ("true", "1", "t")
_NEUTRAL_FLAGS = {("gang", "enablePreemptable"), ("gang", "enableReclaimable"),
                  ("drf", "enablePreemptable"), ("drf", "enableReclaimable")}  # fmt: skip
"""Switched off in Volcano's own chart, so that whole gangs can be evicted: as it is here."""


def volcano_conf_in(data: Any, source: str) -> Mapping[str, Any] | None:
    """Return the scheduler.conf that the document is, or holds as a ConfigMap; else None."""
    if not isinstance(data, dict):
        return None
    if data.get("kind") == "ConfigMap":
        inner = data.get("data")
        text = inner.get(KEY) if isinstance(inner, dict) else None
        if not isinstance(text, str):
            raise InputError(f"{source}: the ConfigMap has no text under data[{KEY!r}]")
        try:
            data = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as e:
            why = str(e).splitlines()[0]
            raise InputError(f"{source}: data[{KEY!r}] is no YAML: {why}") from e
        if not isinstance(data, dict):
            raise InputError(f"{source}: data[{KEY!r}] holds no mapping with actions and tiers")
        return data
    if "kind" in data or not ({"actions", "tiers"} & data.keys()):
        return None
    return data


def changes_of_volcano(
    conf: Mapping[str, Any], source: str
) -> tuple[dict[str, Any], tuple[Warned, ...]]:
    """Return what the file changes in our configuration, and what has no counterpart."""
    reader = _Reader(source)
    reader.actions(conf.get("actions"))
    reader.plugins(conf.get("tiers"))
    for key in conf:
        if key not in ("actions", "tiers"):
            reader.warn(str(key), _NOTHING)
    return reader.changes, tuple(reader.warnings)


class _Reader:
    def __init__(self, source: str) -> None:
        self.changes: dict[str, Any] = {}
        self.warnings: list[Warned] = []
        self._source = source
        self._acts: tuple[str, ...] = ()

    def warn(self, path: str, message: str) -> None:
        self.warnings.append(Warned(_TITLE, path, message))

    def _unusable(self, path: str, message: str) -> InputError:
        return InputError(f"{self._source}: {path}: {message}")

    # Actions

    def actions(self, written: Any) -> None:
        if written is None:
            written = ", ".join(_ALWAYS_ACTIONS)
        if not isinstance(written, str):
            raise self._unusable("actions", "expected text such as 'enqueue, allocate, backfill'")
        self._acts = tuple(a.strip() for a in written.split(",") if a.strip())
        for name in self._acts:
            if name not in (*_ALWAYS_ACTIONS, *EVICTING):
                self.warn("actions", f"{name} {_NOTHING}")
        inside = {"preempt", "gangpreempt"} & set(self._acts)
        across = {"reclaim", "gangreclaim"} & set(self._acts)
        if not across:
            self.changes["evictions"] = "queue" if inside else "none"
        elif not inside:
            self.warn(
                "actions",
                "names no action that preempts; inside a queue, lower priority makes room here "
                "wherever queues reclaim from each other",
            )

    # Plugins

    def plugins(self, tiers: Any) -> None:
        seen: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for path, plugin in self._each(tiers):
            name = plugin.get("name")
            if not isinstance(name, str):
                raise self._unusable(f"{path}.name", "is missing; write the plugin's name")
            arguments = plugin.get("arguments")
            if arguments is not None and not isinstance(arguments, dict):
                raise self._unusable(f"{path}.arguments", "expected a mapping")
            seen[name] = (path, arguments or {})
            self._flags(path, name, plugin)
        for name, (path, arguments) in seen.items():
            self._plugin(name, path, arguments, seen)
        self._packing(seen)
        for name in ("gang", "priority"):
            if name not in seen:
                self.warn("tiers", f"plugin {name} is not listed; here it is always on")
        if "enqueue" in self._acts and "overcommit" not in seen:
            self.warn(
                "tiers",
                "plugin overcommit is not listed; groups without pods still reserve at most "
                "120% of what is free",
            )

    def _each(self, tiers: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
        if tiers is None:
            return
        if not isinstance(tiers, list):
            raise self._unusable("tiers", "expected a list")
        for i, tier in enumerate(tiers):
            plugins = tier.get("plugins") if isinstance(tier, dict) else None
            if not isinstance(plugins, list):
                raise self._unusable(f"tiers[{i}].plugins", "expected a list of plugins")
            for j, plugin in enumerate(plugins):
                path = f"tiers[{i}].plugins[{j}]"
                if not isinstance(plugin, dict):
                    raise self._unusable(path, "expected a mapping with a name")
                yield path, plugin

    def _flags(self, path: str, name: str, plugin: Mapping[str, Any]) -> None:
        for key, value in plugin.items():
            if key in ("name", "arguments") or value is None:
                continue
            neutral = (name, key) in _NEUTRAL_FLAGS or key == "enableHierarchy"
            if value is False and not neutral:
                self.warn(below(path, str(key)), f"{name} with {key}: false {_NOTHING}")

    def _plugin(
        self, name: str, path: str, arguments: Mapping[str, Any], seen: Mapping[str, Any]
    ) -> None:
        known: set[str] = set()
        if name == "overcommit":
            known = {"overcommit-factor"}
            self._overcommit(path, arguments)
        elif name == "predicates":
            known = self._predicates(path, arguments)
        elif name == "capacity":
            self.changes["literal_deserved"] = True
        elif name == "proportion":
            self.warn(
                path,
                "shares follow the queues' weights only where no Queue writes deserved: there it "
                "is the due, which proportion passes over",
            )
        elif name == "binpack":
            known = {"binpack.weight"}
        elif name == "nodeorder":
            known = {"leastrequested.weight", "mostrequested.weight"}
        elif name not in _ALWAYS_ON:
            self.warn(path, f"plugin {name} {_NOTHING}")
            return
        for key in arguments:
            if key not in known:
                self.warn(below(f"{path}.arguments", str(key)), f"argument of {name} {_NOTHING}")

    def _overcommit(self, path: str, arguments: Mapping[str, Any]) -> None:
        factor = self._number(f"{path}.arguments", arguments, "overcommit-factor", 1.2)
        self.changes["overcommit_percent"] = round(100 * (factor if factor >= 1 else 1.2))

    def _predicates(self, path: str, arguments: Mapping[str, Any]) -> set[str]:
        off = []
        for flag, rule in _RULE_OF_FLAG.items():
            if self._flag(f"{path}.arguments", arguments, flag) is False:
                off.append(rule)
        if off:
            self.changes["off"] = tuple(sorted(off))
        without = {*_VOLUMES, "predicate.DynamicResourceAllocationEnable"}
        idle = {f for f in without if self._flag(f"{path}.arguments", arguments, f) is not True}
        return {*_RULE_OF_FLAG, *idle, "predicate.CacheEnable"}

    def _packing(self, seen: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
        """Weigh what fills nodes against what spreads."""
        fill = spread = 0.0
        if "binpack" in seen:
            path, arguments = seen["binpack"]
            fill += self._number(f"{path}.arguments", arguments, "binpack.weight", 1)
        if "nodeorder" in seen:
            path, arguments = seen["nodeorder"]
            spread += self._number(f"{path}.arguments", arguments, "leastrequested.weight", 1)
            fill += self._number(f"{path}.arguments", arguments, "mostrequested.weight", 0)
        if fill or spread:
            packing = "spread" if spread > fill else "binpack"
            self.changes["tiers"] = {"packing": packing}

    def _number(self, path: str, arguments: Mapping[str, Any], key: str, default: float) -> float:
        value = arguments.get(key, default)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if isinstance(value, bool) or not 0 <= number <= 1e6:
            raise self._unusable(below(path, key), f"expected a number of 0 or more, got {value!r}")
        return number

    def _flag(self, path: str, arguments: Mapping[str, Any], key: str) -> bool | None:
        value = arguments.get(key)
        if value is None or isinstance(value, bool):
            return value
        text = str(value).lower()
        if text not in (*_FALSE, *_TRUE):
            raise self._unusable(below(path, key), f"expected true or false, got {value!r}")
        return text in _TRUE
