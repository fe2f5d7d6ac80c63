"""When the loop begins a cycle while changes go on coming, by a clock of the tests."""

import asyncio

from msgspec.structs import replace

from apportion.adapters.live.at_once import SHARE, STEP_S
from apportion.adapters.live.loop import Loop, Means
from apportion.adapters.live.pace import Pace
from apportion.adapters.live.planning import DIRECT
from apportion.models import Config, Plan, Pod, Snapshot
from fakes.cluster import FakeCluster
from oracle.build import Members, node, queue, snapshot

from .worlds import GREEDY, planned

PACE = Pace(period_s=1.0, quiet_s=0.05)


class Steady:
    """A cluster on which something changes all the time, and a loop beside it."""

    def __init__(self, *groups: Members) -> None:
        self.now_s = 100.0
        self.cluster = FakeCluster(snapshot(node("n1", 2), queue("q"), *groups))
        self.leaves_s: list[float] = []
        """When pods leave their nodes."""
        self.took_s = 0.0
        """How long a plan takes."""
        self.detail = ""
        """What a plan says of how it was made."""
        self.comes: list[Pod] = []
        """Pods that come, one each time that the loop sleeps."""
        means = Means(now_s=lambda: self.now_s, sleep=self._sleep, planner=self._planner)
        self.loop = Loop(
            self.cluster, self.cluster, self.cluster, lambda: GREEDY, pace=PACE, means=means
        )

    def _planner(self, world: Snapshot, config: Config, process: object) -> Plan:
        self.now_s += self.took_s
        made = planned(world)
        return replace(made, solver=replace(made.solver, detail=self.detail))

    async def _sleep(self, seconds: float) -> None:
        self.now_s += seconds
        while self.leaves_s and self.leaves_s[0] <= self.now_s:
            self.cluster.departed += 1
            del self.leaves_s[0]
        if self.comes:
            self.cluster.put(self.comes.pop(0))
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
    assert Steady().waits_s(after_s=2.0, changes=5) < PACE.quiet_s / 2


def test_what_came_during_a_short_cycle_waits_for_others_from_when_it_began() -> None:
    waited_s = Steady().waits_s(after_s=0.05, changes=5)

    least_s = PACE.least_s - 0.05
    assert least_s <= round(waited_s, 3) <= least_s + PACE.quiet_s


def test_pods_that_come_one_by_one_after_a_rest_do_not_wait_for_long() -> None:
    waited_s = Steady().waits_s(after_s=500.0, changes=0)

    assert PACE.least_s <= round(waited_s, 3) <= PACE.least_s + PACE.quiet_s


def test_after_a_long_cycle_nobody_waits_longer_than_the_period() -> None:
    steady = Steady()
    steady.took_s = 30.0

    waited_s = steady.waits_s(after_s=500.0, changes=0)

    assert PACE.period_s <= round(waited_s, 3) <= PACE.period_s + PACE.quiet_s


def leaving(first_s: float, times: int, every_s: float = 0.06) -> list[float]:
    """Return when pods leave, so long after a cycle has begun."""
    return [100.0 + first_s + i * every_s for i in range(times)]


WAITS = Members("g", "q", cpu=3, waiting=1)


def test_where_work_waits_a_cycle_waits_until_no_more_pods_leave() -> None:
    steady = Steady(WAITS)
    steady.leaves_s = leaving(2.0, times=10)
    last_s = steady.leaves_s[-1] - 102.0

    waited_s = steady.waits_s(after_s=2.0, changes=0)

    least_s = last_s + PACE.leave_s
    assert least_s <= round(waited_s, 3) <= least_s + 2 * PACE.quiet_s


def test_pods_that_leave_all_the_time_make_no_cycle_wait_longer_than_the_period() -> None:
    steady = Steady(WAITS)
    steady.leaves_s = leaving(2.0, times=500)

    waited_s = steady.waits_s(after_s=2.0, changes=0)

    assert PACE.period_s <= round(waited_s, 3) <= PACE.period_s + PACE.quiet_s


def test_where_nothing_waits_pods_that_leave_keep_no_cycle_waiting() -> None:
    steady = Steady()
    steady.leaves_s = leaving(2.0, times=500)

    waited_s = steady.waits_s(after_s=2.0, changes=0)

    assert PACE.least_s <= round(waited_s, 3) <= PACE.least_s + PACE.quiet_s


def late(steady: Steady, *groups: Members) -> Steady:
    """Return it with the pods of these groups gone; they come while the loop waits."""
    steady.comes = [steady.cluster.pod(str(p.key)) for g in groups for p in g.pods]
    for pod in steady.comes:
        steady.cluster.delete(str(pod.key))
    return steady


def test_after_a_direct_plan_single_pods_wait_for_no_others() -> None:
    single = Members("late", "q", waiting=1)
    prompt, other = late(Steady(single), single), late(Steady(single), single)
    prompt.detail = DIRECT

    assert round(prompt.waits_s(after_s=500.0, changes=0), 3) == STEP_S
    assert other.waits_s(after_s=500.0, changes=0) >= PACE.least_s - 0.001


def test_single_pods_leave_half_of_the_time_to_others() -> None:
    single = Members("late", "q", waiting=1)
    prompt = late(Steady(single), single)
    prompt.detail, prompt.took_s = DIRECT, 0.03

    waited_s = prompt.waits_s(after_s=0.0, changes=1)

    left_s = (SHARE - 1) * 0.03
    assert left_s <= round(waited_s, 3) <= left_s + STEP_S


def test_pods_of_a_gang_wait_for_each_other_after_a_direct_plan_too() -> None:
    gang = Members("late", "q", waiting=2, minimum=2)
    prompt = late(Steady(gang), gang)
    prompt.detail = DIRECT

    waited_s = prompt.waits_s(after_s=500.0, changes=0)

    assert PACE.least_s <= round(waited_s, 3) <= PACE.least_s + PACE.quiet_s
