"""Selectors of devices: what they take, what they may cost, and how they fail."""

from typing import Any

import pytest

from apportion.adapters.kubernetes.cel_selectors import (
    MOST_COST,
    Selector,
    SelectorError,
    cost,
    quantity,
    semver,
)

GPU: dict[str, Any] = {
    "driver": "gpu.nvidia.com",
    "attributes": {
        "gpu.nvidia.com": {
            "model": "A100", "minor": 3, "healthy": True, "driverVersion": semver("550.54.14"),
        },
    },
    "capacity": {"gpu.nvidia.com": {"memory": quantity("40Gi")}},
    "allowMultipleAllocations": False,
}  # fmt: skip
ATTRIBUTES, CAPACITY = 'device.attributes["gpu.nvidia.com"]', 'device.capacity["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ('device.driver == "gpu.nvidia.com"', True),
        ('device.driver == "other"', False),
        (f'{ATTRIBUTES}.model == "A100" && {ATTRIBUTES}.minor > 2', True),
        (f"{ATTRIBUTES}.healthy", True),
        (f'{ATTRIBUTES}.model.matches("^A[0-9]+$")', True),
        (f'{ATTRIBUTES}.model.lowerAscii() == "a100"', True),
        (f'{CAPACITY}.memory.compareTo(quantity("40Gi")) >= 0', True),
        (f'{CAPACITY}.memory.isGreaterThan(quantity("40Gi"))', False),
        (f'{CAPACITY}.memory == quantity("40960Mi")', True),
        (f'{ATTRIBUTES}.driverVersion.isLessThan(semver("550.100.0"))', True),
        (f'{ATTRIBUTES}.driverVersion.compareTo(semver("550.54.14-rc.1")) > 0', True),
        (f'"model" in {ATTRIBUTES}', True),
        ('"x" in device.attributes["other.example.com"]', False),
        ('has(device.attributes["other.example.com"].x)', False),
        (f'cel.bind(a, {ATTRIBUTES}, a.healthy && a.model == "A100")', True),
        (f'{ATTRIBUTES}.exists(k, k == "model")', True),
    ],
)
def test_expressions_over_a_device(expression: str, want: bool) -> None:
    assert Selector(expression).takes(GPU) is want


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        (f"{ATTRIBUTES}.absent == 1", "fails"),
        ('device.attributes["other.example.com"].x == 1', "fails"),
        (f"{ATTRIBUTES}.minor", "answers 3 and neither true nor false"),
        (f'{CAPACITY}.memory.isGreaterThan(quantity("much"))', "neither true nor false"),
        ("unknown(device)", "fails"),
    ],
)
def test_what_fails_says_so(expression: str, want: str) -> None:
    with pytest.raises(SelectorError, match=want):
        Selector(expression).takes(GPU)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("device.driver ==", "is no CEL"),
        ("true" + " && true" * 2000, "is longer than 10240 characters"),
        ("[1,2,3].all(a, [1].all(b, [2].all(c, [3].all(d, a + b + c + d > 0))))", "may take"),
        ("(" * 3000 + "true" + ")" * 3000, "is no CEL"),
    ],
)
def test_what_is_malformed_or_costly_is_refused(expression: str, want: str) -> None:
    with pytest.raises(SelectorError, match=want):
        Selector(expression)


def test_the_bound_on_cost_grows_with_nested_macros() -> None:
    one = cost("[1,2].all(a, a > 0)")
    two = cost("[1,2].all(a, [1].all(b, a > b))")

    assert cost('device.driver == "x"') < one < two < MOST_COST
    assert cost('device.driver == ".all(" + ".all("') < one, "text is no macro"
