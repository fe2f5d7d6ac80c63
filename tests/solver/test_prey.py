"""What a group could evict, found for all runners at once, is what each one's places say."""

from collections.abc import Sequence

import pytest
from benchmarks.large import Large, large

from apportion.models import Config, GroupKey, Pod
from apportion.policies.evictable import evictable, given_up, victim_priority
from apportion.policies.members import Members, Standing
from apportion.policies.outcome import Outcome
from apportion.policies.places import Places, places_of
from apportion.policies.registry import rules_for
from apportion.policies.rights import asks_of, cross_branches
from apportion.policies.scene import Scene
from apportion.policies.standing import MEASURES
from apportion.solver import domain_hunt, hunt
from apportion.solver.draft import Draft
from apportion.solver.greedy import rank_and_place
from apportion.solver.prey import Preys, prey_of

Found = tuple[GroupKey, int, bool, bool]
"""Runner, how many single pods may go, whether the whole may, whether it is inside."""


def plainly(draft: Draft, group: GroupKey, pods: Sequence[Pod]) -> list[Found]:
    """Ask every running group by itself."""
    scene = draft.scene
    if not scene.snapshot.group(group).may_preempt:
        return []
    names, evicted = draft.outcome_parts()
    places = places_of(draft.table, Outcome(scene, names, evicted))
    out = []
    for m in scene.roster.values():
        if m.running and m.key != group and m.key not in draft.started and not given_up(scene, m):
            found = _runner(draft, places, group, pods, m)
            if found[1] or found[2]:
                out.append(found)
    return sorted(out)


def _runner(
    draft: Draft, places: Places, group: GroupKey, pods: Sequence[Pod], m: Members
) -> Found:
    scene = draft.scene
    g = scene.snapshot.group(group)
    stay = [p for p in m.running if p.key not in draft.evicted]
    able = [p for p in stay if evictable(scene, p)]
    whole = bool(able) and len(able) == len(stay)
    surplus = 0
    if m.standing is Standing.WHOLE:
        surplus = len(stay) - max(m.need, sum(m.role_need.values()))
    surplus = max(0, min(surplus, len(able)))
    if m.group.queue == g.queue:
        if victim_priority(m) >= g.priority:
            return (m.key, 0, False, False)
        return (m.key, surplus, whole, _comes_back(draft, places, pods, m))
    asks, row = asks_of(scene, scene.roster[group]), draft.ask(pods)
    running, gone = len(m.running), len(m.running) - len(stay)
    single, takes = 0, False
    for measure in MEASURES:
        between = cross_branches(scene, g.queue, m.group.queue, asks, measure)
        most = draft.table.floors[measure]
        if between is None or any(
            max(draft.table.limits.use[q][r], draft.use[q][r] + row[r]) > most[q][r]
            for q in between.claimant
            for r in asks
            if r in draft.table.columns
        ):
            continue
        n = 0
        while n < surplus and places.may_lose(
            m.key, between.victim, gone + n + 1, running + 1, measure, asks
        ):
            n += 1
        single = max(single, n)
        takes |= whole and places.may_lose(m.key, between.victim, running, running, measure, asks)
    return (m.key, single, takes, _comes_back(draft, places, pods, m))


def _comes_back(draft: Draft, places: Places, pods: Sequence[Pod], m: Members) -> bool:
    """Say whether it is in; where everything is once the queue has given what is asked: no."""
    row, queue = draft.ask(pods), m.group.queue
    most, use = draft.table.floors["entitlement"][queue], draft.use[queue]
    if all(use[r] - row[r] <= most[r] for r in draft.table.columns if row[r]):
        return False
    items = places.items_of_group.get(m.key, [])
    return bool(items) and all(places.of(i).is_in for i in items)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_prey_is_what_places_say_of_each(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def both(draft: Draft, group: GroupKey, pods: Sequence[Pod]) -> Preys | None:
        found = prey_of(draft, group, pods)
        mine = sorted((p.group, p.single, p.whole, p.inside) for p in found or ())
        asked.append(mine == plainly(draft, group, pods))
        return found

    monkeypatch.setattr(hunt, "prey_of", both)
    monkeypatch.setattr(domain_hunt, "prey_of", both)
    config = Config()
    made = large(Large(nodes=40, waiting=250, queues=15, seed=seed, fill=0.9))
    rank_and_place(Scene(made, config, rules_for(config)))
    assert len(asked) > 5
    assert all(asked)
