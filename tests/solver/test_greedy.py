"""Greedy: items in the order of the contract, on open room; what it makes is legal."""

from collections.abc import Mapping

import pytest

from apportion.adapters.plan_check import scene_of
from apportion.models import Config, GroupKey, Node, Queue, QueueName
from apportion.policies.legality import verify
from apportion.policies.levels import Level, Worth
from apportion.solver.decode import outcome_of
from apportion.solver.draft import Draft
from oracle.build import Members, budget, cores, node, queue, snapshot
from oracle.worlds import settings, world

from .parts import Model, model_of, names

Q = QueueName("q")


def started(model: Model) -> set[str]:
    return names(model.greedy.places)


def evicted(model: Model) -> set[str]:
    return names(dict.fromkeys(model.greedy.evicted))


@pytest.mark.parametrize("seed", range(40))
def test_greedy_plan_is_legal(seed: int) -> None:
    model = model_of(world(seed, "small"), settings(seed))

    assert verify(outcome_of(model.scene, model.greedy, model.levels)) == []


def test_higher_priority_starts_first() -> None:
    model = model_of(
        snapshot(
            node("n1", 1), queue("q"), Members("low", "q", waiting=1),
            Members("top", "q", waiting=1, priority=1),
        )
    )  # fmt: skip

    assert started(model) == {"top0"}


def test_gang_starts_whole_or_not_at_all() -> None:
    model = model_of(
        snapshot(
            node("n1", 3), queue("q"), Members("gang", "q", waiting=4, minimum=4),
            Members("g", "q", waiting=1),
        )
    )  # fmt: skip

    assert started(model) == {"g0"}


def test_victims_leave_for_higher_priority_and_what_need_not_go_is_spared() -> None:
    model = model_of(
        snapshot(
            node("n1", 2), node("n2", 2), queue("q"), Members("low", "q", on=["n1"]),
            Members("large", "q", 2, on=["n2"]), Members("top", "q", 2, waiting=1, priority=1),
        )
    )  # fmt: skip

    assert (started(model), evicted(model)) == ({"top0"}, {"low0"})


@pytest.mark.parametrize(("allowed", "gone"), [(2, {"cheap0", "cheap1"}), (1, {"cheap0", "dear0"})])
def test_a_budget_that_bears_no_more_sends_the_hunt_elsewhere(allowed: int, gone: set[str]) -> None:
    """The cheaper victims on two nodes have one budget; a third node's is dearer."""
    model = model_of(
        snapshot(
            *(node(n, 1) for n in ("n1", "n2", "n3")),
            queue("q"),
            Members("cheap", "q", on=["n1", "n2"], minimum=0),
            Members("dear", "q", on=["n3"], priority=1),
            budget("cheap", allowed),
            Members("g", "q", waiting=2, minimum=2, priority=9),
        )
    )

    assert started(model) == {"g0", "g1"}
    assert evicted(model) == gone


def test_nobody_leaves_where_evictions_are_off() -> None:
    world_ = snapshot(
        node("n1", 1), queue("q"), Members("low", "q", on=["n1"]),
        Members("top", "q", waiting=1, priority=1),
    )  # fmt: skip

    assert evicted(model_of(world_)) == {"low0"}
    assert evicted(model_of(world_, Config(deterministic=True, evictions="none"))) == set()


def test_poorest_queue_is_served_first_beyond_entitlements() -> None:
    model = model_of(
        snapshot(
            node("n1", 4), queue("rich", 2), queue("poor", 0),
            Members("run", "rich", 2, on=["n1"], preemptable=False),
            Members("a", "rich", 2, waiting=1, created_s=1), Members("b", "poor", 2, waiting=1),
        )
    )  # fmt: skip

    assert "b0" in started(model)


def test_levels_follow_tier_slice_and_kind() -> None:
    model = model_of(
        snapshot(
            node("n1", 8), queue("q", 2), queue("r", 2),
            Members("broken", "q", on=["n1"], waiting=1, minimum=2, broken_since_s=9_999),
            Members("g", "r", waiting=3, minimum=1),
        )
    )  # fmt: skip
    minimum, elastic = model.levels.minimum, model.levels.elastic

    def level(of: Mapping[GroupKey, Worth], group: str) -> Level:
        return of[GroupKey(f"x/{group}")].level

    assert level(minimum, "broken").tier == 0
    assert level(minimum, "g").tier == 1
    assert level(minimum, "g") < level(elastic, "g")
    assert level(minimum, "broken") < level(minimum, "g")


def draft_of(*parts: Node | Queue | Members) -> Draft:
    return Draft(scene_of(snapshot(*parts), Config()))


def test_draft_places_all_or_changes_nothing() -> None:
    group = Members("g", "q", 2, waiting=3)
    draft = draft_of(node("n1", 3), node("n2", 2), queue("q"), group)
    room = draft.field.room.copy()

    assert draft.place_all(group.pods) is None
    assert (draft.places, draft.started) == ({}, {})
    assert (draft.field.room == room).all()
    assert draft.place_all(group.pods[:2]) is not None
    assert len(draft.places) == 2


def test_draft_takes_back_what_it_did() -> None:
    group, low = Members("g", "q", 1, waiting=1), Members("low", "q", on=["n1"])
    draft = draft_of(node("n1", 3), queue("q"), group, low)
    room, use = draft.field.room.copy(), list(draft.use[Q])

    draft.put(group.pods[0], 0)
    draft.evict(low.pods[0], 0)
    draft.spare(low.pods[0])
    draft.take_back(group.pods[0])

    assert (draft.field.room == room).all()
    assert list(draft.use[Q]) == use
    assert (draft.places, draft.evicted) == ({}, {})


def test_draft_knows_what_is_missing_below_limits() -> None:
    group = Members("g", "q", 2, waiting=2)
    draft = draft_of(node("n1", 9), queue("q", capability=cores(3)), group)
    one, two = draft.ask(group.pods[:1]), draft.ask(group.pods)

    assert draft.quota_gap(group.group.key, one) == {}
    (gap,) = draft.quota_gap(group.group.key, two).values()
    assert 2 * max(gap) == max(one), "half a pod too much"


def test_freed_room_is_open_only_to_who_claims_it() -> None:
    low, top = Members("low", "q", on=["n1"]), Members("top", "q", waiting=1, priority=1)
    other = Members("other", "q", waiting=1)
    draft = draft_of(node("n1", 1), queue("q"), low, top, other)

    draft.evict(low.pods[0], 0, taker=top.group.key)

    assert draft.place_all(other.pods) is None
    assert draft.place_all(top.pods) is not None


def test_each_claimant_has_the_room_of_its_own_victims() -> None:
    first, second = Members("first", "q", on=["n1"]), Members("second", "q", on=["n1"])
    one = Members("one", "q", waiting=2, priority=1)
    two = Members("two", "q", waiting=1, priority=1)
    draft = draft_of(node("n1", 2), queue("q"), first, second, one, two)

    draft.evict(first.pods[0], 0, taker=one.group.key)
    draft.evict(second.pods[0], 0, taker=two.group.key)

    assert draft.place_all(one.pods) is None
    assert draft.place_all(one.pods[:1]) is not None
    draft.spare(second.pods[0])
    assert draft.place_all(two.pods) is None
