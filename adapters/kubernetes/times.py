"""Timestamps and durations as Kubernetes and Go write them, in whole seconds."""

import re
from datetime import UTC, datetime
from functools import lru_cache

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"(\d{1,15})(?:\.(\d{1,9}))?(ns|us|µs|ms|s|m|h)", re.ASCII)
_FORM = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


@lru_cache(maxsize=65536)
def seconds_of(text: str) -> int:
    """Return seconds since 1970 of an RFC 3339 timestamp; fractions are dropped, no zone is UTC.

    Raises
    ------
    ValueError
        If it is no timestamp.
    """
    if _FORM.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text.upper())
        except ValueError:
            moment = None
        if moment is not None:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return int((aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 1)
    raise ValueError(f"{text[:60]!r} is no timestamp; write it like 2026-01-05T09:00:00Z")


def stamp(seconds: float, fine: bool = False) -> str:
    """Return seconds since 1970 as Kubernetes writes them: whole ones, or with microseconds."""
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if fine else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


def duration_s(text: str) -> int:
    """Return the seconds of a Go duration such as 90s, 5m or 1h30m, rounded up.

    Raises
    ------
    ValueError
        If it is no duration, or negative.
    """
    if text == "0":
        return 0
    at = total = 0
    for part in _PART.finditer(text):
        if part.start() != at:
            break
        unit = _UNITS_NS[part[3]]
        fraction = part[2] or ""
        total += int(part[1]) * unit
        total += int(fraction or "0") * unit // 10 ** len(fraction)
        at = part.end()
    if not text or at != len(text):
        raise ValueError(f"{text[:60]!r} is no duration; write it like 90s, 5m or 1h30m")
    return -(-total // 1_000_000_000)
