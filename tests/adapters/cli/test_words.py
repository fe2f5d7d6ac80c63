"""Amounts as people write them."""

import pytest

from apportion.adapters.cli.words import percent, short


@pytest.mark.parametrize(
    ("amount", "resource", "want"),
    [
        (250, "cpu", "250m"),
        (1000, "nvidia.com/gpu", "1"),
        (2_000_000, "cpu", "2,000"),
        (3_488_800, "cpu", "3,488.8"),
        (10**13, "cpu", "1.000e+10"),
        (6750, "nvidia.com/gpu", "6.75"),
        (93_500, "cpu", "93.5"),
        (587_250, "cpu", "587.2"),
        (64 << 30, "memory", "64Gi"),
        (110, "pods", "110"),
    ],
)
def test_amounts_are_short(amount: int, resource: str, want: str) -> None:
    assert short(amount, resource) == want


@pytest.mark.parametrize(
    ("part", "want"),
    [
        (0.0, "0 %"), (1e-6, "< 0.1 %"), (0.001, "0.1 %"), (0.456, "46 %"), (1.0, "100 %"),
        (10.0, "> 1000 %"),
    ],
)  # fmt: skip
def test_parts_are_told_in_percent(part: float, want: str) -> None:
    assert percent(part) == want
