"""How far a tier is from its bound, as plans tell it."""

import pytest

from apportion.solver.assemble import gap_of


@pytest.mark.parametrize(
    ("value", "bound", "want"),
    [
        (5, None, None),
        (0, 0, 0.0),
        (7, 7, 0.0),
        (90, 100, 0.1),
        (3, 2, 0.5),
        pytest.param(1, 0, 1.0, id="a bound of nothing"),
        pytest.param(10**15 - 1, 10**15, 1e-6, id="never 0 where something is missing"),
    ],
)
def test_the_gap_is_rounded_up(value: int, bound: int | None, want: float | None) -> None:
    assert gap_of(value, bound) == want
