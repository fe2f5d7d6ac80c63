"""Gauges of the last cycle, made when they are asked for: what is gone has no series left.

Names that begin with ``volcano_`` are Volcano's, in its units; ``apportion_`` ones are in cores,
bytes, devices and seconds. Every one is in docs/metrics.md.
"""

from prometheus_client.registry import Collector

from ..report import CycleReport
from ..tally import tally
from .families import Family
from .parts import cluster_gauges, namespace_gauges, queue_gauges
from .plan import plan_gauges
from .volcano import volcano_gauges


class LastCycle(Collector):
    """The gauges of whichever cycle was the last."""

    def __init__(self) -> None:
        self.report: CycleReport | None = None
        self._made: tuple[CycleReport, list[Family]] | None = None

    def describe(self) -> list[Family]:
        """Return nothing, so that nobody collects only to learn the names."""
        return []

    def collect(self) -> list[Family]:
        """Return the gauges; none before the first cycle."""
        report = self.report
        if report is None:
            return []
        if self._made is None or self._made[0] is not report:
            self._made = (report, gauges(report))
        return self._made[1]


def gauges(report: CycleReport) -> list[Family]:
    """Return every gauge of a cycle; takes one pass over its pods."""
    snapshot, plan = report.snapshot, report.plan
    counted = tally(snapshot, plan)
    by_name = snapshot.queues_by_name
    rows = [
        (row, queue, counted.queues[queue.name])
        for row in plan.queues
        if (queue := by_name.get(row.name)) is not None
    ]
    return [
        *plan_gauges(report),
        *cluster_gauges(report, counted),
        *namespace_gauges(counted),
        *queue_gauges(rows),
        *volcano_gauges(report, counted, rows),
    ]
