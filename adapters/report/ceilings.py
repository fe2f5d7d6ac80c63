"""Ceilings: limits of queues and the size of the cluster, which a plan itself does not say."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...models import Config, Snapshot
from ...policies.limits import limits_of
from ...policies.registry import rules_for
from ...policies.scene import Scene


@dataclass(frozen=True)
class Ceilings:
    """Amounts by resource, in canonical units."""

    limit: Mapping[str, Mapping[str, int]]
    """By queue; a resource without a limit is left out."""
    capacity: Mapping[str, int]
    """Allocatable of the nodes that take pods: what shares are measured against."""


def ceilings_of(snapshot: Snapshot, config: Config) -> Ceilings:
    """Return them by the same reading of queues that plans are made with."""
    scene = Scene(snapshot, config, rules_for(config))
    of, names = limits_of(scene), scene.ledger.resources
    limit: dict[str, dict[str, int]] = {
        queue: {names[r]: v for r, v in enumerate(row) if v is not None and names[r] != "pods"}
        for queue, row in of.limit.items()
    }
    return Ceilings(limit, {names[r]: v for r, v in enumerate(of.capacity) if v})
