"""Every form of a quantity is read exactly, rounded up, and written back without loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.models.amounts import unit_of
from apportion.models.quantity import LARGEST, more_asked, parse, parse_signed, show


@pytest.mark.parametrize(
    ("text", "resource", "want"),
    [
        pytest.param("0.5", "cpu", 500, id="half a core"),
        pytest.param("500m", "cpu", 500, id="half a core in thousandths"),
        pytest.param("100m", "cpu", 100, id="a tenth of a core"),
        pytest.param("1e3", "cpu", 1_000_000, id="a small exponent"),
        pytest.param("1E3", "cpu", 1_000_000, id="a capital exponent"),
        pytest.param("1e+3", "cpu", 1_000_000, id="an exponent with plus"),
        pytest.param("15e-1", "cpu", 1500, id="an exponent with minus"),
        pytest.param("1k", "cpu", 1_000_000, id="a thousand cores"),
        pytest.param("1.5Gi", "memory", 1_610_612_736, id="a fraction of a binary suffix"),
        pytest.param("128974848000m", "memory", 128_974_848, id="bytes in thousandths"),
        pytest.param("129e6", "memory", 129_000_000, id="bytes with an exponent"),
        pytest.param("123Mi", "memory", 128_974_848, id="binary megabytes"),
        pytest.param("1.", "cpu", 1000, id="a bare point at the end"),
        pytest.param(".5", "cpu", 500, id="a bare point at the start"),
        pytest.param("1E", "memory", 10**18, id="E alone is exa"),
        pytest.param("1Ei", "memory", 1 << 60, id="binary exa"),
        pytest.param("100u", "cpu", 1, id="less than a thousandth of a core rounds up"),
        pytest.param("1n", "cpu", 1, id="one nano rounds up"),
        pytest.param("1n", "memory", 1, id="a billionth of a byte is a byte"),
        pytest.param("1500m", "memory", 2, id="a byte and a half are two"),
        pytest.param("1001u", "nvidia.com/gpu", 2, id="devices round up to thousandths"),
        pytest.param("+2", "cpu", 2000, id="a plus sign"),
        pytest.param("-0", "cpu", 0, id="minus nothing is nothing"),
        pytest.param("0000.0000", "cpu", 0, id="many zeros"),
        pytest.param("110", "pods", 110, id="pods are counted whole"),
        pytest.param("2Gi", "hugepages-2Mi", 2 << 30, id="huge pages are bytes"),
        pytest.param(4, "cpu", 4000, id="a plain number"),
        pytest.param(0.5, "cpu", 500, id="a float by its shortest text"),
        pytest.param(0.1, "cpu", 100, id="a tenth as float is a tenth"),
        pytest.param(1e22, "memory", LARGEST, id="a float with exponent"),
        pytest.param("9223372036854775807", "memory", LARGEST, id="the largest"),
        pytest.param("9223372036854775808", "memory", LARGEST, id="one more is capped"),
        pytest.param("9223372036854775807", "cpu", LARGEST * 1000, id="the largest in cores"),
        pytest.param("8Ei", "memory", LARGEST, id="eight binary exa are one too many"),
        pytest.param("1e1000000000000", "cpu", LARGEST * 1000, id="an absurd exponent"),
        pytest.param("1e-1000000000000", "cpu", 1, id="an absurdly small number"),
        pytest.param("0e1000000000000", "cpu", 0, id="nothing times anything"),
        pytest.param("1" + "0" * 9000, "memory", LARGEST, id="nine thousand digits"),
        pytest.param("1." + "0" * 9000 + "1", "memory", 2, id="a late digit still rounds up"),
        pytest.param(10**5000, "memory", LARGEST, id="an integer of five thousand digits"),
    ],
)
def test_parse_reads(text: str | int | float, resource: str, want: int) -> None:
    assert parse(text, resource) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1K", "Ki"),
        ("1 Gi", "'1Gi'"),
        (" 1", "space in it; write '1'"),
        ("1 core", "space in it; write a number"),
        ("1gi", "write Gi"),
        ("NaN", "not a quantity"),
        ("inf", "not a quantity"),
        ("0x10", "not a quantity"),
        ("1e", "not a quantity"),
        ("1e3Ki", "not a quantity"),
        ("", "empty"),
        ("1_000", "not a quantity"),
        ("１", "not a quantity"),
        ("--1", "not a quantity"),
        ("1.5.2Gi", "not a quantity"),
        ("1GiB", "Gi"),
        (".", "not a quantity"),
        ("+", "not a quantity"),
        ("m", "not a quantity"),
        ("1\n", "space"),
        ("-1", "negative"),
        ("-1n", "negative"),
        (-1, "negative"),
        (-0.5, "negative"),
        (float("nan"), "not a quantity"),
        (float("inf"), "not a quantity"),
        (True, "not a quantity"),
    ],
)
def test_parse_refuses_and_says_what_to_write(text: str | int | float, want: str) -> None:
    with pytest.raises(ValueError, match=want.replace(".", r"\.")):
        parse(text, "cpu")


def test_a_tenth_ten_times_is_one() -> None:
    assert 10 * parse("0.1", "cpu") == parse("1", "cpu")


def test_parse_signed_keeps_the_sign() -> None:
    assert parse_signed("-1", "cpu") == -1000
    assert parse_signed(-5, "memory") == -5


@pytest.mark.parametrize(
    ("amount", "resource", "want"),
    [
        (500, "cpu", "500m"),
        (8000, "cpu", "8"),
        (64 << 30, "memory", "64Gi"),
        (129_000_000, "memory", "129M"),
        (1536 << 20, "memory", "1536Mi"),
        (1001, "memory", "1001"),
        (0, "memory", "0"),
        (0, "cpu", "0"),
        (1_000_000, "cpu", "1k"),
        (110, "pods", "110"),
        (1024, "pods", "1024"),
        (500, "nvidia.com/gpu", "500m"),
        (-1500, "cpu", "-1500m"),
    ],
)
def test_show_writes_the_canonical_text(amount: int, resource: str, want: str) -> None:
    assert show(amount, resource) == want


@given(
    st.integers(min_value=0, max_value=LARGEST),
    st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "hugepages-1Gi"]),
)
def test_what_show_writes_parse_reads_back(amount: int, resource: str) -> None:
    assert parse(show(amount, resource), resource) == amount


@given(st.decimals(min_value=0, max_value=10**12, places=9), st.sampled_from(["cpu", "memory"]))
def test_decimals_round_up_and_never_by_a_whole_unit(number: object, resource: str) -> None:
    from decimal import Decimal

    assert isinstance(number, Decimal)

    amount = parse(f"{number:f}", resource)

    assert 0 <= Decimal(amount) - number * unit_of(resource) < 1


@pytest.mark.parametrize(
    ("text", "resource", "want"),
    [
        pytest.param("-1500m", "memory", -2, id="a negative amount rounds away from zero"),
        pytest.param("-1n", "cpu", -1, id="and so never to nothing"),
        pytest.param("-9223372036854775809", "memory", -LARGEST, id="the smallest"),
        pytest.param("1500m", "memory", 2, id="a positive one rounds up"),
    ],
)
def test_parse_signed_rounds(text: str, resource: str, want: int) -> None:
    assert parse_signed(text, resource) == want


@pytest.mark.parametrize(
    ("amount", "resource", "want"),
    [
        (1000, "cpu", "1 more is asked for"),
        (1, "cpu", "1m more are asked for"),
        (1, "pods", "1 more is asked for"),
        (2000, "example.com/gpu", "2 more are asked for"),
    ],
)
def test_more_asked_counts(amount: int, resource: str, want: str) -> None:
    assert more_asked(amount, resource) == want
