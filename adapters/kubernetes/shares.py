"""Devices that this version cannot place: device claims hold their group."""

from collections.abc import Iterable, Iterator

from ...models import Reason
from .pods import Candidate


def device_holds(pods: Iterable[Candidate]) -> Iterator[Reason]:
    """Yield why a group cannot be placed because of what its pods ask of devices."""
    for c in pods:
        if c.finished:
            continue
        if c.waits and c.body.resource_claims:
            yield Reason(
                "device",
                f"pod {c.thing.key}",
                "asks for device claims (resourceClaims), which this version cannot place",
            )
