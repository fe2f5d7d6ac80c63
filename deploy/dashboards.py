"""The dashboards for Grafana, in short form; ``make generate`` writes them out as JSON.

A panel is a title, what it says, a unit, and queries with the legend of each. Only the leader has
gauges of a plan, and where two replicas have a series at the same time, the larger one is shown.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WIDTH = 24
"""Columns of a page of Grafana."""
SOURCE = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True)
class Panel:
    """One picture. Two go side by side, or four numbers."""

    title: str
    about: str
    queries: Mapping[str, str]
    """Legend to query; the legend may hold labels as {{queue}}."""
    unit: str = "short"
    is_number: bool = False


@dataclass(frozen=True)
class Dashboard:
    """One page; with a list of labels to choose from, where a variable is named."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    variable: tuple[str, str] | None = None
    """A label, and the metric whose values of that label are offered."""


def per_second(metric: str, by: str = "") -> str:
    """Return a query for the rate of a counter, over all replicas."""
    return f"sum{f' by ({by})' if by else ''} (rate({metric}[5m]))"


def quantiles(metric: str, by: str = "") -> dict[str, str]:
    """Return queries for the middle and the hundredth of a histogram."""
    labels = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return {
        f"p{percent}{legend}": f"histogram_quantile({percent / 100}, "
        f"sum by ({labels}) (rate({metric}_bucket[5m])))"
        for percent in (50, 99)
    }


def largest(metric: str, by: str, only: str = "") -> str:
    """Return a query for a gauge of whichever replica has it."""
    return f"max by ({by}) ({metric}{f'{{{only}}}' if only else ''})"


OVERVIEW = Dashboard(
    "overview", "Apportion: overview",
    (
        Panel("Leader", "Replicas that schedule: 1 is right.",
              {"": "sum(apportion_leader)"}, is_number=True),
        Panel("Since the last cycle", "Of an idle cluster up to ten minutes are usual.",
              {"": "time() - max(apportion_last_cycle_timestamp_seconds)"}, "s", is_number=True),
        Panel("Groups that wait", "Groups that the last plan holds.",
              {"": "max(volcano_unschedule_job_count)"}, is_number=True),
        Panel("Settings in use", "0: the newest settings are bad, and the old ones stay.",
              {"": "min(apportion_configuration_accepted)"}, is_number=True),
        Panel("Our pods by state", "With the last plan carried out.",
              {"{{state}}": largest("apportion_cluster_pods", "state")}),
        Panel("Why groups wait", "By the rule of the first reason; docs/policies.md explains each.",
              {"{{rule}}": largest("apportion_plan_held_groups", "rule")}),
        Panel("Used of what the nodes offer", "By our pods and by those of other schedulers.",
              {"{{resource}}": "sum by (resource) (max by (by, resource) (apportion_cluster_used))"
               " / max by (resource) (apportion_cluster_allocatable)"}, "percentunit"),
        Panel("A second", "Pods bound, pods evicted, and groups that the cluster refused.",
              {"bound": per_second("apportion_binds_total"),
               "evicted": per_second("apportion_evictions_total"),
               "refused": per_second("apportion_groups_refused_total")}, "ops"),
        Panel("Wait of a pod", "From its creation to its binding.",
              quantiles("apportion_bind_wait_seconds"), "s"),
        Panel("Trouble", "Cycles that failed, gangs given up, watches begun anew, a second.",
              {"failed cycles": per_second("apportion_cycle_errors_total"),
               "released gangs": per_second("apportion_gangs_released_total"),
               "watches {{resource}}": per_second("apportion_watch_restarts_total", "resource")},
              "ops"),
        Panel("What people are told", "Statuses, conditions and events: requests a second.",
              {"{{kind}} {{result}}": per_second("apportion_told_requests_total", "kind, result")},
              "ops"),
        Panel("Nodes", "Those that take pods, and those that are cordoned or not ready.",
              {"take pods: {{takes_pods}}": largest("apportion_cluster_nodes", "takes_pods")}),
        Panel("Kinds that cannot be read", "The log says which and why.",
              {"": "max(apportion_kinds_unread)"}),
        Panel("Versions", "Of the scheduler and its solver.",
              {"{{version}}, OR-Tools {{solver}}":
               "count by (version, solver) (apportion_build_info)"}),
    ),
)  # fmt: skip


