"""What a rule looks like: implement the protocols you need; a rule may be several at once.

A rule keeps no state, reads no clock, no weight and no other rule. Options are dataclass fields.
Register an installed rule under the entry point group ``apportion.rules``.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from ..models import Node, Pod, Reason, Violation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .board import Board, Term
    from .outcome import Outcome
    from .podset import PodSet
    from .scene import Scene
    from .tracker import Tracker, World

Sense = Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class NodeFeatures:
    """What a filter looks at on a node; only these split nodes into classes."""

    labels: frozenset[str] = frozenset()
    taints: bool = False
    state: bool = False
    name: bool = False
    drivers: frozenset[str] = frozenset()
    """CSI drivers of which it matters whether the node has them."""
    devices: bool = False
    cells: bool = False
    pools: bool = False
    """The devices of resource pools, and what a device plug-in offers beside them."""
    plugged: frozenset[str] = frozenset()
    """Extended resources of which it matters whether a device plug-in has any."""
    blocks: bool = False


@runtime_checkable
class Rule(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


@runtime_checkable
class Filter(Protocol):
    """May this pod set ever run on that node? Decided before the model exists."""

    @property
    def name(self) -> str: ...

    def sees(self, pods: "PodSet") -> NodeFeatures: ...

    def refuse(self, pods: "PodSet", node: Node) -> Reason | None: ...


@runtime_checkable
class Constraint(Protocol):
    """A rule no plan may break, said twice: to the solver and without it."""

    @property
    def name(self) -> str: ...

    def constrain(self, board: "Board") -> None: ...

    def check(self, outcome: "Outcome") -> Iterable[Violation]: ...


@runtime_checkable
class Granting(Protocol):
    """A rule that says who has a right to whose room, before there are places on the board."""

    @property
    def name(self) -> str: ...

    def grant(self, board: "Board") -> None: ...


@runtime_checkable
class Objective(Protocol):
    """One quantity, in a stated unit, with its sense; an earlier tier wins over a later one."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def sense(self) -> Sense: ...

    def cost(self, board: "Board") -> "Iterable[Term]": ...

    def measure(self, outcome: "Outcome") -> int: ...


@runtime_checkable
class Tracked(Protocol):
    """A constraint that ties pods together and can follow a growing plan, pod by pod."""

    @property
    def name(self) -> str: ...

    def track(self, world: "World") -> "Tracker": ...


@runtime_checkable
class Telling(Protocol):
    """A rule that tells pods or nodes apart by more than specs, labels and room."""

    @property
    def name(self) -> str: ...

    def tells(self, scene: "Scene", pod: Pod) -> Hashable:
        """Return what else makes a pod different; None: nothing."""
        ...

    def splits(self, scene: "Scene") -> "Sequence[NDArray[np.int64]]":
        """Return numbers by node; nodes with different ones are never merged."""
        ...


@runtime_checkable
class Holding(Protocol):
    """A rule that keeps whole groups from starting, whatever the nodes."""

    @property
    def name(self) -> str: ...

    def hold(self, outcome: "Outcome", group: str) -> Iterable[Reason]: ...
