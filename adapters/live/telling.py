"""Telling of cycles: the log, the metrics and the debug pages, all from one cycle."""

import json
import logging
from typing import Any

from ...models import PodState
from .logs import event
from .loop import Cycle
from .metrics import Metrics
from .report import CycleReport


def report_of(cycle: Cycle, wall_s: float) -> CycleReport:
    """Return the cycle as those who show it want it; ``wall_s`` is now, in seconds since 1970."""
    spent = cycle.seconds
    return CycleReport(
        number=cycle.number,
        started_s=wall_s - sum(spent.values()),
        seconds_by_phase={
            "snapshot": spent.get("snapshot", 0.0) + spent.get("recheck", 0.0),
            "solve": spent.get("solve", 0.0),
            "apply": spent.get("apply", 0.0),
        },
        snapshot=cycle.snapshot,
        plan=cycle.plan,
        bound=len(cycle.carried.bound),
        evicted=len(cycle.carried.evicted),
        refused=len(cycle.carried.refused),
        changed_objects=cycle.changes,
    )


def log_cycle(cycle: Cycle, dry_run: bool = False) -> None:
    """Log the cycle in one line, and what of its plan was not carried out."""
    plan, solver, done = cycle.plan, cycle.plan.solver, cycle.carried
    fields: dict[str, Any] = dict(
        number=cycle.number,
        changes=cycle.changes,
        nodes=len(cycle.snapshot.nodes),
        pods=len(cycle.snapshot.pods),
        bound=len(done.bound),
        evicted=len(done.evicted),
        promised=len(plan.nominations),
        held=len(plan.held),
        planned=len(plan.binds) if dry_run else None,
        preparing=len(done.preparing) or None,
        refused=len(done.refused) or None,
        stale=len(done.stale) or None,
        engine=solver.engine,
        status=solver.status,
        gap=solver.gap,
        detail=solver.detail or None,
    )
    fields |= {f"{k}Seconds": round(v, 4) for k, v in cycle.seconds.items()}
    event("cycle", **fields)
    for group, why in {**done.refused, **done.stale}.items():
        event("not carried out", logging.WARNING, group=group, why=why)
    for late in cycle.unready:
        what = "let go" if late.release and not dry_run else "not ready in time"
        event(what, logging.WARNING, group=late.group, why=late.message)


def summary(cycle: Cycle, wall_s: float) -> str:
    """Return the cycle in a line of JSON: what ``apportion status`` shows of it."""
    solver = cycle.plan.solver
    said = {
        "number": cycle.number,
        "endedS": int(wall_s),
        "seconds": round(sum(cycle.seconds.values()), 3),
        "bound": len(cycle.carried.bound),
        "evicted": len(cycle.carried.evicted),
        "held": len(cycle.plan.held),
        "engine": solver.engine,
        "status": solver.status,
        "gap": solver.gap,
    }
    return json.dumps(said)


def count_cycle(metrics: Metrics, cycle: Cycle, wall_s: float) -> CycleReport:
    """Count the cycle and how long its pods and groups had waited."""
    report = report_of(cycle, wall_s)
    metrics.cycle(report)
    pods, groups = cycle.snapshot.pods_by_key, cycle.snapshot.groups_by_key
    whole: set[str] = set()
    for key in cycle.carried.bound:
        pod = pods[key]
        metrics.pod_bound(max(0.0, wall_s - pod.created_s))
        if pod.group is not None and pod.group not in cycle.carried.refused:
            whole.add(pod.group)
    ran = {p.group for p in cycle.snapshot.pods if p.group in whole and p.state is PodState.RUNNING}
    for g in [g for g in groups if g in whole and g not in ran]:
        metrics.group_whole(max(0.0, wall_s - groups[g].created_s))
    for late in cycle.unready:
        if late.release:
            metrics.gang_released()
    return report
