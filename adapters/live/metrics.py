"""Metrics of the live scheduler: what is counted as it happens, beside the last cycle's gauges.

Names that begin with ``volcano_`` are Volcano's, with its units and buckets, so that dashboards
made for it go on working; docs/metrics.md has them all. Nothing here is global: each instance has
a registry of its own.
"""

import platform
from collections.abc import Iterable
from importlib.metadata import version

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.registry import Collector

from .advice import RESULTS as ADVICE
from .gauges import LastCycle
from .report import PHASES, CycleReport
from .write import RESULTS


def spread(least: float, most: float, number: int) -> tuple[float, ...]:
    """Return bounds of buckets from least to most, each the same multiple of the one before."""
    step = (most / least) ** (1 / (number - 1))
    return tuple(round(least * step**i, 6) for i in range(number))


SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60)
WAITS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)


class Metrics:
    """Everything that ``/metrics`` serves."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self.registry = r = CollectorRegistry()
        self._last = LastCycle()
        r.register(self._last)
        ProcessCollector(registry=r)
        self._cycles = Counter(
            "apportion_cycles", "Cycles, by engine and status of their plans.",
            ("engine", "status"), registry=r,
        )  # fmt: skip
        self._errors = Counter(
            "apportion_cycle_errors", "Cycles that failed before they were done.", registry=r
        )
        self._fallbacks = Counter(
            "apportion_fallbacks", "Plans of the greedy engine in the solver's stead.", registry=r
        )
        self._exchanges = Counter(
            "apportion_exchanges", "Objections of the order list that were followed.", registry=r
        )
        self._changed = Counter(
            "apportion_changed_objects", "Objects that changed between cycles.", registry=r
        )
        self._duration = Histogram(
            "apportion_cycle_duration_seconds", "How long a cycle takes.",
            buckets=SECONDS, registry=r,
        )  # fmt: skip
        self._phase = Histogram(
            "apportion_phase_duration_seconds", "How long the phases of a cycle take.",
            ("phase",), buckets=SECONDS, registry=r,
        )  # fmt: skip
        self._binds = Counter("apportion_binds", "Pods that were bound.", registry=r)
        self._refused = Counter(
            "apportion_groups_refused",
            "Groups that the cluster refused what a plan gave them.",
            registry=r,
        )
        self._evictions = Counter("apportion_evictions", "Pods that were evicted.", registry=r)
        self._released = Counter(
            "apportion_gangs_released", "Gangs given up after they had started in part.",
            registry=r,
        )  # fmt: skip
        self._wait = Histogram(
            "apportion_bind_wait_seconds", "From the creation of a pod to its binding.",
            buckets=WAITS_S, registry=r,
        )  # fmt: skip
        self._restarts = Counter(
            "apportion_watch_restarts", "Watches that had to begin anew with a list.",
            ("resource",), registry=r,
        )  # fmt: skip
        self._told = Counter(
            "apportion_told_requests",
            "Requests for statuses, conditions and events, by what came of them.",
            ("kind", "result"), registry=r,
        )  # fmt: skip
        self._advice = Counter(
            "apportion_advice", "Held groups, by whether a change was found that would start them.",
            ("result",), registry=r,
        )  # fmt: skip
        self._unread = Gauge(
            "apportion_kinds_unread", "Kinds that cannot be listed or watched now.", registry=r
        )
        self._leader = Gauge("apportion_leader", "1: this replica schedules.", registry=r)
        self._configuration = Gauge(
            "apportion_configuration_accepted", "0: the newest settings are bad, and not used.",
            registry=r,
        )  # fmt: skip
        build = Gauge(
            "apportion_build_info", "1, with the versions as labels.",
            ("version", "solver", "python"), registry=r,
        )  # fmt: skip
        build.labels(version("apportion"), version("ortools"), platform.python_version()).set(1)
        self._configuration.set(1)
        self._volcano()
        for phase in PHASES:
            self._phase.labels(phase)
        for result in ADVICE:
            self._advice.labels(result)
        for kind in ("Event", "Pod", "PodGroup", "Queue"):
            for result in RESULTS:
                self._told.labels(kind, result)

    def _volcano(self) -> None:
        r = self.registry
        self._e2e_ms = Histogram(
            "volcano_e2e_scheduling_latency_milliseconds", "How long a cycle takes.",
            buckets=spread(1, 5000, 20), registry=r,
        )  # fmt: skip
        self._open_ms = Histogram(
            "volcano_open_session_duration_milliseconds", "How long the snapshot of a cycle takes.",
            buckets=spread(1, 5000, 20), registry=r,
        )  # fmt: skip
        self._task_ms = Histogram(
            "volcano_task_scheduling_latency_milliseconds",
            "From the creation of a pod to a stage; the only stage is Bound.",
            ("stage",), buckets=spread(50, 60000, 30), registry=r,
        )  # fmt: skip
        self._task_ms.labels("Bound")
        self._job_ms = Histogram(
            "volcano_e2e_job_scheduling_latency_milliseconds",
            "From the creation of a group to the binding that makes it whole.",
            buckets=spread(100, 120000, 30), registry=r,
        )  # fmt: skip
        self._attempts = Counter(
            "volcano_schedule_attempts",
            "Pods by result: scheduled, unschedulable (held); error: groups that were refused.",
            ("result",), registry=r,
        )  # fmt: skip
        for result in ("scheduled", "unschedulable", "error"):
            self._attempts.labels(result)
        # A counter's name would have to end in _total, and Volcano's does not.
        self._preemptions = Gauge(
            "volcano_total_preemption_attempts", "Groups for which pods were to be evicted.",
            registry=r,
        )  # fmt: skip

    def cycle(self, report: CycleReport) -> None:
        """Count a cycle, whose snapshot and plan are the gauges from now on."""
        plan = report.plan
        self._last.report = report
        self._cycles.labels(plan.solver.engine, plan.solver.status).inc()
        self._fallbacks.inc(plan.solver.status == "fallback")
        self._exchanges.inc(plan.solver.exchanges)
        self._changed.inc(report.changed_objects)
        self._duration.observe(report.seconds)
        self._e2e_ms.observe(report.seconds * 1000)
        self._open_ms.observe(report.seconds_by_phase.get("snapshot", 0.0) * 1000)
        for phase, seconds in report.seconds_by_phase.items():
            self._phase.labels(phase).observe(seconds)
        self._binds.inc(report.bound)
        self._refused.inc(report.refused)
        self._evictions.inc(report.evicted)
        self._attempts.labels("scheduled").inc(report.bound)
        self._attempts.labels("unschedulable").inc(sum(len(h.pods) for h in plan.held))
        self._attempts.labels("error").inc(report.refused)
        self._preemptions.inc(len({g for e in plan.evictions for g in e.beneficiaries}))

    def cycle_failed(self) -> None:
        """Count a cycle that did not come to its end."""
        self._errors.inc()

    def pod_bound(self, wait_s: float) -> None:
        """Count how long a pod has waited from its creation to its binding."""
        self._wait.observe(wait_s)
        self._task_ms.labels("Bound").observe(wait_s * 1000)

    def group_whole(self, wait_s: float) -> None:
        """Count how long a group has waited from its creation until its minimum was bound."""
        self._job_ms.observe(wait_s * 1000)

    def gang_released(self) -> None:
        """Count a gang that was given up."""
        self._released.inc()

    def watch_restarted(self, resource: str, times: int = 1) -> None:
        """Count a watch that begins anew; the resource by its plural and group."""
        self._restarts.labels(resource).inc(times)

    def told(self, kind: str, result: str) -> None:
        """Count a request that tells people something: about which kind, and what came of it."""
        self._told.labels(kind, result).inc()

    def advised(self, result: str) -> None:
        """Count a held group of which it was tried what would start it; one of ``ADVICE``."""
        self._advice.labels(result).inc()

    def unread(self, kinds: int) -> None:
        """Say how many kinds cannot be listed or watched now."""
        self._unread.set(kinds)

    def leading(self, is_leader: bool) -> None:
        """Say whether this replica schedules."""
        self._leader.set(is_leader)

    def configured(self, is_accepted: bool) -> None:
        """Say whether the newest settings are those in use."""
        self._configuration.set(is_accepted)

    def text(self) -> bytes:
        """Return everything in the text format of Prometheus; one pass over the last pods."""
        return generate_latest(_WithoutCreated(self.registry))


class _WithoutCreated(Collector):
    """A registry without the times at which counters were made, which nobody asks for."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric
