"""Choices: how many members would do, and which minima of roles."""

import pytest

from apportion.models import Choice

INNER = Choice(1, {"c": 3, "d": 1})
TWO = Choice(2, {"a": 2, "b": 4}, (INNER,))


@pytest.mark.parametrize("least", [0, 4])
def test_a_choice_needs_one_to_all_of_its_parts(least: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 3, the number of its parts, got {least}"):
        Choice(least, {"a": 2, "b": 4}, (INNER,))


def test_fewest_members_are_those_of_the_smallest_parts() -> None:
    assert TWO.fewest({}) == 3
    assert TWO.fewest({"b": 4}) == 1
    assert TWO.fewest({"a": 2, "d": 1}) == 0


def test_ways_are_those_of_which_enough_members_are_there() -> None:
    there = {"a": 2, "b": 3, "c": 3, "d": 1}

    assert list(TWO.ways(there)) == [{"a": 2, "c": 3}, {"a": 2, "d": 1}]
    assert list(Choice(1, {"a": 5}).ways(there)) == []


def test_members_that_are_done_are_taken_off() -> None:
    left = TWO.without({"a": 1, "c": 5})

    assert left == Choice(2, {"a": 1, "b": 4}, (Choice(1, {"c": 0, "d": 1}),))
    assert left.is_met({"a": 1})
    assert not left.is_met({})
