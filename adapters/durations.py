"""Durations as people write them in commands and settings: 500ms, 2s, 1m30s."""

import re

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_PART = re.compile(r"(\d{1,12})(?:\.(\d{1,3}))?(ms|s|m|h)", re.ASCII)
LARGEST_MS = 30 * 24 * 3_600_000


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration, rounded up.

    Raises
    ------
    ValueError
        If it is no duration, or longer than 30 days.
    """
    at = total = 0
    for part in _PART.finditer(text):
        if part.start() != at:
            break
        unit, fraction = _UNITS_MS[part[3]], part[2] or ""
        total += int(part[1]) * unit - (-int(fraction or "0") * unit // 10 ** len(fraction))
        at = part.end()
    if not text or at != len(text):
        raise ValueError(f"{text[:60]!r} is no duration; write it like 500ms, 2s or 1m30s")
    if total > LARGEST_MS:
        raise ValueError(f"{text[:60]!r} is longer than 30 days")
    return total


def show_ms(ms: int) -> str:
    """Return the shortest text of a duration; :func:`duration_ms` undoes it."""
    for unit in ("h", "m", "s"):
        size = _UNITS_MS[unit]
        if ms and ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms"
