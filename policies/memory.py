"""Memory: what one cycle leaves to the next, so that its cost follows what has changed.

Only what rests on nothing but objects that are still the very same: no result depends on it.
"""

from dataclasses import dataclass

from .members import Roster


@dataclass(slots=True)
class Memory:
    """What the last scene has found out. One scene at a time may use it."""

    roster: Roster | None = None
    """Members of its groups, with what follows from each group alone."""
