"""In and out: the order of items in a queue, and how far the entitlement reaches (section 3)."""

from typing import Any

import pytest

from apportion.models import Config, QueueName, QueueShare, Snapshot
from apportion.policies.places import places_of
from apportion.policies.ranks import ranks_of
from apportion.policies.standing import standing_of
from oracle.report import Report

from .builders import GPU, NOW, Members, after, node, queue, snapshot, standing


def order(world: Snapshot, q: str = "q", config: Config | None = None) -> list[str]:
    """Return the items of a queue: the group's name, and + for each elastic member."""
    return [
        i.group.name + ("+" if i.kind == "elastic" else "")
        for i, _ in ranks_of(standing(world, config))[QueueName(q)].ordered
    ]


def places(world: Snapshot, starts: str = "", gone: str = "") -> dict[str, list[bool]]:
    """Return, by group, which of its items are in after the plan: minimum first, then elastic."""
    outcome = after(world, starts, gone)
    found = places_of(standing_of(outcome.scene), outcome)
    out: dict[str, list[bool]] = {}
    for key, items in found.items_of_group.items():
        ranked = sorted(items, key=lambda i: (i.kind != "minimum", i.position))
        out[key.removeprefix("x/")] = [found.of(i).is_in for i in ranked]
    return out


def one(*groups: Members, cpu: int = 20, **more: Any) -> Snapshot:
    return snapshot(node("n1", cpu, 9), queue("q", **more), *groups)


# The leaf's order


@pytest.mark.parametrize(
    ("about", "first", "second"),
    [
        ("broken before all", {"on": ["n1"], "waiting": 1, "minimum": 2}, {"priority": 9}),
        ("priority from the top", {"priority": 1}, {"on": ["n1"]}),
        ("running before new", {"on": ["n1"], "created_s": NOW}, {"created_s": 1}),
        ("the older first", {"created_s": 1, "cpu": 2}, {"created_s": 2}),
    ],
)
def test_what_comes_first(about: str, first: dict[str, Any], second: dict[str, Any]) -> None:
    def member(name: str, fields: dict[str, Any]) -> Members:
        return Members(name, "q", **{"waiting": 0 if "on" in fields else 1, **fields})

    # The names alone would have it the other way round.
    world = one(member("z", first), member("a", second))

    assert list(dict.fromkeys(order(world))) == ["z", "a"], about


def test_minima_before_elastic_members_and_these_by_rank() -> None:
    world = one(
        Members("a", "q", waiting=3, minimum=1, created_s=1),
        Members("b", "q", waiting=2, minimum=2, created_s=2),
    )

    assert order(world) == ["a", "b", "a+", "a+"]


def test_of_equals_the_key_decides() -> None:
    assert order(one(Members("b", "q", waiting=1), Members("a", "q", waiting=1))) == ["a", "b"]


def test_what_was_nominated_ranks_as_running() -> None:
    groups = [
        Members("old", "q", on=["n1"], created_s=3),
        Members("a", "q", waiting=1, created_s=1),
        Members("b", "q", waiting=1, created_s=2),
    ]
    plain = snapshot(node("n1", 9), queue("q"), *groups)
    promised = snapshot(node("n1", 9), queue("q"), *groups, nominations={"b0": "n1"})

    assert order(plain) == ["old", "a", "b"]
    assert order(promised) == ["b", "old", "a"]


def test_of_one_group_what_runs_comes_before_what_was_nominated() -> None:
    g = Members("g", "q", on=["n1", "n1"], waiting=1)
    world = snapshot(node("n1", 9), queue("q"), g, nominations={"g2": "n1"})

    ranked = ranks_of(standing(world))[QueueName("q")].ordered

    assert [i.pods[0].name for i, _ in ranked] == ["g0", "g1", "g2"]
    assert [name for name, _, _ in Report(world, Config()).row("q", frozenset({"x/g2"}))] == [
        "x/g", "x/g1", "x/g2"
    ]  # fmt: skip


