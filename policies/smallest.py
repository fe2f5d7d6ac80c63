"""The smallest part of a pool that makes room for a group: nothing of it could stay."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from ..models import GroupKey, PodKey
from .exchange import exchange
from .givers import Giver
from .objection import Patience
from .outcome import Outcome

SMALL = 7
"""Pools of up to so many are tried in all parts."""


def smallest(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver], patience: Patience | None = None
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return a minimal part of the pool that makes room for the group, and the plan it leads to.

    The pool's first members are the first to give way; none of the result could stay, pod by pod.
    None as well where patience ends before that is known.
    """
    every = _distinct(pool)
    chosen = [g for g in every if g.stands_for is None]
    found = exchange(outcome, group, chosen)
    if found is None:
        # Gangs, budgets and guarantees may bear a part of the pool, though not the whole.
        if all(g.starts and g.stands_for is None for g in every):
            return None
        part = _part(outcome, group, every)
        if part is None and len(every) < len(pool):
            # A group that may not go whole may lose single pods all the same.
            part = _part(outcome, group, pool)
        if part is None or len(every) <= SMALL:
            return part
        chosen, found = list(part[0]), part[1]
    for giver in reversed(list(chosen)):
        if patience is not None and patience.is_over:
            return None
        fewer = [g for g in chosen if g is not giver]
        tried = exchange(outcome, group, fewer)
        if tried is not None:
            chosen, found = fewer, tried
            continue
        singles = [g for g in pool if g.group == giver.group and len(g.pods) < len(giver.pods)]
        part = _singles(outcome, group, fewer, singles)
        if part is not None:
            chosen, found = [*part[0]], part[1]
    return tuple(chosen), found


def _part(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver]
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return a part of the pool that makes room for the group: of a small one the smallest."""
    if len(pool) <= SMALL:
        return _first_part(outcome, group, pool)
    found, chosen = _bearable_part(outcome, group, pool)
    return None if found is None else (tuple(chosen), found)


def _singles(
    outcome: Outcome, group: GroupKey, beside: Sequence[Giver], singles: Sequence[Giver]
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return a minimal part of a group's single pods that makes room, beside what gives way."""
    first = [g for g in singles if g.stands_for is None]
    found = exchange(outcome, group, [*beside, *first]) if first else None
    if found is None:
        few = 0 < len(first) < len(singles) <= SMALL
        return _first_part(outcome, group, singles, beside) if few else None
    for single in list(first):
        less = [g for g in first if g is not single]
        tried = exchange(outcome, group, [*beside, *less])
        if tried is not None:
            first, found = less, tried
    return (*beside, *first), found


def _bearable_part(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver]
) -> tuple[Outcome | None, list[Giver]]:
    """Try parts that gangs and budgets bear: the first to go first, then node after node."""
    nodes = {g.pods[0].key: outcome.places.get(g.pods[0].key, g.pods[0].node) for g in pool}
    wishes = [None, *sorted({n for n in nodes.values() if n is not None})[: 2 * SMALL]]
    seen: set[frozenset[PodKey]] = set()
    for wish in wishes:
        ordered = sorted(pool, key=lambda g: nodes[g.pods[0].key] != wish) if wish else pool
        part = _bearable(outcome, ordered)
        key = frozenset(p.key for g in part for p in g.pods)
        if not part or key in seen:
            continue
        seen.add(key)
        found = exchange(outcome, group, part)
        if found is not None:
            return found, part
    return None, []


def _bearable(outcome: Outcome, pool: Sequence[Giver]) -> list[Giver]:
    """Return givers in order, as long as each group stays whole and each budget bears it."""
    scene = outcome.scene
    left = {b.key: b.allowed for b in scene.snapshot.budgets}
    gone: dict[GroupKey, set[PodKey]] = {}
    out: list[Giver] = []
    for g in pool:
        keys = gone.setdefault(g.group, set()) | {p.key for p in g.pods}
        rest = [p for p in outcome.after(g.group) if p.key not in keys]
        if "elastic" in g.way and not scene.roster[g.group].is_whole(rest):
            continue
        cost = {} if g.starts else {
            b.key: n for b in scene.snapshot.budgets if (n := sum(map(b.covers, g.pods)))
        }  # fmt: skip
        if any(n > left[k] for k, n in cost.items()):
            continue
        for k, n in cost.items():
            left[k] -= n
        gone[g.group] = keys
        out.append(g)
    return out


def _first_part(
    outcome: Outcome, group: GroupKey, pool: Sequence[Giver], beside: Sequence[Giver] = ()
) -> tuple[tuple[Giver, ...], Outcome] | None:
    """Return the smallest part of a small pool that makes room for the group."""
    for n in range(1, len(pool) + 1):
        for part in combinations(pool, n):
            if not _keeps_gangs(outcome, part):
                continue
            found = exchange(outcome, group, [*beside, *part])
            if found is not None:
                return (*beside, *part), found
    return None


def _keeps_gangs(outcome: Outcome, part: Sequence[Giver]) -> bool:
    """Say whether groups that give single pods stay whole."""
    gone: dict[GroupKey, set[PodKey]] = {}
    for g in part:
        if "elastic" in g.way:
            gone.setdefault(g.group, set()).update(p.key for p in g.pods)
    roster = outcome.scene.roster
    return all(
        roster[k].is_whole([p for p in outcome.after(k) if p.key not in keys])
        for k, keys in gone.items()
    )


def _distinct(pool: Iterable[Giver]) -> list[Giver]:
    """Leave out single pods of groups that are in the pool as a whole."""
    pool = list(pool)
    whole = {(g.group, g.starts) for g in pool if "elastic" not in g.way}
    return [g for g in pool if "elastic" not in g.way or (g.group, g.starts) not in whole]
