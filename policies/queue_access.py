"""Queue access: a group starts only in an open leaf queue that its namespace may use."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import GroupKey, QueueName, QueueState, Reason, Violation
from .outcome import Outcome
from .scene import Scene

if TYPE_CHECKING:
    from .board import Board

_DECLARING = ("Queue", "ClusterQueue", "Cohort", "ElasticQuota")
"""What declares queues, as it is called in what is said of it at the door."""


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """The queue exists, is a leaf, is open with all its ancestors, and is for the namespace."""

    name: str = "queue"

    def hold(self, outcome: Outcome, group: str) -> Iterable[Reason]:
        scene = outcome.scene
        g = scene.snapshot.group(GroupKey(group))
        known = scene.once(f"held by {self.name}", _nothing_known)
        case = (g.queue, g.namespace)
        if case not in known:
            known[case] = tuple(self._closed(scene, *case))
        return known[case]

    def _closed(self, scene: Scene, queue: QueueName, namespace: str) -> Iterable[Reason]:
        """Say what keeps groups of the namespace out of the queue."""
        if queue not in scene.tree:
            yield Reason(self.name, f"queue {queue}", _why_missing(scene, queue))
            return
        if not scene.tree.is_leaf(queue):
            kids = ", ".join(scene.tree.children[queue])
            yield Reason(
                self.name, f"queue {queue}", f"queue {queue} is not a leaf: use one of {kids}"
            )
        for name in scene.tree.path(queue):
            q = scene.tree.queues[name]
            yield from q.hold
            if q.state is not QueueState.OPEN:
                yield Reason(self.name, f"queue {name}", f"queue {name} is {q.state.value}")
            allowed = q.namespaces
            share = scene.config.queues.get(name)
            if share is not None and share.namespaces is not None:
                allowed = frozenset(share.namespaces)
            if allowed is not None and namespace not in allowed:
                yield Reason(
                    self.name, f"queue {name}",
                    f"queue {name} is not open to namespace {namespace}",
                )  # fmt: skip

    def check(self, outcome: Outcome) -> Iterable[Violation]:
        for key in sorted(outcome.started):
            for reason in self.hold(outcome, key):
                yield Violation(self.name, f"group {key}", reason.message)

    def constrain(self, board: "Board") -> None:
        """Leave the model alone: held groups never reach it."""


def _why_missing(scene: Scene, queue: QueueName) -> str:
    """Say why there is no such queue: nobody declares it, or what does so is faulty."""
    names = {f"{kind} {queue}" for kind in _DECLARING}
    for said in scene.snapshot.rejected:
        if said.object in names:
            where = f"{said.path} " if said.path else ""
            return f"{said.object} was rejected, so it is no queue: {where}{said.message}"
    return f"queue {queue} not found"


def _nothing_known(_: Scene) -> dict[tuple[QueueName, str], tuple[Reason, ...]]:
    return {}
