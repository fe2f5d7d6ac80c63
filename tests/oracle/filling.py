"""Water-filling in exact fractions."""

from fractions import Fraction


def water_filling(wish: dict[int, tuple[Fraction, int]], rest: Fraction) -> dict[int, Fraction]:
    """Raise level × weight until the rest is used up, each capped by its wish."""
    out = dict.fromkeys(wish, Fraction(0))
    open_ = {q for q, (cap, _) in wish.items() if cap > 0}
    while open_ and rest > 0:
        weights = sum(wish[q][1] for q in open_)
        step = min(rest / weights, *((wish[q][0] - out[q]) / wish[q][1] for q in open_))
        for q in open_:
            out[q] += step * wish[q][1]
        rest -= step * weights
        open_ = {q for q in open_ if out[q] < wish[q][0]}
    return out
