"""Families of gauges, and amounts as people count them."""

from collections.abc import Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily

from ....models import UNLIMITED, Node, Queue, QueueRow
from ....models.amounts import unit_of
from ....models.devices import WHOLE_GPU
from ..tally import Part

Family = GaugeMetricFamily
Row = tuple[QueueRow, Queue, Part]
"""A queue after the plan, the queue itself, and its pods."""
UNSAID = frozenset({"pods", WHOLE_GPU})
"""Amounts that are no resources of a queue."""
Samples = Iterable[tuple[tuple[str, ...], float]]


def family(name: str, about: str, labels: tuple[str, ...], samples: Samples) -> Family:
    """Make a family from the values of its labels, and a number, each."""
    made = Family(name, about, labels=labels)
    for values, value in samples:
        made.add_metric(values, value)
    return made


def whole(amounts: Mapping[str, int]) -> Samples:
    """Return amounts in cores, bytes and devices; those without limit are left out."""
    return (
        ((r,), amount / unit_of(r))
        for r, amount in sorted(amounts.items())
        if amount < UNLIMITED and r != WHOLE_GPU
    )


def allocatable(nodes: Iterable[Node]) -> dict[str, int]:
    """Return what the nodes that take pods offer, in canonical units."""
    total: dict[str, int] = {}
    for node in nodes:
        if node.takes_pods:
            for r, amount in node.allocatable.items():
                total[r] = total.get(r, 0) + amount
    return total
