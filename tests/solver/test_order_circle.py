"""Objections that lead in a circle: whether they do may depend on who is where."""

from apportion.models import Config, Snapshot
from apportion.policies.testing import after
from apportion.solver.orderly import put_in_order
from apportion.solver.search import Clock
from oracle.build import Members, node, queue, snapshot
from oracle.envy import objections


def _world() -> Snapshot:
    """Return two nodes, two queues, and three objections of which each follows from the one before.

    "high" is before "low" in their queue, but out there: "old" of the other queue has the better
    claim, and where it has grown, one of "low" has room and so a claim for the other.
    """
    return snapshot(
        node("n1", 3, 1), node("n2", 3, 1),
        queue("due", 3), queue("first", 0, priority=1),
        Members("top", "first", gpus=1, waiting=1, priority=2),
        Members("high", "first", 3, waiting=1, priority=1),
        Members("low", "first", waiting=2),
        Members("old", "due", 2, waiting=2),
        nominations={"old0": "n1"},
    )  # fmt: skip


def test_a_circle_is_left_by_a_plan_with_one_pod_elsewhere() -> None:
    """With "top" beside "low" no node is free for "high" once only "low" gives way."""
    world = _world()
    starts = {"x/top0": "n1", "x/old0": "n1", "x/low0": "n2", "x/low1": "n2"}

    ordered = put_in_order(after(world, starts), Clock(None))

    assert [o.item for o in ordered.exchanges] == [3, 4, 7]
    assert ordered.proven
    assert ordered.outcome.places == {**starts, "x/top0": "n2"}
    assert objections(world, Config(), ordered.outcome.places, ()) == []
