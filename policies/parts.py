"""Parts: the merged things that a board is made of.

Shapes of pods, classes of equal nodes, types of equal groups; running work that may be evicted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..models import Pod, PodKey, QueueName
from .members import Members, Standing


@dataclass(frozen=True, slots=True)
class Claimant:
    """On whose behalf a pod claims room: what its rights depend on."""

    queue: QueueName
    priority: int
    may_preempt: bool
    asks: tuple[int, ...]
    """Columns of the ledger that some pod of the group asks for."""


NOBODY = Claimant(QueueName(""), 0, False, ())
"""The claimant without a right to anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Pods that no rule tells apart; ``row`` in ledger units, the pod slot included."""

    index: int
    sample: Pod
    row: tuple[int, ...]
    claimant: Claimant | None = None
    pool: int | None = None
    """The shape as which its pods go where they claim nothing: all like it but for the claimant."""

    @property
    def label(self) -> str:
        return f"shape {self.index} ({self.sample.key})"


@dataclass(frozen=True, slots=True, eq=False)
class NodeClass:
    """Nodes that no shape tells apart; ``room`` is one node's, later, before the plan."""

    index: int
    nodes: tuple[int, ...]
    room: tuple[int, ...]
    name: str

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def label(self) -> str:
        return f"node {self.name}" if self.size == 1 else f"{self.size} nodes like {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class GroupType:
    """Groups that no rule tells apart, oldest first."""

    index: int
    members: tuple[Members, ...]
    queue: QueueName
    level: int = 0
    """Which slice of the order its minimum belongs to."""

    @property
    def sample(self) -> Members:
        return self.members[0]

    @property
    def standing(self) -> Standing:
        return self.members[0].standing

    @property
    def label(self) -> str:
        more = f" and {len(self.members) - 1} like it" if len(self.members) > 1 else ""
        return f"group {self.sample.key}{more}"


@dataclass(frozen=True, slots=True, eq=False)
class RoleSet:
    """Pending pods of one shape in one role, promised a place or not, in each group of a type."""

    index: int
    type: GroupType
    role: str
    shape: Shape
    limit: int
    """How many each group has."""
    pods: frozenset[PodKey] = frozenset()
    """The pods of all the groups."""


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """A running group that may be evicted, whole or in part."""

    index: int
    members: Members
    queue: QueueName
    priority: int
    """That of the group or of its pods, the larger."""
    lowest: int
    """The least that a right to some of its pods has to exceed."""
    whole: bool
    """May go as a whole (every running pod may be evicted)."""
    surplus: int
    """How many single pods may go while it stays whole."""
    given_up: bool = False
    """Broken and past its grace: goes unless the plan completes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Equal running pods of one victim on one node."""

    index: int
    victim: Victim
    node: int
    """Negative where the snapshot does not know it: they count for their queue alone."""
    pods: tuple[Pod, ...]
    row: tuple[int, ...]

    @property
    def sample(self) -> Pod:
        return self.pods[0]

    @property
    def priority(self) -> int:
        """What a right to the pods has to exceed."""
        return max(self.victim.members.group.priority, self.sample.priority)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a board is made of."""

    shapes: tuple[Shape, ...]
    classes: tuple[NodeClass, ...]
    types: tuple[GroupType, ...]
    rolesets: tuple[RoleSet, ...]
    victims: tuple[Victim, ...]
    units: tuple[Unit, ...]
    fits: Mapping[tuple[int, int], int]
    """(shape, class) to how many fit at most on the class, victims gone; others are absent."""
    settled: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """By shape, the nodes of no class where pods of it start in any case."""