def test_a_broken_group_has_two_places_until_it_is_completed() -> None:
    assert order(one(Members("g", "q", on=["n1"], waiting=1, minimum=2))) == ["g", "g"]


def parties(within: Any) -> list[str]:
    """Return the order of six new groups: a1..a3 of one party, b1, b2 of another, which is used."""
    names = [("a1", "x", "u", 1), ("a2", "x", "u", 2), ("a3", "x", "u", 3)]
    names += [("b1", "y", "v", 4), ("b2", "y", "v", 5)]
    groups = [
        Members(n, "q", waiting=1, namespace=space, user=user, created_s=age)
        for n, space, user, age in names
    ]
    used = Members("used", "q", on=["n1"], namespace="y", user="v", priority=9)
    config = Config(queues={"q": QueueShare(within=within)})
    return order(one(used, *groups), config=config)


@pytest.mark.parametrize(
    ("within", "want"),
    [
        ("groups", ["used", "a1", "a2", "a3", "b1", "b2"]),
        ("namespaces", ["used", "a1", "a2", "b1", "a3", "b2"]),
        ("users", ["used", "a1", "a2", "b1", "a3", "b2"]),
    ],
)
def test_a_queue_is_shared_out_by_what_each_party_uses(within: str, want: list[str]) -> None:
    """y uses one core: x has a1, then one each; of equals the older group goes first."""
    assert parties(within) == want


# In and out at a leaf


def three(due: int) -> Snapshot:
    """Return a queue where three groups of 2, 1 and 1 cores run, and another that wants all."""
    return snapshot(
        node("n1", 4),
        queue("q", due=due),
        queue("other", due=4),
        Members("a", "q", cpu=2, on=["n1"], created_s=1),
        Members("b", "q", on=["n1"], created_s=2),
        Members("c", "q", on=["n1"], created_s=3),
        Members("w", "other", waiting=4, minimum=1),
    )


@pytest.mark.parametrize(
    ("due", "want"),
    [
        (4, (True, True, True)),
        (3, (True, True, False)),
        (2, (True, False, False)),
        (1, (False, False, False)),
    ],
)
def test_what_fits_into_the_entitlement_in_order_is_in(due: int, want: tuple[bool, ...]) -> None:
    found = places(three(due))

    assert tuple(found[n][0] for n in "abc") == want


def test_evicted_work_counts_for_the_order_still() -> None:
    assert places(three(3), gone="a0")["c"] == [False]


def test_a_minimum_is_in_as_a_whole_and_elastic_members_one_by_one() -> None:
    def found(due: int) -> list[bool]:
        world = snapshot(
            node("n1", 5),
            queue("q", due=due),
            queue("other", due=5),
            Members("g", "q", on=["n1"] * 5, minimum=3),
            Members("w", "other", waiting=5, minimum=1),
        )
        return places(world)["g"]

    assert found(2) == [False, False, False]
    assert found(3) == [True, False, False]
    assert found(4) == [True, True, False]
    assert found(5) == [True, True, True]


def test_only_resources_that_an_item_asks_for_matter() -> None:
    world = snapshot(
        node("n1", 4, 1),
        queue("q", deserved={"cpu": 2000, GPU: 1000}),
        queue("other", deserved={"cpu": 4000, GPU: 0}),
        Members("a", "q", cpu=3, on=["n1"], created_s=1),
        Members("b", "q", cpu=0, gpus=1, on=["n1"], created_s=2),
        Members("w", "other", waiting=4, minimum=1),
    )

    assert places(world) == {"a": [False], "b": [True]}


def test_what_starts_has_its_place_too() -> None:
    world = snapshot(
        node("n1", 4),
        queue("q", due=2),
        queue("other", due=4),
        Members("g", "q", waiting=3, minimum=1),
        Members("w", "other", waiting=4, minimum=1),
    )

    assert places(world, "g0@n1 g1@n1 g2@n1") == {"g": [True, True, False]}


# At inner queues


