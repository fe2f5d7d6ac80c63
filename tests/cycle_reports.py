"""Reports of cycles on little clusters, for tests of what shows them."""

from collections.abc import Mapping
from typing import Any

import kubernetes_objects as k8s
from apportion.adapters.live.report import CycleReport
from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan

SECONDS = {"snapshot": 0.25, "solve": 0.5, "apply": 0.25}


def report_of(
    *objects: Any,
    number: int = 1,
    seconds_by_phase: Mapping[str, float] = SECONDS,
    made: tuple[Snapshot, Plan] | None = None,
    refused: int = 0,
    changed_objects: int = 3,
) -> CycleReport:
    """Plan a cluster with the greedy engine, and say that all of it was carried out."""
    world, planned = made if made is not None else planned_on(*objects)
    return CycleReport(
        number=number,
        started_s=float(k8s.NOON_S),
        seconds_by_phase=seconds_by_phase,
        snapshot=world,
        plan=planned,
        bound=len(planned.binds) - refused,
        evicted=len(planned.evictions),
        refused=refused,
        changed_objects=changed_objects,
    )


def planned_on(*objects: Any) -> tuple[Snapshot, Plan]:
    world = k8s.snapshot(*objects)
    return world, plan(world, Config(deterministic=True, engine="greedy"))


def busy_cluster() -> list[Any]:
    """Return two nodes, a tree of queues, and work in every state that gauges tell apart."""
    group = k8s.in_group
    return [
        k8s.node("n1", cpu="8", memory="32Gi", pods="110", **{"example.com/gpu": "4"}),
        k8s.node("n2", cpu="8", memory="32Gi", pods="110") | {"spec": {"unschedulable": True}},
        k8s.queue("org", capability={"cpu": "6"}),
        k8s.queue("team", parent="org", weight=3, deserved={"cpu": "4"}),
        k8s.queue("shut", status={"state": "Closed"}),
        k8s.pod_group("coming", queue="team", minMember=1, minResources={"cpu": "1"},
                      status={"phase": "Inqueue"}),
        k8s.pod_group("large", queue="team", minMember=2),
        k8s.pod_group("small", queue="team", minMember=1),
        k8s.pod("large-0", {"cpu": "5"}, annotations=group("large")),
        k8s.pod("large-1", {"cpu": "5"}, annotations=group("large")),
        k8s.pod("small-0", {"cpu": "2", "example.com/gpu": "1"}, annotations=group("small")),
        k8s.pod("runs", {"cpu": "1", "memory": "1Gi"}, annotations=group("small"), nodeName="n1",
                namespace="default"),
        k8s.pod("else", {"cpu": "1"}, scheduler="default-scheduler", nodeName="n1", namespace="x"),
    ]  # fmt: skip
