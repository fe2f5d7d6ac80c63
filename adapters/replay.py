"""Replaying a recorded cycle: its plan verified, the cycle planned anew, and the difference."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import replace as with_fields

from msgspec.structs import replace

from ..models import Config, GroupKey, Plan, Snapshot
from .plan_check import scene_of, violations_of
from .plan_file import given
from .recording import Recorded

Planner = Callable[[Snapshot, Config], Plan]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of one cycle."""

    number: int
    violations: tuple[str, ...]
    """What is wrong with the recorded plan."""
    differences: tuple[str, ...]
    """How the plan that is made now differs, tier by tier and group by group; () if it does not."""
    engines: tuple[str, str]
    """Engine and status of the recorded plan, and of the one made now."""


def replayed(one: Recorded, planner: Planner) -> Replayed:
    """Verify the recorded plan, and plan the cycle again by limits that no clock decides."""
    scene = scene_of(one.snapshot, one.config)
    known = with_fields(given(one.plan), digest=one.digest)
    wrong = tuple(str(v) for v in violations_of(known, scene))
    now = planner(one.snapshot, replace(one.config, deterministic=True))
    return Replayed(
        one.number,
        wrong,
        tuple(_differences(one.plan, now)),
        (_engine(one.plan), _engine(now)),
    )


def _engine(plan: Plan) -> str:
    return f"{plan.solver.engine}, {plan.solver.status}"


def _differences(before: Plan, now: Plan) -> Iterable[str]:
    """Yield the first tier that decides, then the groups and pods whose fate is another."""
    values = {t.name: t.value for t in before.objective}
    for t in now.objective:
        old = values.get(t.name)
        if old is not None and old != t.value:
            better = (t.value > old) == (t.sense == "max")
            word = "better" if better else "worse"
            yield f"tier {t.tier} ({t.name}): {old} was planned, {t.value} {t.unit} now: {word}"
            break
    yield from _starts(before, now)
    gone, going = {e.pod for e in before.evictions}, {e.pod for e in now.evictions}
    if gone - going:
        yield f"no longer evicted: {_some(gone - going)}"
    if going - gone:
        yield f"evicted only now: {_some(going - gone)}"


def _starts(before: Plan, now: Plan) -> Iterable[str]:
    old, new = _by_group(before), _by_group(now)
    for group in sorted(old.keys() | new.keys()):
        if old[group] != new[group]:
            yield f"group {group}: {old[group]} of its pods were to start, {new[group]} now"
    if old == new:
        places, moved = before.places, now.places
        other = [k for k, n in places.items() if moved.get(k) != n]
        if other:
            yield f"on other nodes: {_some(other)}"


def _by_group(plan: Plan) -> Counter[GroupKey]:
    return Counter(b.group for b in plan.binds) + Counter(n.group for n in plan.nominations)


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - 5} more" if len(ordered) > 5 else ""
    return ", ".join(ordered[:5]) + more
