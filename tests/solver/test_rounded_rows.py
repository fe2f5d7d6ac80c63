"""Rows that are rounded: what fits exactly starts all the same, and nothing worse is proven."""

import pytest

from apportion.models import (
    Amounts,
    Config,
    Group,
    GroupKey,
    Node,
    NodeName,
    Pod,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Snapshot,
    snapshot_of,
)
from apportion.solver.entry import plan

QUEUE = QueueName("default")


def cluster(memory_bytes: int) -> Snapshot:
    """Return a node that the older pod fills, and one that asks for a byte."""
    sizes = {"whole": memory_bytes, "byte": 1}
    return snapshot_of(
        nodes=[Node(NodeName("n"), Amounts({"memory": memory_bytes, "pods": 110_000}))],
        queues=[Queue(QUEUE)],
        groups=[Group("x", n, QUEUE, created_s=i) for i, n in enumerate(sizes)],
        pods=[
            Pod(
                "x", n, PodSpec(Amounts({"memory": size})), PodState.PENDING, GroupKey(f"x/{n}"),
                created_s=i,
            )
            for i, (n, size) in enumerate(sizes.items())
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("memory_bytes", "want_engine"),
    [
        pytest.param(1 << 30, "exact", id="small enough not to be rounded"),
        pytest.param(1 << 34, "exact", id="a multiple of a power of two"),
        pytest.param(15 * 10**9, "exact", id="decimal units"),
        pytest.param((1 << 34) - 1, "greedy", id="a number that nothing divides"),
    ],
)
def test_the_pod_that_fits_exactly_starts(memory_bytes: int, want_engine: str) -> None:
    made = plan(cluster(memory_bytes), Config(deterministic=True))

    assert [b.pod for b in made.binds] == ["x/whole"]
    assert made.solver.engine == want_engine
