"""Pace: how often a running scheduler looks and plans."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How often; times in seconds."""

    period_s: float = 1.0
    """Between the begins of two cycles at most this long, while changes go on coming."""
    least_s: float = 0.1
    """The same for cycles that take no time; in between, half as long as the last cycle took: while
    pods come all the time, about two thirds of it go into planning."""
    quiet_s: float = 0.05
    """A cycle waits until changes have paused for so long, since pods of a gang come together."""
    leave_s: float = 0.15
    """Where work waits and pods leave their nodes, it waits until none has left for so long, a
    period at most: what ends together may make room for a gang, a part of it only for others."""
    retry_s: float = 30.0
    """Without any change, what is held is planned again this often: grace and cooldowns end."""
    idle_s: float = 600.0
    """The same where nothing is held."""
    failed_s: float = 2.0
    """After a cycle that failed, before the next."""
