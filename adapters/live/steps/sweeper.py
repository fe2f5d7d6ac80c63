"""Reservation pods that nobody needs any more are deleted now and then."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..logs import event
from .reservation import Reservations
from .waiting import Means

PERIOD_S = 30.0


@dataclass(slots=True)
class Sweeper:
    """Sweeps while this replica may write, and sees the cluster whole.

    ``run`` goes on until it is cancelled.
    """

    reservations: Reservations
    may_write: Callable[[], bool]
    means: Means = field(default_factory=Means)

    async def run(self) -> None:
        """Sweep again and again."""
        while True:
            await self.means.sleep(PERIOD_S)
            if self.may_write():
                for name in await self.reservations.sweep():
                    event("reservation deleted", pod=name)
