"""Hints and decoding: a decision becomes values of the board, and values become pods on nodes."""

import pytest
from msgspec.structs import replace

from apportion.models import Config, Pod, PodKey, TierSettings
from apportion.policies.legality import verify
from apportion.solver.decode import Decision, decode, outcome_of
from apportion.solver.hints import hint_of
from oracle.build import Members, node, queue, snapshot
from oracle.worlds import world

from .parts import Model, model_of, names

FLAT = Config(deterministic=True, tiers=TierSettings(slices=1))


def there_and_back(model: Model, decision: Decision) -> Decision:
    hint = hint_of(model.board, model.compiled, decision)
    assert hint is not None
    return decode(model.board, model.compiled, [x or 0 for x in hint])


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_greedy_plan_comes_back_as_good_and_as_legal(seed: int) -> None:
    model = model_of(world(seed, "small"))

    decision = there_and_back(model, model.greedy)

    assert len(decision.places) == len(model.greedy.places)
    assert len(decision.evicted) == len(model.greedy.evicted)
    assert sorted(decision.places.values()) == sorted(model.greedy.places.values())
    assert verify(outcome_of(model.scene, decision, model.levels)) == []


def test_hint_leaves_auxiliary_variables_open() -> None:
    model = model_of(world(3, "small"))

    hint = hint_of(model.board, model.compiled, model.greedy)

    assert hint is not None
    main = set(model.board.main)
    assert all((x is not None) == (v in main) for v, x in enumerate(hint))


def test_hint_of_what_the_board_has_no_place_for_is_none() -> None:
    model = model_of(
        snapshot(
            node("n1", 2),
            queue("q"),
            Members("g", "q", waiting=1),
            Members("big", "q", 3, waiting=1),
        )
    )

    assert (
        hint_of(model.board, model.compiled, Decision({PodKey("x/big0"): 0}, frozenset())) is None
    )


def test_nothing_decoded_from_nothing() -> None:
    model = model_of(world(3, "small"))

    decision = decode(model.board, model.compiled, model.values())

    assert (dict(decision.places), decision.evicted) == ({}, frozenset())


def test_oldest_of_equal_groups_start_first() -> None:
    model = model_of(
        snapshot(
            node("n1", 6),
            queue("q"),
            *(Members(f"g{i}", "q", waiting=2, minimum=2, created_s=9 - i) for i in range(3)),
        ),
        FLAT,
    )
    ((group_type,), (role,)) = model.board.types, model.board.rolesets
    start, place = (
        model.board.started(group_type),
        model.board.pods(role.shape, model.board.classes[0]),
    )
    values = model.values()
    assert start is not None
    assert place is not None
    values[start], values[model.board.count(role)], values[place] = 1, 2, 2

    decision = decode(model.board, model.compiled, values)

    assert names(decision.places) == {"g20", "g21"}


def test_roles_get_their_need_before_others_get_more() -> None:
    model = model_of(
        snapshot(
            node("n1", 4), queue("q"),
            Members(
                "g", "q", waiting=4, roles=("work", "work", "work", "lead"), minimum=2,
                role_minimum={"lead": 1, "work": 1},
            ),
        )
    )  # fmt: skip

    decision = there_and_back(model, model.greedy)

    assert "g3" in names(decision.places)
    assert len(decision.places) == 4


def test_promised_places_are_kept() -> None:
    promised = Members("g", "q", waiting=3)
    promised.pods[2] = _nominated(promised, 2, "n2")
    model = model_of(
        snapshot(node("n1", 2), node("n2", 1), queue("q"), promised, nominations={"g2": "n2"})
    )

    decision = there_and_back(model, model.greedy)

    assert decision.places[PodKey("x/g2")] == model.scene.index["n2"]


def _nominated(group: Members, i: int, on: str) -> Pod:
    return replace(group.pods[i], nominated=on)


def test_pods_of_a_merged_class_are_spread_over_its_nodes_the_large_first() -> None:
    model = model_of(
        snapshot(
            *(node(f"n{i}", 3) for i in range(3)),
            queue("q"),
            Members("one", "q", 1, waiting=3),
            Members("two", "q", 2, waiting=3),
        ),
        exact_pairs=1,
    )
    assert [c.size for c in model.board.classes] == [3]

    (nodes,), values = model.board.classes, model.values()
    for role in model.board.rolesets:
        place = model.board.pods(role.shape, nodes)
        assert place is not None
        values[place] = values[model.board.count(role)] = 3
    for group_type in model.board.types:
        start = model.board.started(group_type)
        assert start is not None
        values[start] = 1

    decision = decode(model.board, model.compiled, values)

    assert len(decision.places) == 6
    assert sorted(decision.places.values()) == [0, 0, 1, 1, 2, 2]
    assert verify(outcome_of(model.scene, decision, model.levels)) == []


def test_what_a_merged_class_cannot_hold_node_by_node_is_left_out() -> None:
    model = model_of(
        snapshot(
            *(node(f"n{i}", 3) for i in range(4)), queue("q"), Members("g", "q", 2, waiting=6)
        ),
        exact_pairs=1,
    )
    (role,), (nodes,) = model.board.rolesets, model.board.classes
    place = model.board.pods(role.shape, nodes)
    assert place is not None
    values = model.values()
    values[place] = values[model.board.count(role)] = 6

    decision = decode(model.board, model.compiled, values)

    assert len(decision.places) <= 4


def test_victims_leave_by_number_or_as_a_whole() -> None:
    model = model_of(
        snapshot(
            node("n1", 3), queue("q"), Members("low", "q", on=["n1"] * 3, minimum=2),
            Members("top", "q", waiting=1, priority=5),
        )
    )  # fmt: skip
    ((unit,), (victim,)) = model.board.units, model.board.victims
    single, whole = model.values(), model.values()
    single[model.board.lost(unit)] = 1
    whole[model.board.gone(victim)] = 1

    one = decode(model.board, model.compiled, single)
    all_ = decode(model.board, model.compiled, whole)

    assert names(dict.fromkeys(one.evicted)) == {"low2"}
    assert names(dict.fromkeys(all_.evicted)) == {"low0", "low1", "low2"}