def _of_queue(resource: str, unit: str) -> Panel:
    def one(metric: str) -> str:
        return largest(metric, "queue", f'queue=~"$queue", resource="{resource}"')

    return Panel(
        f"Queues: {resource}", "What queues have, beside what bounds it and what waits.",
        {
            "{{queue}} has": one("apportion_queue_used"),
            "{{queue}} is entitled to": one("apportion_queue_entitlement"),
            "{{queue}} may have": one("apportion_queue_limit"),
            "{{queue}} is due": one("apportion_queue_due"),
            "{{queue}} is kept": one("apportion_queue_guarantee"),
            "{{queue}} waits for": one("apportion_queue_waiting"),
        },
        unit,
    )  # fmt: skip


CHOSEN = 'queue=~"$queue"'
QUEUES = Dashboard(
    "queues", "Apportion: queues",
    (
        Panel("Dominant share", "The largest part of any one resource of the cluster.",
              {"{{queue}}": largest("apportion_queue_share", "queue", CHOSEN)}, "percentunit"),
        Panel("Groups that wait", "Groups that the last plan holds.",
              {"{{queue}}": largest("apportion_queue_held_groups", "queue", CHOSEN)}),
        _of_queue("cpu", "short"),
        _of_queue("memory", "bytes"),
        _of_queue("nvidia.com/gpu", "short"),
        Panel("Pods by state", "With the last plan carried out.",
              {"{{queue}} {{state}}": largest("apportion_queue_pods", "queue, state", CHOSEN)}),
        Panel("Measured against what it deserves", "Above 1: others may reclaim the rest.",
              {"{{queue_name}}":
               largest("volcano_queue_share", "queue_name", 'queue_name=~"$queue"')}),
        Panel("Open", "0: the queue starts nothing.",
              {"{{queue}}": largest("apportion_queue_open", "queue", CHOSEN)}),
    ),
    ("queue", "apportion_queue_open"),
)  # fmt: skip


def _of_namespace(resource: str, unit: str) -> Panel:
    only = f'namespace=~"$namespace", resource="{resource}"'
    return Panel(
        f"Namespaces: {resource}", "What our pods hold.",
        {"{{namespace}}": largest("apportion_namespace_used", "namespace", only)}, unit,
    )  # fmt: skip


NAMESPACES = Dashboard(
    "namespaces", "Apportion: namespaces",
    (
        Panel("Dominant share", "The largest part of any one resource of the cluster.",
              {"{{namespace_name}}": largest(
                  "volcano_namespace_share", "namespace_name", 'namespace_name=~"$namespace"')},
              "percentunit"),
        Panel("Groups that wait", "Groups that the last plan holds.",
              {"{{namespace}}": largest(
                  "apportion_namespace_held_groups", "namespace", 'namespace=~"$namespace"')}),
        _of_namespace("cpu", "short"),
        _of_namespace("memory", "bytes"),
        _of_namespace("nvidia.com/gpu", "short"),
        Panel("Pods by state", "With the last plan carried out.",
              {"{{namespace}} {{state}}": largest(
                  "apportion_namespace_pods", "namespace, state", 'namespace=~"$namespace"')}),
    ),
    ("namespace", "apportion_namespace_pods"),
)  # fmt: skip

