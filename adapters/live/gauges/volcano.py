"""Gauges under Volcano's names, in Volcano's units: thousandths of CPUs and devices, bytes."""

from collections.abc import Callable, Iterable, Mapping

from ....models import UNLIMITED, QueueRow
from ....models.amounts import unit_of
from ..report import CycleReport
from ..tally import Tally
from .families import UNSAID, Family, Row, allocatable, family

Of = Callable[[Row], Mapping[str, int]]
KINDS: Mapping[str, tuple[str, Of]] = {
    "allocated": ("What a queue has", lambda row: row[0].allocated),
    "request": (
        "What a queue has and waits for",
        lambda row: row[0].allocated.plus(row[2].waiting),
    ),
    "deserved": ("What a queue deserves", lambda row: _deserved(row[0])),
    "capacity": ("What a queue may have at most", lambda row: row[1].capability),
    "inqueue": ("What is kept for groups let in without pods", lambda row: row[2].reserved),
}
SINGLE = {"cpu": ("milli_cpu", "milli-CPU"), "memory": ("memory_bytes", "bytes of memory")}
"""Resources with a metric of their own; all others have a label."""


def volcano_gauges(report: CycleReport, counted: Tally, rows: list[Row]) -> Iterable[Family]:
    """Give the gauges that dashboards made for Volcano ask for."""
    yield family(
        "volcano_pod_preemption_victims", "Pods that the last plan evicts.",
        (), [((), len(report.plan.evictions))],
    )  # fmt: skip
    yield family(
        "volcano_unschedule_job_count", "Groups that the last plan holds.",
        (), [((), len(report.plan.held))],
    )  # fmt: skip
    total = allocatable(report.snapshot.nodes)
    yield family(
        "volcano_namespace_share",
        "The largest part of any one resource of the cluster that our pods of a namespace hold.",
        ("namespace_name",),
        (
            ((name,), max((v / total[r] for r, v in part.used.items() if total.get(r)), default=0))
            for name, part in sorted(counted.namespaces.items())
        ),
    )  # fmt: skip
    for kind, (about, of) in KINDS.items():
        yield from _amounts(kind, about, [(row[0].name, of(row)) for row in rows])
    yield from _standing(rows)


def _amounts(
    kind: str, about: str, amounts_by_queue: list[tuple[str, Mapping[str, int]]]
) -> Iterable[Family]:
    for resource, (suffix, unit) in SINGLE.items():
        yield family(
            f"volcano_queue_{kind}_{suffix}", f"{about}: {unit}.", ("queue_name",),
            (
                ((queue,), amounts.get(resource, 0))
                for queue, amounts in amounts_by_queue
                if _is_said(kind, resource, amounts)
            ),
        )  # fmt: skip
    yield family(
        f"volcano_queue_{kind}_scalar_resources", f"{about}: thousandths of another resource.",
        ("queue_name", "resource"),
        (
            ((queue, r), amount * 1000 // unit_of(r))
            for queue, amounts in amounts_by_queue
            for r, amount in sorted(amounts.items())
            if r not in (*SINGLE, *UNSAID) and amount < UNLIMITED
        ),
    )  # fmt: skip


def _is_said(kind: str, resource: str, amounts: Mapping[str, int]) -> bool:
    """Say whether the amount is a number: a limit that is not named is none."""
    return amounts.get(resource, UNLIMITED if kind == "capacity" else 0) < UNLIMITED


def _standing(rows: list[Row]) -> Iterable[Family]:
    yield family(
        "volcano_queue_share", "The largest part of what it deserves that a queue has.",
        ("queue_name",), (((row.name,), _share(row)) for row, _, _ in rows),
    )  # fmt: skip
    yield family(
        "volcano_queue_weight", "Weight of a queue.",
        ("queue_name",), (((row.name,), queue.weight) for row, queue, _ in rows),
    )  # fmt: skip
    yield family(
        "volcano_queue_overused", "1: a queue has all that it deserves, of every resource.",
        ("queue_name",), (((row.name,), int(_is_overused(row))) for row, _, _ in rows),
    )  # fmt: skip


def _deserved(row: QueueRow) -> dict[str, int]:
    """Return what a queue is due where it names the resource, else its entitlement."""
    return {**row.entitlement, **row.deserved}


def _share(row: QueueRow) -> float:
    deserved = _deserved(row)
    parts = (
        (v / deserved[r] if deserved.get(r) else 1.0) for r, v in row.allocated.items() if v > 0
    )
    return max(parts, default=0.0)


def _is_overused(row: QueueRow) -> bool:
    has = row.allocated
    return bool(has) and all(v <= has[r] for r, v in _deserved(row).items() if r not in UNSAID)
