"""When running work ends, where something says so."""

from enum import StrEnum

from .value import Value

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


class EndBy(StrEnum):
    """By what a pod ends."""

    DEADLINE = "deadline"
    """``activeDeadlineSeconds`` of its Job or, without a controller, its own."""
    MAX_EXEC_TIME = "maxExecTime"
    """The execution time that Kueue allows at most."""
    RUNTIME = "runtime"
    """As its annotation says: nobody sees to it."""


class End(Value, frozen=True):
    """When a pod that runs ends; at the latest, where somebody sees to it."""

    at_s: int
    """Seconds since 1970."""
    by: EndBy

    @property
    def is_certain(self) -> bool:
        """Say whether somebody ends the pod by then, if it does not end before."""
        return self.by is not EndBy.RUNTIME


def span(seconds: int) -> str:
    """Return a time in words, in two units at most, rounded up: ``2 h 10 min``."""
    if seconds < MINUTE_S:
        return f"{seconds} s"
    minutes = -(-seconds // MINUTE_S)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return _two(minutes // 60, "h", minutes % 60, "min")
    hours = -(-seconds // HOUR_S)
    return _two(hours // 24, "d", hours % 24, "h")


def _two(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large} {unit}" + (f" {small} {smaller}" if small else "")
