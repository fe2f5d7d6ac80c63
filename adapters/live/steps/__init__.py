"""What some pods need before they are bound: volumes, claimed devices, shares of devices."""

from collections.abc import Callable, Mapping

from ..access import Api
from ..discovery import Resource
from ..mirror import Kind
from ..prepare import Step
from .claims import Claims
from .handover import HandOver
from .node_lock import NodeLock
from .reservation import Options, Reservations
from .sweeper import Sweeper
from .volumes import Volumes
from .waiting import Means, Seen

__all__ = ["Means", "Options", "Reservations", "Seen", "Sweeper", "steps_for"]


def steps_for(
    api: Api,
    seen: Seen,
    resources: Mapping[Kind, Resource],
    reservations: Reservations,
    may_write: Callable[[], bool] = lambda: True,
    means: Means | None = None,
) -> tuple[Step, ...]:
    """Return all steps, in the order in which they are taken.

    What may take long comes first, and last what device plug-ins act on.

    Parameters
    ----------
    seen
        The mirror.
    resources
        What the feed has found to be installed.
    reservations
        Those that a Sweeper looks after.
    may_write
        Whether this replica still leads.
    """
    means = means or Means()
    return (
        Volumes(api, seen, means),
        Claims(api, seen, resources),
        HandOver(api, seen, reservations, NodeLock(api, seen, means), means, may_write),
    )
