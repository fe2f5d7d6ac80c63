"""A group: a PodGroup of whatever dialect, or what stands for it (a plain pod: a group of one)."""

from collections.abc import Mapping
from functools import cached_property

from .amounts import Amounts
from .choice import Choice
from .names import GroupKey, QueueName
from .notes import Reason
from .topology import Subgroup, TopologyRequest
from .value import Value


class Group(Value, frozen=True, dict=True):
    """Runs with its minimum or not at all; members above the minimum are elastic."""

    namespace: str
    name: str
    queue: QueueName
    minimum: int = 1
    """minMember as written; see :attr:`effective_minimum`."""
    role_minimum: Mapping[str, int] = {}
    priority: int = 0
    preemptable: bool = True
    may_preempt: bool = True
    created_s: int = 0
    min_resources: Amounts | None = None
    """What is reserved for the group while its pods do not exist yet."""
    min_limits: Amounts | None = None
    """The limits of those pods, as far as they are said: a ResourceQuota may bound them."""
    admitted: bool = False
    """Already let in without pods (Volcano's phase Inqueue): its min_resources count."""
    asks_admission: bool = False
    """A group object without pods that waits to be let in (Volcano's phase Pending)."""
    implicit: bool = False
    """Made up for a plain pod."""
    broken_since_s: int | None = None
    source: str = ""
    """Which kind of object declared it, for messages: "PodGroup", "Workload", "Pod", ..."""
    user: str = ""
    topology: TopologyRequest | None = None
    """What all its pods ask for together."""
    subgroups: tuple[Subgroup, ...] = ()
    choices: tuple[Choice, ...] = ()
    """Parts of which it needs some, whichever they are, beside the minima of roles."""
    hold: tuple[Reason, ...] = ()
    """Reasons found at the door that keep the group from starting."""

    def __post_init__(self) -> None:
        if self.minimum < 0:
            raise ValueError(f"group {self.key}: minimum must be at least 0, got {self.minimum}")

    @cached_property
    def key(self) -> GroupKey:
        """``namespace/name``."""
        return GroupKey(f"{self.namespace}/{self.name}")

    @property
    def effective_minimum(self) -> int:
        """The larger of the minimum and the fewest members that roles and choices leave."""
        roles = self.role_minimum
        if not roles and not self.choices:
            return self.minimum
        return max(self.minimum, sum(roles.values()) + sum(c.fewest(roles) for c in self.choices))
