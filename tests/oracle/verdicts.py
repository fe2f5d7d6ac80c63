"""Verdicts of the brute force in few words: pods of namespace x, named after their group."""

from apportion.models import (
    Config,
    NodeName,
    PodKey,
    Snapshot,
)
from oracle.envy import objections
from oracle.legality import violations
from oracle.search import Found

DEFAULT = Config()


def plan_of(places: dict[str, str], *evicted: str) -> Found:
    """Return the plan with pods of namespace x."""
    at = {PodKey(f"x/{p}"): NodeName(n) for p, n in places.items()}
    return at, frozenset(PodKey(f"x/{p}") for p in evicted)


def broken(
    s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT
) -> set[str]:
    """Return the names of the broken rules."""
    found = violations(s, config, *plan_of(places, *evicted))
    return {v.split(":")[0] for v in found}


def against(
    s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT
) -> set[tuple[int, str, tuple[str, ...]]]:
    """Return (item, group, what gives way) of the objections, without the namespace."""
    assert not broken(s, places, *evicted, config=config)
    found = objections(s, config, *plan_of(places, *evicted))
    return {(o.item, o.group[2:], tuple(g[2:] for g in o.gives_way)) for o in found}


def items(s: Snapshot, places: dict[str, str], *evicted: str, config: Config = DEFAULT) -> set[int]:
    return {item for item, _, _ in against(s, places, *evicted, config=config)}
