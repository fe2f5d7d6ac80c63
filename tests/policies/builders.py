"""Hand-made clusters and plans in few words: pods of namespace x, named after their group."""

from typing import Any

from msgspec.structs import replace

from apportion.models import (
    Config,
    GroupKey,
    Node,
    Plan,
    PodTerm,
    Reason,
    Snapshot,
    SpreadConstraint,
)
from apportion.policies import testing
from apportion.policies.goals import goals_for
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.standing import StandingTable, standing_of
from oracle.build import GPU, NOW, Members, budget, cores, foreign, node, only, queue, snapshot

__all__ = [
    "GPU", "HOST", "NOW", "Members", "after", "apart", "budget", "but", "cores", "evicted",
    "foreign", "goal", "near", "node", "nodes", "only", "placed", "queue", "reasons", "replace",
    "rule", "scene", "snapshot", "spread", "standing", "term", "zoned",
]  # fmt: skip

HOST = "host"
"""The label of :func:`nodes` that is different on each."""


def nodes(names: str, cpu: int = 4, **labels: str) -> list[Node]:
    """Return a node per word, each with its own value of ``host``, and labels for all."""
    return [node(n, cpu, labels={HOST: n, **labels}) for n in names.split()]


def but(group: Members, *indices: int, **changes: Any) -> Members:
    """Return the group, these of its pods with other values in some fields."""
    for i in indices:
        group.pods[i] = replace(group.pods[i], **changes)
    return group


def term(app: str, key: str = HOST, namespaces: frozenset[str] | None = None) -> PodTerm:
    """Return a term of pod affinity or anti-affinity: pods of the group, on one ``key``."""
    return PodTerm(key, only(app), namespaces)


def spread(app: str, skew: int = 1, key: str = HOST, **more: Any) -> SpreadConstraint:
    """Return a hard topology spread constraint over pods of the group."""
    return SpreadConstraint(skew, key, True, only(app), **more)


def near(*terms: PodTerm) -> dict[str, Any]:
    """Return what a spec says of required affinity."""
    return {"affinity": terms}


def apart(*terms: PodTerm) -> dict[str, Any]:
    """Return what a spec says of required anti-affinity."""
    return {"anti_affinity": terms}


def zoned(*groups: Any) -> Snapshot:
    """Return nodes a1 and a2 of zone a, b1 of zone b and one without labels, with these groups."""
    zones = [*nodes("a1 a2", zone="a"), *nodes("b1", zone="b"), node("none", 4)]
    return snapshot(*zones, queue("q"), *groups)


def after(world: Snapshot, starts: str = "", gone: str = "", **more: Any) -> Outcome:
    """Return the world after a plan: "g0@n1 g1@n2" start there, and "v0 v1" are evicted."""
    places = {}
    for word in starts.split():
        pod, at = word.split("@")
        places[f"x/{pod}"] = at
    at_once = [f"x/{word}" for word in more.pop("at_once", "").split()]
    return testing.after(world, places, [f"x/{v}" for v in gone.split()], at_once=at_once, **more)


def scene(world: Snapshot, config: Config | None = None) -> Scene:
    config = config if config is not None else Config()
    return Scene(world, config, rules_for(config))


def standing(world: Snapshot, config: Config | None = None) -> StandingTable:
    return standing_of(scene(world, config))


def rule(name: str) -> Any:
    return next(r for r in rules_for(Config()) if r.name == name)


def goal(name: str, config: Config | None = None) -> Any:
    config = config if config is not None else Config()
    return next(g for g in goals_for(config) if g.name == name)


def placed(plan: Plan) -> dict[str, str]:
    """Return where pods start, without the namespace."""
    return {p.removeprefix("x/"): n for p, n in plan.places.items()}


def evicted(plan: Plan) -> set[str]:
    return {e.pod.removeprefix("x/") for e in plan.evictions}


def reasons(plan: Plan, group: str) -> list[Reason]:
    """Return why the plan holds the group; empty if it does not."""
    return [r for h in plan.held if h.group == GroupKey(f"x/{group}") for r in h.reasons]
