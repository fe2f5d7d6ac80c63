"""When the loop begins a cycle while changes go on coming, by a clock of the tests."""

import asyncio

import pytest

from apportion.adapters.live.loop import Loop, Means, Pace
from fakes.cluster import FakeCluster
from oracle.build import node, queue, snapshot

from .worlds import GREEDY

PACE = Pace(period_s=1.0, quiet_s=0.05)


class Steady:
    """A cluster on which something changes all the time, and a loop beside it."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.cluster = FakeCluster(snapshot(node("n1", 2), queue("q")))
        means = Means(now_s=lambda: self.now_s, sleep=self._sleep)
        self.loop = Loop(
            self.cluster, self.cluster, self.cluster, lambda: GREEDY, pace=PACE, means=means
        )

    async def _sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.cluster.changes += 1
        self.cluster.changed.set()

    def waits_s(self, after_s: float, changes: int) -> float:
        """Return how long the loop waits so long after the begin of a cycle.

        So much has changed during that cycle; with 0, something changes later and wakes the loop.
        """

        async def measured() -> float:
            await self.loop.cycle()
            self.cluster.changes += changes
            self.cluster.changed.set()
            self.now_s += after_s
            began = self.now_s
            await self.loop._wait(asyncio.Event())
            return self.now_s - began

        try:
            return asyncio.run(measured())
        finally:
            self.loop._thread.shutdown()


def test_what_came_during_a_long_cycle_is_planned_at_once() -> None:
    assert Steady().waits_s(after_s=2.0, changes=5) == pytest.approx(PACE.quiet_s)


def test_what_came_during_a_short_cycle_is_planned_a_period_after_it_began() -> None:
    waited_s = Steady().waits_s(after_s=0.3, changes=5)

    assert 0.7 <= round(waited_s, 3) <= 0.7 + PACE.quiet_s


def test_pods_that_come_one_by_one_after_a_rest_are_planned_after_a_period() -> None:
    waited_s = Steady().waits_s(after_s=500.0, changes=0)

    assert PACE.period_s <= round(waited_s, 3) <= PACE.period_s + PACE.quiet_s
