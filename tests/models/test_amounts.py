"""Amounts are exact, immutable vectors in which what is not named is nothing."""

import pytest

from apportion.models import Amounts
from apportion.models.amounts import ZERO, at_least, total, unit_of

ONE = Amounts({"cpu": 1000, "memory": 5})


@pytest.mark.parametrize(
    ("resource", "want"),
    [
        ("cpu", 1000),
        ("nvidia.com/gpu", 1000),
        ("memory", 1),
        ("ephemeral-storage", 1),
        ("hugepages-2Mi", 1),
        ("pods", 1),
    ],
)
def test_unit_keeps_shares_of_devices_exact_and_bytes_whole(resource: str, want: int) -> None:
    assert unit_of(resource) == want


def test_entries_of_nothing_are_dropped_and_order_plays_no_part() -> None:
    a, b = Amounts({"cpu": 1, "memory": 2, "pods": 0}), Amounts([("memory", 2), ("cpu", 1)])

    assert a == b
    assert hash(a) == hash(b)
    assert list(a) == ["cpu", "memory"]
    assert "pods" not in a
    assert a["pods"] == 0


def test_sums_and_differences() -> None:
    assert ONE.plus({"cpu": 1, "pods": 2}) == Amounts({"cpu": 1001, "memory": 5, "pods": 2})
    assert ONE.minus(ONE) == ZERO
    assert ONE.minus({"cpu": 2000})["cpu"] == -1000
    assert ONE.times(3) == ONE.plus(ONE, 2)
    assert total([ONE, ONE, {"pods": 1}]) == ONE.times(2).plus({"pods": 1})
    assert total([]) == ZERO
    assert at_least({"cpu": 1, "memory": 9}, ONE) == Amounts({"cpu": 1000, "memory": 9})


def test_negative_entries_are_raised_to_nothing() -> None:
    assert ONE.minus({"cpu": 2000}).nonnegative() == Amounts({"memory": 5})


def test_what_is_not_asked_for_plays_no_part_in_fitting() -> None:
    assert ONE.fits({"cpu": 1000, "memory": 5})
    assert not ONE.fits({"cpu": 999, "memory": 5})
    assert not ONE.fits({"cpu": 1000})
    assert ONE.fits({"cpu": 1000, "memory": 5, "pods": -3})
    assert ZERO.fits({})


def test_amounts_equal_no_plain_mapping() -> None:
    assert ONE != {"cpu": 1000, "memory": 5}
    assert "1000" in repr(ONE)
