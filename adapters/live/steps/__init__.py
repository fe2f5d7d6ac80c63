"""What some pods need before they are bound: volumes, claimed devices, shares of devices."""

from ..access import Api
from ..prepare import Step
from .volumes import Volumes
from .waiting import Means, Seen

__all__ = ["Means", "Seen", "steps_for"]


def steps_for(api: Api, seen: Seen, means: Means | None = None) -> tuple[Step, ...]:
    """Return all steps, in the order in which they are taken.

    What others may take long for comes first, what is quick and marks the pod last.
    """
    means = means or Means()
    return (Volumes(api, seen, means),)
