"""Water-filling, against its definition."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.policies.waterfill import water_fill

Vessels = list[tuple[int, Fraction]]
FRACTIONS = st.fractions(min_value=0, max_value=20, max_denominator=12)
VESSELS = st.lists(st.tuples(st.integers(0, 4), FRACTIONS), max_size=6)


def by_definition(amount: Fraction, vessels: Vessels) -> list[Fraction]:
    """Return min(level · weight, room) for the one level at which the amount is used up.

    The level at which all is used up is tried between the levels at which vessels get full.
    """

    def at(level: Fraction) -> list[Fraction]:
        return [min(level * w, room) for w, room in vessels]

    full = sorted({Fraction(0), *(room / w for w, room in vessels if w)})
    for below, above in pairwise(full):
        if sum(at(above)) >= amount:
            rising = sum(w for w, room in vessels if w and room / w > below)
            return at(below + (amount - sum(at(below))) / rising)
    return at(full[-1])


@given(FRACTIONS, VESSELS)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_everyone_rises_at_its_weight_until_it_is_full(amount: Fraction, vessels: Vessels) -> None:
    assert water_fill(amount, vessels) == by_definition(amount, vessels)


@given(FRACTIONS, VESSELS)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_as_much_is_shared_out_as_can_be_taken(amount: Fraction, vessels: Vessels) -> None:
    got = water_fill(amount, vessels)

    assert sum(got) == min(amount, sum(room for w, room in vessels if w))
    assert all(0 <= g <= room for g, (_, room) in zip(got, vessels, strict=True))
    assert all(not g for g, (w, _) in zip(got, vessels, strict=True) if not w)


@pytest.mark.parametrize(
    ("about", "amount", "vessels", "want"),
    [
        ("nobody", 5, [], []),
        ("equal parts", 6, [(1, 9), (1, 9)], [3, 3]),
        ("by weight", 6, [(1, 9), (2, 9)], [2, 4]),
        ("what one cannot take goes to the other", 6, [(1, 1), (1, 9)], [1, 5]),
        ("one gets full just then", 6, [(2, 4), (1, 9)], [4, 2]),
        ("weight 0 takes nothing", 6, [(0, 9), (1, 4)], [0, 4]),
        ("exact thirds", 1, [(1, 9), (2, 9)], [Fraction(1, 3), Fraction(2, 3)]),
        ("nothing to share", 0, [(1, 9)], [0]),
        ("a debt is not shared", -3, [(1, 9)], [0]),
    ],
)
def test_by_hand(
    about: str, amount: int, vessels: list[tuple[int, int]], want: list[Fraction]
) -> None:
    rooms = [(w, Fraction(room)) for w, room in vessels]

    assert water_fill(Fraction(amount), rooms) == want, about
