"""Gauges of the cluster, its namespaces and its queues, in cores, bytes and devices."""

from collections.abc import Callable, Iterable, Mapping

from ..report import CycleReport
from ..tally import STATES, Tally
from .families import Family, Row, allocatable, family, whole


def cluster_gauges(report: CycleReport, counted: Tally) -> Iterable[Family]:
    """Give nodes and pods, and what both have."""
    nodes = report.snapshot.nodes
    taking = sum(node.takes_pods for node in nodes)
    yield family(
        "apportion_cluster_nodes", "Nodes, by whether they take pods.",
        ("takes_pods",), [(("true",), taking), (("false",), len(nodes) - taking)],
    )  # fmt: skip
    yield family(
        "apportion_cluster_allocatable", "What the nodes that take pods offer.",
        ("resource",), whole(allocatable(nodes)),
    )  # fmt: skip
    yield family(
        "apportion_cluster_used", "What pods hold, by whether they are ours.",
        ("by", "resource"),
        (
            ((by, *of), amount)
            for by, part in (("ours", counted.ours), ("others", counted.others))
            for of, amount in whole(part.used)
        ),
    )  # fmt: skip
    yield family(
        "apportion_cluster_pods", "Our pods by state.",
        ("state",), (((state,), counted.ours.pods[state]) for state in STATES),
    )  # fmt: skip


def namespace_gauges(counted: Tally) -> Iterable[Family]:
    """Give the namespaces that have pods of ours."""
    parts = sorted(counted.namespaces.items())
    yield family(
        "apportion_namespace_pods", "Our pods of a namespace by state.",
        ("namespace", "state"),
        (((name, state), part.pods[state]) for name, part in parts for state in STATES),
    )  # fmt: skip
    yield family(
        "apportion_namespace_used", "What our pods of a namespace hold.",
        ("namespace", "resource"),
        (((name, *of), amount) for name, part in parts for of, amount in whole(part.used)),
    )  # fmt: skip
    yield family(
        "apportion_namespace_held_groups", "Groups of a namespace that the last plan holds.",
        ("namespace",), (((name,), part.held_groups) for name, part in parts),
    )  # fmt: skip


AMOUNTS: Mapping[str, tuple[str, Callable[[Row], Mapping[str, int]]]] = {
    "used": ("What a queue has.", lambda row: row[0].allocated),
    "entitlement": ("What a queue is entitled to.", lambda row: row[0].entitlement),
    "due": ("What a queue is due by its deserved.", lambda row: row[0].deserved),
    "limit": ("What a queue may have at most by its capability.", lambda row: row[1].capability),
    "guarantee": ("What is kept for a queue.", lambda row: row[1].guarantee),
    "waiting": ("What the waiting pods of a queue ask for.", lambda row: row[2].waiting),
}


def queue_gauges(rows: list[Row]) -> Iterable[Family]:
    """Give the queues; each counts what is in the queues below it."""
    for name, (about, of) in AMOUNTS.items():
        yield family(
            f"apportion_queue_{name}", about, ("queue", "resource"),
            (((row[0].name, *r), v) for row in rows for r, v in whole(of(row))),
        )  # fmt: skip
    yield family(
        "apportion_queue_share", "The dominant share of a queue: of 1, the whole cluster.",
        ("queue",), (((row.name,), row.dominant_share) for row, _, _ in rows),
    )  # fmt: skip
    yield family(
        "apportion_queue_open", "1: the queue starts work.",
        ("queue",), (((row.name,), int(q.state == "Open")) for row, q, _ in rows),
    )  # fmt: skip
    yield family(
        "apportion_queue_pods", "Our pods of a queue by state.",
        ("queue", "state"),
        (((row.name, state), part.pods[state]) for row, _, part in rows for state in STATES),
    )  # fmt: skip
    yield family(
        "apportion_queue_held_groups", "Groups of a queue that the last plan holds.",
        ("queue",), (((row.name,), part.held_groups) for row, _, part in rows),
    )  # fmt: skip
