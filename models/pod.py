"""A pod of the snapshot: ours or foreign, and where it stands."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property

from .amounts import Amounts
from .end import End
from .names import GroupKey, NodeName, PodKey
from .numa import CellShare
from .podspec import PodSpec
from .value import Value


class PodState(StrEnum):
    """Where a pod stands in its life."""

    PENDING = "pending"
    """Has no node and may be given one."""
    GATED = "gated"
    """Has no node and scheduling gates: left alone until they are gone."""
    RUNNING = "running"
    """Has a node and holds its requests there (bound pods included)."""
    TERMINATING = "terminating"
    """Has a node and a deletion timestamp: holds its requests until it is gone."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Pod(Value, frozen=True, dict=True):
    """One pod. Times are whole seconds since 1970; priorities as in PriorityClass."""

    namespace: str
    name: str
    spec: PodSpec
    state: PodState
    group: GroupKey | None = None
    """None for foreign pods, which are fixed."""
    role: str = ""
    subgroups: tuple[str, ...] = ()
    """Subgroups of the group that the pod is in, by name."""
    node: NodeName | None = None
    nominated: NodeName | None = None
    labels: Mapping[str, str] = {}
    priority: int = 0
    may_preempt: bool = True
    preemptable: bool = True
    critical: bool = False
    """System-critical class or namespace kube-system: never a victim."""
    task_priority: int = 0
    """Order inside the group, higher first (Volcano's task priority)."""
    created_s: int = 0
    started_s: int | None = None
    protected_until_s: int | None = None
    """Cooling down until then: no victim before."""
    gates: tuple[str, ...] = ()
    uid: str = ""
    owner: str = ""
    """``Kind/name`` of the controller; "" for a pod that nothing would bring back."""
    user: str = ""
    scheduler: str = ""
    devices: tuple[int, ...] = ()
    """Indexes of the devices that it holds on its node; () where nothing says it."""
    cells: tuple[CellShare, ...] = ()
    """NUMA cells that it holds, where somebody has said so."""
    claimed: tuple[str, ...] = ()
    """Ids of the devices that its own claims have."""
    draws: Mapping[str, int] = {}
    """What its own claims take of the capacity of devices that may be allocated several times."""
    claim_names: Mapping[str, str] = {}
    """The ResourceClaim behind each of its claims, where there is one already."""
    end: End | None = None
    """Of a pod that runs: when it ends, where that is known."""
    ready: bool = True
    """False: it runs, and says that it is not ready."""

    def __post_init__(self) -> None:
        on_node = self.state in (PodState.RUNNING, PodState.TERMINATING)
        if on_node and self.node is None:
            raise ValueError(f"pod {self.key}: state {self.state} needs a node")

    @cached_property
    def key(self) -> PodKey:
        """``namespace/name``."""
        return PodKey(f"{self.namespace}/{self.name}")

    @property
    def ours(self) -> bool:
        return self.group is not None

    @property
    def holds(self) -> bool:
        """Say whether the pod holds its requests on its node."""
        return self.state in (PodState.RUNNING, PodState.TERMINATING)

    @property
    def footprint(self) -> Amounts:
        """Requests and the pod slot."""
        return self.spec.requests.plus({"pods": 1})
