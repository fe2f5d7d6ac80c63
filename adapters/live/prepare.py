"""What has to be done to the cluster before the pods of a group can be bound: the port for it.

Volumes are chosen or made, claims of devices are allocated, shares of devices are handed over. A
step that takes long waits on its own, and keeps neither the cycle nor other groups waiting; its
pods count as bound meanwhile.
"""

from collections.abc import Sequence
from typing import Protocol

from ...models import GroupKey, Plan
from .binder import ToBind


class NotReadyError(Exception):
    """The group cannot be bound; says why, and how long it should wait at least."""

    def __init__(self, why: str, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class Step(Protocol):
    """One thing that some pods need before they are bound. Safe to be repeated."""

    def concerns(self, pods: Sequence[ToBind], plan: Plan) -> bool:
        """Say whether any of the pods needs it."""
        ...

    async def prepare(self, group: GroupKey, pods: Sequence[ToBind], plan: Plan) -> None:
        """Do it for all of the pods, and wait until it is done.

        Raises
        ------
        NotReadyError
            If it cannot be done; what was begun has been undone as far as the server answers.
        """
        ...

    async def undo(self, group: GroupKey, pods: Sequence[ToBind]) -> None:
        """Take it back for pods that could not be bound after all. Never raises for the server."""
        ...
