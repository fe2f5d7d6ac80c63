"""Quantities: Kubernetes' text for an amount, read and written without loss.

Grammar: ``[+-] digits [. digits] [suffix]``, where the suffix is one of n u m k M G T P E,
Ki Mi Gi Ti Pi Ei, or an exponent (e3, E-2). Amounts round up to canonical units (see
:mod:`.amounts`) and are capped at 2^63-1 units, as apimachinery's resource.Quantity does.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

from .amounts import unit_of

LARGEST = (1 << 63) - 1
"""The largest quantity, in whole units (cores, bytes, devices)."""

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)
_TAIL = re.compile(r"[+-]?[0-9]*\.?[0-9]*(?P<tail>.*)", re.DOTALL)
_KEPT_DIGITS = 60
"""Digits that decide a rounded-up amount; what follows them only says whether to round."""
_EXAMPLE = "write a number with an optional suffix, such as 2, 500m, 0.5, 64Gi or 1e3"


def parse(text: str | int | float, resource: str) -> int:
    """Return the amount in canonical units of the resource, rounded up.

    A float is taken by its shortest decimal text (0.1 is a tenth).

    Raises
    ------
    ValueError
        If it is no quantity or is negative; the message says what to write instead.
    """
    amount = parse_signed(text, resource)
    if amount < 0:
        raise ValueError(f"{_quote(text)} is negative; write 0 or more")
    return amount


def parse_signed(text: str | int | float, resource: str) -> int:
    """Return the amount like :func:`parse`, but let negative ones pass (rounded towards zero)."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{_quote(text)} is not a quantity; {_EXAMPLE}")
    if isinstance(text, int):
        return max(-LARGEST, min(text, LARGEST)) * unit_of(resource)
    return _read(text if isinstance(text, str) else repr(text), unit_of(resource))


@lru_cache(maxsize=65536)
def _read(text: str, units: int) -> int:
    form = _FORM.fullmatch(text)
    if form is None or not (form["whole"] or form["part"]):
        raise ValueError(_complaint(text))
    digits = (form["whole"] + (form["part"] or "")).lstrip("0")
    if not digits:
        return 0
    ten, two = _scale(form["exponent"], form["suffix"] or "")
    ten -= len(form["part"] or "")
    size = _ceiling(digits, ten, two, units)
    return -size if form["sign"] == "-" else size


def _scale(exponent: str | None, suffix: str) -> tuple[int, int]:
    """Return the powers of ten and of two that the mantissa is multiplied by."""
    if exponent is not None:
        sign = -1 if exponent[0] == "-" else 1
        size = exponent.lstrip("+-").lstrip("0")
        return (sign * int(size[:9] or "0") if len(size) <= 9 else sign * 10**9), 0
    if suffix in _BINARY:
        return 0, _BINARY[suffix]
    return _DECIMAL[suffix], 0


def _ceiling(digits: str, ten: int, two: int, units: int) -> int:
    """Return digits · 10^ten · 2^two · units rounded up, without building absurd numbers."""
    magnitude = len(digits) + ten
    if magnitude > 40:
        return LARGEST * units
    if magnitude < -40:
        return 1
    if len(digits) > _KEPT_DIGITS:
        rest = digits[_KEPT_DIGITS:]
        ten += len(rest)
        digits = str(int(digits[:_KEPT_DIGITS]) + (1 if rest.strip("0") else 0))
    exact = Fraction(int(digits) << two) * Fraction(10) ** ten
    return math.ceil(min(exact, Fraction(LARGEST)) * units)


def _complaint(text: str) -> str:
    tail = _TAIL.fullmatch(text)
    suffix = tail["tail"] if tail else ""
    said = f"{_quote(text)} is not a quantity"
    if not text:
        return f"an empty text is not a quantity; {_EXAMPLE}"
    if text != text.strip() or " " in text:
        together = "".join(text.split())
        advice = f"write {_quote(together)}" if _FORM.fullmatch(together) else _EXAMPLE
        return f"{said}: it has a space in it; {advice}"
    if suffix.startswith("K") or suffix.lower() in ("kb", "mb", "gb", "tb", "kib", "mib", "gib"):
        return f"{said}: there is no suffix {suffix!r}; write k, M, G (1000) or Ki, Mi, Gi (1024)"
    if suffix.lower() in ("ki", "mi", "gi", "ti", "pi", "ei", "g", "t", "p"):
        return f"{said}: there is no suffix {suffix!r}; write {suffix[0].upper()}{suffix[1:]}"
    return f"{said}; {_EXAMPLE}"


def _quote(value: object) -> str:
    """Return the value as it was written, cut where it is too long to be read."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of more than 19 digits"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def show(amount: int, resource: str) -> str:
    """Return the canonical text of an amount (500m, 64Gi, 8); :func:`parse` undoes it."""
    if amount < 0:
        return "-" + show(-amount, resource)
    if unit_of(resource) == 1000:
        if amount % 1000:
            return f"{amount}m"
        return _decimal(amount // 1000)
    if resource != "pods" and amount and amount % 1024 == 0:
        return _binary(amount)
    return _decimal(amount)


def more_asked(amount: int, resource: str) -> str:
    """Return "2 more are asked for"."""
    said = show(amount, resource)
    return f"{said} more {'is' if said == '1' else 'are'} asked for"


def _decimal(units: int) -> str:
    for suffix in ("E", "P", "T", "G", "M", "k"):
        size = 10 ** _DECIMAL[suffix]
        if units and units % size == 0:
            return f"{units // size}{suffix}"
    return str(units)


def _binary(units: int) -> str:
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if units % (1 << _BINARY[suffix]) == 0:
            return f"{units >> _BINARY[suffix]}{suffix}"
    return str(units)
