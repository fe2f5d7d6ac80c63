"""Gauges of the last plan."""

from collections.abc import Iterable

from ..report import CycleReport
from .families import Family, family


def plan_gauges(report: CycleReport) -> Iterable[Family]:
    """Give what the last plan is, and how good."""
    plan = report.plan
    tiers = plan.objective
    pods = {
        "bound": len(plan.binds), "nominated": len(plan.nominations),
        "evicted": len(plan.evictions), "held": sum(len(h.pods) for h in plan.held),
    }  # fmt: skip
    by_rule: dict[str, int] = {}
    for held in plan.held:
        rule = held.reasons[0].rule if held.reasons else "none"
        by_rule[rule] = by_rule.get(rule, 0) + 1
    yield family(
        "apportion_last_cycle_timestamp_seconds", "When the last cycle began, since 1970.",
        (), [((), report.started_s)],
    )  # fmt: skip
    yield family(
        "apportion_plan_pods", "Pods of the last plan, by what becomes of them.",
        ("outcome",), (((name,), n) for name, n in pods.items()),
    )  # fmt: skip
    yield family(
        "apportion_plan_held_groups", "Groups that the last plan holds, by their first reason.",
        ("rule",), (((rule,), n) for rule, n in sorted(by_rule.items())),
    )  # fmt: skip
    yield family(
        "apportion_plan_gap", "How far the last plan may be from the best, over its tiers of work.",
        (), [((), plan.solver.gap)] if plan.solver.gap is not None else [],
    )  # fmt: skip
    yield family(
        "apportion_plan_order_proven", "1: nothing in the order list objects to the last plan.",
        (), [((), int(plan.solver.order_proven))],
    )  # fmt: skip
    yield family(
        "apportion_plan_rejected_objects", "Objects that the last cycle could not read.",
        (), [((), len(plan.rejected))],
    )  # fmt: skip
    yield family(
        "apportion_plan_warnings", "Warnings of the last plan.",
        (), [((), len(plan.warnings))],
    )  # fmt: skip
    yield family(
        "apportion_tier_value", "What the last plan reached in a tier of the objective.",
        ("tier",), (((t.name,), t.value) for t in tiers),
    )  # fmt: skip
    yield family(
        "apportion_tier_bound", "What no plan could have surpassed there.",
        ("tier",), (((t.name,), t.bound) for t in tiers if t.bound is not None),
    )  # fmt: skip
    yield family(
        "apportion_tier_gap", "How far value and bound of a tier are apart, relative to the bound.",
        ("tier",), (((t.name,), t.gap) for t in tiers if t.gap is not None),
    )  # fmt: skip
