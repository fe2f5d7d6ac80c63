"""A queue of the tree: what it may take, what it is due, what is kept for it."""

from collections.abc import Mapping
from enum import StrEnum

from .amounts import ZERO, Amounts
from .names import QueueName
from .notes import Reason
from .value import Value

UNLIMITED = 1 << 62
"""An amount without limit; larger than any sum that Kubernetes can express."""

ROOT = QueueName("/")
"""Stands for the root of the tree; no object can have that name."""


class QueueState(StrEnum):
    """Only an open queue starts work."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class Reclaims(StrEnum):
    """What groups of a queue may take from other queues, if they have a right to it."""

    ANY = "any"
    LOWER = "lower"
    """Work of lower priority than theirs alone."""
    NEVER = "never"


class Queue(Value, frozen=True):
    """One queue. A resource missing in ``capability`` is not limited there."""

    name: QueueName
    parent: QueueName | None = None
    """None: directly below the root."""
    weight: int = 1
    priority: int = 0
    capability: Mapping[str, int] = {}
    deserved: Mapping[str, int] = {}
    """A named 0 is kept: it means that nothing is due. UNLIMITED is allowed."""
    guarantee: Amounts = ZERO
    reclaimable: bool = True
    preempts: bool = True
    """Its groups may evict work of lower priority in the queue itself."""
    reclaims: Reclaims = Reclaims.ANY
    preempt_min_runtime_s: int | None = None
    """How long a group runs before it goes as a whole for one of its own queue; None: as above."""
    reclaim_min_runtime_s: int | None = None
    """The same for groups of other queues; None: as the queue above says, or not at all."""
    state: QueueState = QueueState.OPEN
    namespaces: frozenset[str] | None = None
    """Namespaces that may use the queue; None: all."""
    created_s: int = 0
    hold: tuple[Reason, ...] = ()
    """Reasons found at the door (a cycle of parents) that keep its groups from starting."""
