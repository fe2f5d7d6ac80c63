"""Words for people: text without control characters, amounts, counts, gathered node names."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from ...models import UNLIMITED
from ...models.amounts import unit_of
from ...models.quantity import show


def plain(text: str) -> str:
    """Return the text on one line, with whatever a terminal could act on written out."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else " " if c in "\n\t" else c.encode("unicode_escape").decode()
        for c in text
    )


def count(n: int, noun: str) -> str:
    """Return "1 pod", "2 pods"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def gathered(nodes: Iterable[str]) -> str:
    """Return "n1 ×2, n2": each node once, the fullest first."""
    counts = Counter(nodes)
    ordered = sorted(counts.items(), key=lambda t: (-t[1], t[0]))
    return ", ".join(plain(n) if k == 1 else f"{plain(n)} ×{k}" for n, k in ordered)


def amounts(of: Mapping[str, int], resources: Iterable[str]) -> str:
    """Return the amounts of the resources in a row of "cpu 4, gpu 2"."""
    parts = []
    for r in resources:
        if r in of:
            value = "∞" if of[r] >= UNLIMITED else short(of[r], r)
            parts.append(f"{resource(r)} {value}")
    return ", ".join(parts) or "–"


def resource(name: str) -> str:
    """Return the short name of a resource: nvidia.com/gpu becomes gpu."""
    return plain(name.rsplit("/", 1)[-1])


def short(amount: int, name: str) -> str:
    """Return an amount as people write it: 2,000 and not 2k, 6750m as 6.75."""
    if unit_of(name) == 1000 and amount % 1000 == 0:
        return number(amount // 1000)
    text = show(amount, name)
    if text.endswith("m") and amount > 1000:
        return f"{amount / 1000:,.2f}".rstrip("0") if amount < 100_000 else f"{amount / 1000:,.1f}"
    if len(text) <= 6:
        return text
    if name == "cpu" or "/" in name:
        return f"{amount / 1000:,.1f}"
    value, unit = float(amount), ""
    for unit in ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"):
        if value < 1024 or unit == "Ei":
            break
        value /= 1024
    return f"{value:,.1f}{unit}"


def number(value: int) -> str:
    """Return a number with thousands set apart, or in powers of ten where it is long."""
    return f"{value:,}" if abs(value) < 10**9 else f"{value:.3e}"


def percent(part: float) -> str:
    """Return a part of one in percent; 0 only of nothing."""
    if part >= 10:
        return "> 1000 %"
    if 0 < part < 0.0005:
        return "< 0.1 %"
    return f"{100 * part:.0f} %" if part >= 0.1 or part == 0 else f"{100 * part:.1f} %"


def moment(seconds: int) -> str:
    """Return seconds since 1970 as a date and time; those beyond the calendar as they are."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s since 1970"
