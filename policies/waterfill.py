"""Weighted water-filling in exact fractions."""

from collections.abc import Sequence
from fractions import Fraction


def water_fill(amount: Fraction, vessels: Sequence[tuple[int, Fraction]]) -> list[Fraction]:
    """Share an amount among vessels (weight, room): everyone rises at its weight until it is full.

    Weight 0 takes nothing. What no vessel can take stays undivided.
    """
    got = [Fraction(0)] * len(vessels)
    open_ones = [i for i, (w, room) in enumerate(vessels) if w > 0 and room > 0]
    while open_ones and amount > 0:
        weights = sum(vessels[i][0] for i in open_ones)
        rise = min(
            amount / weights,
            min((vessels[i][1] - got[i]) / vessels[i][0] for i in open_ones),
        )
        for i in open_ones:
            got[i] += rise * vessels[i][0]
        amount -= rise * weights
        open_ones = [i for i in open_ones if got[i] < vessels[i][1]]
    return got
