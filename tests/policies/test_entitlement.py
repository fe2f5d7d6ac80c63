"""Dues and entitlements, computed by hand (order.md, section 2)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from apportion.models import Amounts, Config, Queue, QueueName, Snapshot
from apportion.policies.entitlement import Fractions
from apportion.policies.standing import StandingTable

from .builders import GPU, Members, cores, foreign, node, queue, snapshot, standing

LITERAL = Config(literal_deserved=True)


def of(amounts: Mapping[Any, Fractions], table: StandingTable, resource: str = "cpu") -> Any:
    """Return whole cores (devices) by queue."""
    column = table.scene.ledger.column[resource]
    return {q: row[column] / 1000 for q, row in amounts.items()}


def shares(world: Snapshot, config: Config | None = None, resource: str = "cpu") -> Any:
    table = standing(world, config)
    return of(table.entitlement, table, resource)


def dues(world: Snapshot, config: Config | None = None) -> Any:
    table = standing(world, config)
    return {q: "any" if v > 10**9 else v for q, v in of(table.due, table).items()}


def waiting(cpu: int, *queues: Queue, **pods: int) -> Snapshot:
    """Return one large node, queues, and so many waiting pods of one core in each."""
    groups = [Members(q, q, waiting=n, minimum=1) for q, n in pods.items()]
    return snapshot(node("n1", cpu, pods=99), *queues, *groups)


# Dues


@pytest.mark.parametrize(
    ("about", "queues", "want", "literal"),
    [
        ("nobody names it", [queue("a"), queue("b")], {"a": 0, "b": 0}, {"a": 0, "b": 0}),
        (
            "a leaf that does not name it has no bound",
            [queue("a", due=3), queue("b")],
            {"a": 3, "b": "any"},
            {"a": 3, "b": 0},
        ),
        (
            "an inner queue is due the sum of its children",
            [queue("up"), queue("a", due=3, parent="up"), queue("b", due=2, parent="up")],
            {"up": 5, "a": 3, "b": 2},
            {"up": 5, "a": 3, "b": 2},
        ),
        (
            "one child without a bound leaves the sum without one",
            [queue("up"), queue("a", due=3, parent="up"), queue("b", parent="up")],
            {"up": "any", "a": 3, "b": "any"},
            {"up": 3, "a": 3, "b": 0},
        ),
        (
            "an inner queue that names it counts, whatever its children say",
            [queue("up", due=1), queue("a", due=3, parent="up")],
            {"up": 1, "a": 3},
            {"up": 1, "a": 3},
        ),
        (
            "a named 0 is a due of nothing",
            [queue("a", due=0), queue("b", due=1)],
            {"a": 0, "b": 1},
            {"a": 0, "b": 1},
        ),
    ],
)
def test_dues_by_hand(
    about: str, queues: list[Queue], want: dict[str, Any], literal: dict[str, Any]
) -> None:
    world = waiting(9, *queues, a=1)

    assert dues(world) == want, about
    assert dues(world, LITERAL) == literal, about


def test_resources_have_dues_of_their_own() -> None:
    world = snapshot(
        node("n1", 8, 4),
        queue("a", deserved={GPU: 3000}),
        queue("b", deserved={GPU: 1000}),
        Members("g", "a", gpus=1, waiting=4, minimum=1),
        Members("h", "b", gpus=1, waiting=4, minimum=1),
    )

    assert shares(world, resource=GPU) == {"a": 3, "b": 1}
    assert shares(world) == {"a": 4, "b": 4}


# Entitlements


@pytest.mark.parametrize(
    ("about", "queues", "pods", "want"),
    [
        ("all of it for one", [queue("a"), queue("b")], {"a": 12}, {"a": 12, "b": 0}),
        ("equal parts", [queue("a"), queue("b")], {"a": 12, "b": 12}, {"a": 6, "b": 6}),
        (
            "by weight, as far as the demand goes",
            [queue("a", weight=3), queue("b"), queue("c")],
            {"a": 5, "b": 12, "c": 12},
            # 3:1:1 would be 7.2, 2.4, 2.4; a is full at 5, and 7 are left for two
            {"a": 5, "b": Fraction(7, 2), "c": Fraction(7, 2)},
        ),
        (
            "dues first, the rest by weight",
            [queue("a", due=6), queue("b", due=2), queue("c", due=0, weight=3)],
            {"a": 12, "b": 12, "c": 12},
            # 12 − 8 = 4, by 1:1:3
            {"a": Fraction(34, 5), "b": Fraction(14, 5), "c": Fraction(12, 5)},
        ),
        (
            "a due that is not asked for is lent",
            [queue("a", due=6), queue("b", due=3)],
            {"a": 3, "b": 10},
            {"a": 3, "b": 9},
        ),
        (
            "dues beyond the cluster are held by all",
            [queue("a", due=9), queue("b", due=8)],
            {"a": 12, "b": 12},
            {"a": 9, "b": 8},
        ),
        (
            "queue priority from the top, then weight",
            [queue("a", priority=1), queue("b"), queue("c", weight=2)],
            {"a": 6, "b": 12, "c": 12},
            {"a": 6, "b": 2, "c": 4},
        ),
        (
            "priority decides on the rest only, not on dues",
            [queue("a", due=4, priority=1), queue("b", due=6)],
            {"a": 12, "b": 12},
            {"a": 6, "b": 6},
        ),
        (
            "weight 0 has its due and no more",
            [queue("a", due=2, weight=0), queue("b", due=2)],
            {"a": 12, "b": 4},
            {"a": 2, "b": 4},
        ),
        (
            "of what nobody names weight 0 takes equal parts of what is left",
            [queue("a"), queue("b", weight=0), queue("c", weight=0)],
            {"a": 2, "b": 12, "c": 12},
            {"a": 2, "b": 5, "c": 5},
        ),
        (
            "and is last, whatever its priority",
            [queue("a"), queue("b", weight=0, priority=9)],
            {"a": 12, "b": 12},
            {"a": 12, "b": 0},
        ),
        (
            "a limit caps the share",
            [queue("a", capability={"cpu": 2000}), queue("b")],
            {"a": 12, "b": 12},
            {"a": 2, "b": 10},
        ),
        (
            "a guarantee is had like a due",
            [queue("a", due=1, guarantee=Amounts(cores(4))), queue("b", due=0)],
            {"a": 12, "b": 12},
            # a has 4, 8 are left in equal parts; b may not have more than 8
            {"a": 8, "b": 4},
        ),
    ],
)
def test_entitlements_by_hand(
    about: str, queues: list[Queue], pods: dict[str, int], want: dict[str, Any]
) -> None:
    assert shares(waiting(12, *queues, **pods)) == want, about


def test_a_leaf_that_names_nothing_where_others_do_has_all_it_asks_for_unless_literal() -> None:
    world = waiting(12, queue("a", due=6), queue("b", due=2), queue("c"), a=12, b=12, c=12)

    assert shares(world) == {"a": 6, "b": 2, "c": 12}
    third = Fraction(4, 3)
    assert shares(world, LITERAL) == {"a": 6 + third, "b": 2 + third, "c": third}


def test_three_levels_by_weight() -> None:
    """24 by 2:1 are 16 and 8; of 16 x2 is full at 4 and x1 has 12; of 12 by 1:2 come 4 and 8."""
    world = waiting(
        24,
        queue("x", weight=2),
        queue("y"),
        queue("x1", parent="x"),
        queue("x2", parent="x"),
        queue("x11", parent="x1"),
        queue("x12", parent="x1", weight=2),
        x11=10, x12=10, x2=4, y=24,
    )  # fmt: skip

    want = {"x": 16, "y": 8, "x1": 12, "x2": 4, "x11": 4, "x12": 8}
    assert shares(world) == want


def test_three_levels_with_dues() -> None:
    """Below x there are 9: 5 are due to x1, whose children are due 2 and 3, and 1 to x2."""
    world = waiting(
        12,
        queue("x", due=9),
        queue("y", due=3),
        queue("x1", parent="x"),
        queue("x2", parent="x", due=1),
        queue("x11", parent="x1", due=2),
        queue("x12", parent="x1", due=3),
        x11=12, x12=12, x2=12, y=12,
    )  # fmt: skip

    half = Fraction(1, 2)
    want = {"x": 9, "y": 3, "x1": 5 + 3 * half, "x2": 1 + 3 * half}
    want |= {"x11": 2 + 3 * half / 2, "x12": 3 + 3 * half / 2}
    assert shares(world) == want


def test_thirds_are_exact() -> None:
    world = waiting(10, queue("a"), queue("b"), queue("c"), a=10, b=10, c=10)

    assert set(shares(world).values()) == {Fraction(10, 3)}


def test_a_parents_share_is_what_its_children_divide_even_beyond_the_cluster() -> None:
    world = waiting(4, queue("x", due=6), queue("y", due=4), queue("x1", parent="x"), x1=9, y=9)

    # Nobody can ask for more than the cluster has: x asks for 4 of its 6.
    assert shares(world) == {"x": 4, "y": 4, "x1": 4}


def test_pod_slots_take_part_only_where_a_queue_names_them() -> None:
    plain = waiting(9, queue("a"), queue("b"), a=3, b=3)
    named = waiting(9, queue("a", deserved={"pods": 2}), queue("b"), a=3, b=3)

    assert standing(plain).scene.ledger.column["pods"] not in standing(plain).columns
    table = standing(named)
    assert table.due[QueueName("a")][table.scene.ledger.pods] == 2


def test_foreign_work_is_taken_off_before_anything_is_divided() -> None:
    world = snapshot(
        node("n1", 12, pods=99),
        queue("a"),
        queue("b"),
        foreign("f", 2, "n1"),
        Members("a", "a", waiting=12, minimum=1),
        Members("b", "b", waiting=12, minimum=1),
    )

    assert shares(world) == {"a": 5, "b": 5}


# Dominant share


def test_the_dominant_share_is_the_largest_part_of_the_cluster() -> None:
    world = snapshot(node("n1", 10, 4), queue("q"), Members("g", "q", cpu=2, gpus=1, waiting=1))
    table = standing(world)

    def share(**amounts: int) -> Fraction:
        named = {GPU if r == "gpu" else r: v for r, v in amounts.items()}
        return table.share([int(v) for v in table.scene.ledger.row(named)])

    assert share(cpu=2000, gpu=1000) == Fraction(1, 4)
    assert share(cpu=5000, gpu=1000) == Fraction(1, 2)
    assert share(pods=20) == 0
    assert share() == 0