SOLVER = Dashboard(
    "solver", "Apportion: solver",
    (
        Panel("Gap", "How far the last plan may be from the best: 0 is proven best.",
              {"": "max(apportion_plan_gap)"}, "percentunit", is_number=True),
        Panel("Order proven", "1: nothing in the order list objects to the last plan.",
              {"": "max(apportion_plan_order_proven)"}, is_number=True),
        Panel("Objects not read", "Bad objects, which the log names.",
              {"": "max(apportion_plan_rejected_objects)"}, is_number=True),
        Panel("Warnings", "Of the last plan.",
              {"": "max(apportion_plan_warnings)"}, is_number=True),
        Panel("A cycle", "How long one takes.",
              quantiles("apportion_cycle_duration_seconds"), "s"),
        Panel("Phases of a cycle", "How long each takes.",
              quantiles("apportion_phase_duration_seconds", "phase"), "s"),
        Panel("Cycles a second", "By engine and status of their plans.",
              {"{{engine}} {{status}}": per_second("apportion_cycles_total", "engine, status")},
              "ops"),
        Panel("Fallbacks and exchanges a second",
              "Plans of the greedy engine in the solver's stead; objections that were followed.",
              {"fallbacks": per_second("apportion_fallbacks_total"),
               "exchanges": per_second("apportion_exchanges_total")}, "ops"),
        Panel("Gap by tier", "How far value and bound are apart.",
              {"{{tier}}": largest("apportion_tier_gap", "tier")}, "percentunit"),
        Panel("Tiers: value and bound", "What was reached, and what could not have been surpassed.",
              {"{{tier}}": largest("apportion_tier_value", "tier"),
               "{{tier}} at best": largest("apportion_tier_bound", "tier")}),
        Panel("Pods of the plan", "What becomes of them.",
              {"{{outcome}}": largest("apportion_plan_pods", "outcome")}),
        Panel("Changes a second", "Objects that changed between cycles.",
              {"": per_second("apportion_changed_objects_total")}, "ops"),
        Panel("Memory", "Of the scheduler, without its solver process.",
              {"{{instance}}": 'process_resident_memory_bytes{job=~".*apportion.*"}'}, "bytes"),
        Panel("CPU", "The same, in cores.",
              {"{{instance}}": 'rate(process_cpu_seconds_total{job=~".*apportion.*"}[5m])'}),
    ),
)  # fmt: skip

DASHBOARDS = (OVERVIEW, QUEUES, NAMESPACES, SOLVER)


def written(dashboard: Dashboard) -> str:
    """Return a dashboard as Grafana imports it."""
    variables: list[dict[str, Any]] = [
        {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    ]
    if dashboard.variable is not None:
        label, metric = dashboard.variable
        variables.append(
            {
                "name": label, "label": label.capitalize(), "type": "query", "datasource": SOURCE,
                "query": {"query": f"label_values({metric}, {label})", "refId": "values"},
                "refresh": 2, "multi": True, "includeAll": True, "allValue": ".*",
                "current": {"text": "All", "value": "$__all"}, "sort": 1,
            }
        )  # fmt: skip
    page = {
        "uid": f"apportion-{dashboard.name}", "title": dashboard.title, "tags": ["apportion"],
        "schemaVersion": 39, "editable": True, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables}, "panels": _panels(dashboard.panels),
    }  # fmt: skip
    return json.dumps(page, indent=1) + "\n"


def _panels(panels: tuple[Panel, ...]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    x = y = 0
    height = 0
    for number, panel in enumerate(panels, 1):
        width, tall = (WIDTH // 4, 4) if panel.is_number else (WIDTH // 2, 8)
        if x + width > WIDTH or (height and tall != height):
            x, y = 0, y + height
        height = tall
        out.append(_panel(number, panel, {"x": x, "y": y, "w": width, "h": tall}))
        x += width
    return out


def _panel(number: int, panel: Panel, place: Mapping[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": query, "legendFormat": legend}
        for i, (legend, query) in enumerate(panel.queries.items())
    ]
    shown = {"reduceOptions": {"calcs": ["lastNotNull"]}} if panel.is_number else {}
    return {
        "id": number, "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title, "description": panel.about, "datasource": SOURCE,
        "gridPos": dict(place), "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": shown, "targets": targets,
    }  # fmt: skip
