"""Devices that this version cannot place: shares of a GPU and device claims hold their group."""

from collections.abc import Iterable, Iterator

from ...models import Reason
from .pods import Candidate

_SHARES = frozenset(("gpu-fraction", "gpu-memory"))
_WHOLE_GPU = "nvidia.com/gpu"


def device_holds(pods: Iterable[Candidate]) -> Iterator[Reason]:
    """Yield why a group cannot be placed because of what its pods ask of devices."""
    for c in pods:
        if c.finished:
            continue
        shares = not _SHARES.isdisjoint(c.thing.annotations)
        if shares and _WHOLE_GPU not in c.spec.requests:
            yield Reason(
                "device",
                f"pod {c.thing.key}",
                "asks for a share of a GPU, which this version cannot place",
            )
        if c.waits and c.body.resource_claims:
            yield Reason(
                "device",
                f"pod {c.thing.key}",
                "asks for device claims (resourceClaims), which this version cannot place",
            )
