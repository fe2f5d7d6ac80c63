"""What victims leave beyond what they left for goes to others with a right, to nobody else."""

import pytest
from benchmarks.large import Large, large

from apportion.adapters.plan_check import scene_of
from apportion.models import Config
from apportion.policies.legality import verify
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.decode import Decision, outcome_of
from apportion.solver.domain_hunt import make_room
from apportion.solver.draft import Draft
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from oracle.build import Members, node, queue, snapshot

GANG = Members("gang", "q", on=["n1", "n2", "n3"], minimum=3)


def _draft(*waiting: Members) -> Draft:
    nodes = (node(n, 1) for n in ("n1", "n2", "n3"))
    return Draft(scene_of(snapshot(*nodes, queue("q"), GANG, *waiting), Config()))


def _starts(draft: Draft, group: Members, is_hopeless: bool = False) -> bool:
    return make_room(draft, group.group.key, group.pods, is_hopeless)


def test_who_has_a_right_uses_what_a_gang_has_left_for_another() -> None:
    first, second = (Members(n, "q", waiting=1, priority=1) for n in ("first", "second"))
    draft = _draft(first, second)

    assert _starts(draft, first)
    assert len(draft.evicted) == 3
    assert _starts(draft, second, is_hopeless=True)
    assert len(set(draft.places.values())) == 2
    assert set(draft.takers.values()) == {first.group.key}


def test_who_has_no_right_finds_nothing_left() -> None:
    first, equal = Members("first", "q", waiting=1, priority=1), Members("equal", "q", waiting=1)
    draft = _draft(first, equal)

    assert _starts(draft, first)
    assert not _starts(draft, equal)
    assert draft.place_all(equal.pods) is None


def test_what_is_not_used_stays_with_whom_it_was_left_for() -> None:
    first = Members("first", "q", waiting=3, priority=1)
    second = Members("second", "q", waiting=1, priority=1)
    draft = _draft(first, second)

    assert make_room(draft, first.group.key, first.pods[:1], False)
    assert _starts(draft, second)
    assert draft.place_all(first.pods[1:2]) is not None
    assert draft.place_all(first.pods[2:]) is None


def test_nothing_is_lent_where_only_a_part_would_start() -> None:
    first = Members("first", "q", waiting=1, priority=1)
    many = Members("many", "q", waiting=3, priority=1)
    draft = _draft(first, many)
    assert _starts(draft, first)
    common = draft.pools.common.copy()

    assert not _starts(draft, many)
    assert (draft.pools.common == common).all()
    assert many.group.key not in draft.claims_of


def test_who_uses_what_is_left_goes_with_whom_it_was_left_for() -> None:
    first, second = (Members(n, "q", waiting=1, priority=1) for n in ("first", "second"))
    draft = _draft(first, second)
    room, common = draft.field.room.copy(), draft.pools.common.copy()
    assert _starts(draft, first)
    assert _starts(draft, second)

    draft.withdraw(first.group.key)

    assert (draft.places, draft.evicted) == ({}, {})
    assert (draft.field.room == room).all()
    assert (draft.pools.common == common).all()


def test_what_an_heir_gives_back_is_left_as_before() -> None:
    first, second, third = (Members(n, "q", waiting=1, priority=1) for n in ("a", "b", "c"))
    draft = _draft(first, second, third)
    assert _starts(draft, first)
    common = draft.pools.common.copy()
    assert _starts(draft, second)

    draft.withdraw(second.group.key)

    assert (draft.pools.common == common).all()
    assert _starts(draft, third, is_hopeless=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_fewer_leave_and_the_draft_is_legal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config()
    scene = Scene(large(Large(nodes=250, waiting=500, seed=seed)), config, rules_for(config))
    ranking = rank_and_place(scene)
    draft = ranking.draft
    decision = Decision(dict(draft.places), frozenset(draft.evicted))
    assert verify(outcome_of(scene, decision, levels_of(scene, ranking))) == []

    monkeypatch.setattr("apportion.solver.leftovers.Leftovers.lend", lambda *_: False)
    assert len(draft.evicted) < len(rank_and_place(scene).draft.evicted)
