"""The parts of the program: what its rows are about."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...models import GroupKey
from ...policies.scene import Scene
from .nodes import Classes
from .program import Index, Program, Real
from .victims import Victims
from .work import Starts


@dataclass(frozen=True)
class Parts:
    """What the rows are about. Amounts are in units of powers of two, so that none is rounded."""

    scene: Scene
    program: Program
    starts: Starts
    victims: Victims
    classes: Classes
    unit: Real
    rows: Real
    """Shape by resource."""
    held: Real
    """Victim shape by resource."""
    evicted: Index
    """The column of each kind of victims: how many of them go."""
    lost: Mapping[GroupKey, tuple[Real, Real]]
    """By group that may lose pods: what it holds, and the most that one pod of it holds."""

    @property
    def leads(self) -> list[int]:
        """Columns by which it is told whose room is taken."""
        return sorted({s.lead for s in self.starts.shapes})


@dataclass(frozen=True)
class Placing:
    """What stands where, and what leaves where: arrays of shape, class and column."""

    shape: Index
    place: Index
    placed: Index
    victim: Index
    """Victims' shape."""
    at: Index
    left: Index
