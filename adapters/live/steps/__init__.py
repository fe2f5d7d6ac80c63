"""What some pods need before they are bound: volumes, claimed devices, shares of devices."""

from collections.abc import Mapping

from ..access import Api
from ..discovery import Resource
from ..mirror import Kind
from ..prepare import Step
from .claims import Claims
from .volumes import Volumes
from .waiting import Means, Seen

__all__ = ["Means", "Seen", "steps_for"]


def steps_for(
    api: Api, seen: Seen, resources: Mapping[Kind, Resource], means: Means | None = None
) -> tuple[Step, ...]:
    """Return all steps, in the order in which they are taken: what may take long comes first.

    Parameters
    ----------
    seen
        The mirror.
    resources
        What the feed has found to be installed.
    """
    means = means or Means()
    return Volumes(api, seen, means), Claims(api, seen, resources)