def tree(up: int, a: int, b: int) -> Snapshot:
    return snapshot(
        node("n1", 6),
        queue("up", due=up),
        queue("other", due=6),
        queue("a", due=a, parent="up"),
        queue("b", due=b, parent="up"),
        *(Members(f"a{i}-", "a", on=["n1"], created_s=i) for i in (1, 2, 3)),
        *(Members(f"b{i}-", "b", on=["n1"], created_s=i, priority=9) for i in (1, 2, 3)),
        Members("w", "other", waiting=6, minimum=1),
    )  # fmt: skip


def names_in(world: Snapshot) -> set[str]:
    return {g.removesuffix("-") for g, (is_in, *_) in places(world).items() if is_in}


def test_an_item_is_in_where_it_is_in_at_every_level() -> None:
    assert names_in(tree(4, 2, 2)) == {"a1", "a2", "b1", "b2"}
    assert names_in(tree(6, 3, 3)) == {f"{q}{i}" for q in "ab" for i in (1, 2, 3)}


@pytest.mark.parametrize(
    ("about", "up", "a", "b", "want"),
    [
        # a's items fill 1/3, 2/3 and 1 of its three, b's one fills all of its one.
        ("the lower fill first, whatever the priority", 2, 3, 1, {"a1", "a2"}),
        ("then what fills its child", 4, 3, 1, {"a1", "a2", "a3", "b1"}),
        ("of equal fill the higher priority", 1, 3, 3, {"b1"}),
        ("one turn each", 3, 3, 3, {"a1", "b1", "b2"}),
    ],
)
def test_an_inner_queue_orders_its_children_by_fill(
    about: str, up: int, a: int, b: int, want: set[str]
) -> None:
    assert names_in(tree(up, a, b)) == want, about


def test_what_is_out_at_its_child_comes_last_above() -> None:
    """a1 alone is out at a, of whose due 0 nothing is had; b's three fill up in whole."""
    assert names_in(tree(3, 0, 3)) == {"b1", "b2", "b3"}


def family(a_waits: int) -> Snapshot:
    """Return up with a due of 8: a runs the 4 that it is due, b 6 of 4; more may wait in a."""
    waiting = [Members("high", "a", cpu=4, waiting=1, priority=5)] if a_waits else []
    return snapshot(
        node("n1", 20),
        queue("up", due=8),
        queue("other", due=12),
        queue("a", due=4, parent="up"),
        queue("b", due=4, parent="up"),
        *(Members(f"a{i}-", "a", cpu=2, on=["n1"], created_s=i) for i in (1, 2)),
        *(Members(f"b{i}-", "b", cpu=2, on=["n1"], created_s=i) for i in (1, 2, 3)),
        *waiting,
        Members("w", "other", waiting=12, minimum=1),
    )


@pytest.mark.parametrize("a_waits", [0, 1])
def test_what_only_waits_takes_no_place_above(a_waits: int) -> None:
    """Though a's next gang would push its own work out of a, b is who has too much."""
    assert names_in(family(a_waits)) == {"a1", "a2", "b1", "b2"}


def test_what_runs_keeps_its_place_above_in_a_plan_that_starts_more() -> None:
    found = places(family(1), "high0@n1")

    assert found["a1-"] == found["a2-"] == [False]  # out at a, where high comes before them
    assert found["b1-"] == found["high"] == [True]  # with a1 the eight of up
    assert found["b2-"] == [False]


def test_elastic_members_take_the_places_of_those_that_could_run() -> None:
    """Of g only the second elastic member starts: it has the place of the first."""
    world = snapshot(
        node("n1", 9),
        queue("up", due=3),
        queue("other", due=6),
        queue("a", due=3, parent="up"),
        queue("b", due=2, parent="up"),
        Members("g", "a", waiting=3, minimum=1),
        Members("h", "b", on=["n1"]),
        Members("w", "other", waiting=6, minimum=1),
    )

    assert places(world, "g0@n1 g2@n1")["g"] == [True, True]
