"""What /metrics serves after a cycle, as a scraper reads it."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

import kubernetes_objects as k8s
from apportion.adapters.live.metrics import Metrics, spread
from apportion.adapters.live.report import CycleReport
from apportion.models import SolverRow
from cycle_reports import busy_cluster, report_of

Series = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]


def series(metrics: Metrics) -> Series:
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}


def value(of: Series, name: str, **labels: str) -> float:
    return of[name, tuple(sorted(labels.items()))]


def after(*reports: CycleReport) -> Series:
    metrics = Metrics()
    for report in reports:
        metrics.cycle(report)
    return series(metrics)


def test_counters_add_up_over_cycles() -> None:
    report = report_of(*busy_cluster())

    seen = after(report, report)

    assert value(seen, "apportion_cycles_total", engine="greedy", status="feasible") == 2
    assert value(seen, "apportion_binds_total") == 2
    assert value(seen, "apportion_changed_objects_total") == 6
    assert value(seen, "volcano_schedule_attempts_total", result="scheduled") == 2
    assert value(seen, "volcano_schedule_attempts_total", result="unschedulable") == 4


def test_time_is_counted_by_phase_and_as_a_whole() -> None:
    seen = after(report_of(*busy_cluster()))

    assert value(seen, "apportion_phase_duration_seconds_sum", phase="solve") == 0.5
    assert value(seen, "apportion_cycle_duration_seconds_sum") == 1.0
    assert value(seen, "volcano_e2e_scheduling_latency_milliseconds_sum") == 1000
    assert value(seen, "volcano_open_session_duration_milliseconds_sum") == 250


def test_what_was_refused_is_an_error_and_no_start() -> None:
    seen = after(report_of(*busy_cluster(), refused=1))

    assert value(seen, "apportion_groups_refused_total") == 1
    assert value(seen, "volcano_schedule_attempts_total", result="error") == 1
    assert value(seen, "apportion_binds_total") == 0


def test_a_fallback_is_counted() -> None:
    report = report_of(*busy_cluster())
    fallen = replace(report.plan, solver=SolverRow(status="fallback", exchanges=2))

    seen = after(report_of(made=(report.snapshot, fallen)))

    assert value(seen, "apportion_fallbacks_total") == 1
    assert value(seen, "apportion_exchanges_total") == 2


def test_gauges_show_the_queues_as_the_plan_leaves_them() -> None:
    seen = after(report_of(*busy_cluster()))

    assert value(seen, "apportion_queue_used", queue="team", resource="cpu") == 3
    assert value(seen, "apportion_queue_used", queue="org", resource="cpu") == 3
    assert value(seen, "apportion_queue_used", queue="team", resource="example.com/gpu") == 1
    assert value(seen, "apportion_queue_waiting", queue="org", resource="cpu") == 10
    assert value(seen, "apportion_queue_limit", queue="org", resource="cpu") == 6
    assert value(seen, "apportion_queue_due", queue="team", resource="cpu") == 4
    assert value(seen, "apportion_queue_held_groups", queue="org") == 1
    assert value(seen, "apportion_queue_pods", queue="team", state="running") == 2
    assert value(seen, "apportion_queue_pods", queue="team", state="waiting") == 2
    assert value(seen, "apportion_queue_open", queue="shut") == 0


def test_volcanos_gauges_are_in_volcanos_units() -> None:
    seen = after(report_of(*busy_cluster()))

    assert value(seen, "volcano_queue_allocated_milli_cpu", queue_name="team") == 3000
    assert value(seen, "volcano_queue_allocated_memory_bytes", queue_name="team") == 2**30
    gpu = {"queue_name": "team", "resource": "example.com/gpu"}
    assert value(seen, "volcano_queue_allocated_scalar_resources", **gpu) == 1000
    assert value(seen, "volcano_queue_request_milli_cpu", queue_name="team") == 13000
    assert value(seen, "volcano_queue_deserved_milli_cpu", queue_name="team") == 4000
    assert value(seen, "volcano_queue_capacity_milli_cpu", queue_name="org") == 6000
    assert value(seen, "volcano_queue_inqueue_milli_cpu", queue_name="team") == 1000
    assert value(seen, "volcano_queue_weight", queue_name="team") == 3
    assert value(seen, "volcano_unschedule_job_count") == 1
    assert ("volcano_queue_capacity_milli_cpu", (("queue_name", "team"),)) not in seen


@pytest.mark.parametrize(
    ("cpu_used", "want_share", "want_overused"),
    [("2", 0.5, 0), ("4", 1.0, 1), ("6", 1.5, 1)],
    ids=["below its due", "at its due", "above its due"],
)
def test_share_and_overuse_are_measured_against_what_is_deserved(
    cpu_used: str, want_share: float, want_overused: int
) -> None:
    seen = after(
        report_of(
            k8s.node("n1"),
            k8s.queue("q", deserved={"cpu": "4"}),
            k8s.pod_group("g", queue="q", minMember=1),
            k8s.pod("p", {"cpu": cpu_used}, annotations=k8s.in_group("g"), nodeName="n1"),
        )
    )

    assert value(seen, "volcano_queue_share", queue_name="q") == want_share
    assert value(seen, "volcano_queue_overused", queue_name="q") == want_overused


def test_pods_that_leave_are_told_from_those_that_run() -> None:
    seen = after(
        report_of(
            k8s.node("n1", cpu="4", memory="8Gi", pods="10"),
            k8s.queue("a", deserved={"cpu": "4"}),
            k8s.queue("b", deserved={"cpu": "0"}),
            k8s.pod_group("mine", queue="a", minMember=1),
            k8s.pod_group("theirs", queue="b", minMember=1),
            k8s.pod("m", {"cpu": "4"}, annotations=k8s.in_group("mine")),
            k8s.pod("t", {"cpu": "4"}, annotations=k8s.in_group("theirs"), nodeName="n1"),
        )
    )

    assert value(seen, "apportion_queue_pods", queue="a", state="nominated") == 1
    assert value(seen, "apportion_queue_pods", queue="b", state="terminating") == 1
    assert value(seen, "volcano_pod_preemption_victims") == 1
    assert value(seen, "volcano_total_preemption_attempts") == 1
    assert value(seen, "apportion_evictions_total") == 1


def test_gauges_show_cluster_and_namespaces() -> None:
    seen = after(report_of(*busy_cluster()))

    assert value(seen, "apportion_cluster_nodes", takes_pods="false") == 1
    assert value(seen, "apportion_cluster_allocatable", resource="cpu") == 8
    assert value(seen, "apportion_cluster_used", by="ours", resource="cpu") == 3
    assert value(seen, "apportion_cluster_used", by="others", resource="cpu") == 1
    assert value(seen, "apportion_namespace_pods", namespace="default", state="waiting") == 2
    assert value(seen, "volcano_namespace_share", namespace_name="default") == 3 / 8
    assert not any(("namespace", "x") in labels for _, labels in seen)


def test_a_queue_that_is_gone_has_no_series_left() -> None:
    metrics = Metrics()
    metrics.cycle(report_of(*busy_cluster()))
    assert any(("queue", "team") in labels for _, labels in series(metrics))

    metrics.cycle(report_of(k8s.node("n1"), k8s.queue("other")))

    seen = series(metrics)
    assert not any(v == "team" for _, labels in seen for _, v in labels)
    assert value(seen, "apportion_queue_open", queue="other") == 1
    assert value(seen, "apportion_binds_total") == 1


def test_before_the_first_cycle_there_are_counters_but_no_gauges_of_a_plan() -> None:
    seen = series(Metrics())

    assert value(seen, "apportion_cycle_errors_total") == 0
    assert value(seen, "apportion_phase_duration_seconds_count", phase="apply") == 0
    assert not any(name.startswith("apportion_plan_") for name, _ in seen)


def test_two_have_nothing_in_common() -> None:
    one, other = Metrics(), Metrics()

    one.cycle_failed()

    assert value(series(one), "apportion_cycle_errors_total") == 1
    assert value(series(other), "apportion_cycle_errors_total") == 0


def test_events_between_cycles_are_counted() -> None:
    metrics = Metrics()

    metrics.leading(True)
    metrics.configured(False)
    metrics.unread(2)
    metrics.watch_restarted("pods", 2)
    metrics.told("Event", "refused")
    metrics.advised("found")
    metrics.gang_released()
    metrics.pod_bound(1.5)
    metrics.group_whole(3.0)

    seen = series(metrics)
    assert value(seen, "apportion_leader") == 1
    assert value(seen, "apportion_configuration_accepted") == 0
    assert value(seen, "apportion_kinds_unread") == 2
    assert value(seen, "apportion_watch_restarts_total", resource="pods") == 2
    told = "apportion_told_requests_total"
    assert value(seen, told, kind="Event", result="refused") == 1
    assert value(seen, told, kind="Event", result="written") == 0
    assert value(seen, "apportion_advice_total", result="found") == 1
    assert value(seen, "apportion_advice_total", result="late") == 0
    assert value(seen, "apportion_gangs_released_total") == 1
    assert value(seen, "apportion_bind_wait_seconds_sum") == 1.5
    bound = {"stage": "Bound"}
    assert value(seen, "volcano_task_scheduling_latency_milliseconds_sum", **bound) == 1500
    assert value(seen, "volcano_e2e_job_scheduling_latency_milliseconds_sum") == 3000


def test_an_infinite_due_is_no_number() -> None:
    unlimited = {"cpu": {"quota": -1, "limit": -1}}
    q = k8s.queue("q", api="scheduling.run.ai/v2", resources=unlimited)

    seen = after(report_of(k8s.node("n1"), q))

    assert value(seen, "apportion_queue_open", queue="q") == 1
    assert ("apportion_queue_due", (("queue", "q"), ("resource", "cpu"))) not in seen
    assert ("volcano_queue_deserved_milli_cpu", (("queue_name", "q"),)) not in seen


def test_buckets_are_spread_evenly_by_factor() -> None:
    bounds = spread(1, 5000, 20)

    assert (len(bounds), bounds[0], bounds[-1]) == (20, 1.0, 5000.0)
    factors = [b / a for a, b in pairwise(bounds)]
    assert max(factors) - min(factors) < 1e-3
