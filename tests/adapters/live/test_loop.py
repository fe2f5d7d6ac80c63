"""Cycles on a fake cluster, from the change to what is done about it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from apportion.adapters.live import loop as loops
from apportion.adapters.live.access import RefusedError
from apportion.adapters.live.binder import TRIES
from apportion.adapters.live.loop import Cycle, Loop, Means
from apportion.adapters.live.pace import Pace
from apportion.adapters.live.planning import DIRECT, SOLVER_START_S, Solving
from apportion.models import Config, GroupKey, Plan, PodState, Snapshot
from apportion.solver.process import Reply, SolverProcess
from fakes.cluster import FakeCluster, Script
from oracle.build import Members, node, queue, snapshot

from .worlds import GREEDY, changed, failing, planned

NODES = (node("n1", 2), node("n2", 2))
PATIENCE_S = 60
"""What takes a moment takes so long at most on a machine that is busy with other things."""


class Stage:
    """A loop on a fake cluster; ``until`` runs it until something holds."""

    def __init__(
        self,
        world: Snapshot,
        script: Script | None = None,
        planner: Callable[[Snapshot], Plan] | None = planned,
        config: Config = GREEDY,
        **more: Any,
    ) -> None:
        self.cluster = FakeCluster(world, script)
        self.cycles: list[Cycle] = []
        self.leads = True
        given = None if planner is None else lambda s, c, p: planner(s)
        means = Means(sleep=self._sleep, planner=given)
        self.loop = Loop(
            self.cluster, self.cluster, self.cluster, lambda: config, leads=lambda: self.leads,
            pace=Pace(quiet_s=0.001, failed_s=0.001), means=means, listeners=(self._note,), **more,
        )  # fmt: skip

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.001))

    async def _note(self, cycle: Cycle) -> None:
        self.cycles.append(cycle)

    def until(self, holds: Callable[[], bool], do: Callable[[], None] | None = None) -> None:
        async def go() -> None:
            stop = asyncio.Event()
            task = asyncio.create_task(self.loop.run(stop))
            if do is not None:
                while not self.cycles:
                    await asyncio.sleep(0.001)
                do()
            while not holds():
                if task.done():
                    await task
                await asyncio.sleep(0.001)
            stop.set()
            await task

        asyncio.run(asyncio.wait_for(go(), PATIENCE_S))


def test_what_waits_is_bound_and_then_there_is_peace() -> None:
    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=4, minimum=4)))

    stage.until(lambda: len(stage.cluster.places) == 4 and len(stage.cycles) >= 2)

    assert len(stage.cycles) == 2
    assert not stage.cycles[1].plan.binds


@pytest.mark.parametrize(
    ("waiting", "want_plans"),
    [(4, [4]), (5, [4, 0])],
    ids=["where nothing waits", "where something does"],
)
def test_binds_that_the_cluster_tells_of_are_planned_anew_only(
    waiting: int, want_plans: list[int]
) -> None:
    made: list[int] = []

    def planner(world: Snapshot) -> Plan:
        plan = planned(world)
        made.append(len(plan.binds))
        return plan

    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=waiting)), None, planner)

    stage.until(lambda: len(stage.cycles) >= 2 and stage.loop.rests)

    assert made == want_plans
    again = stage.cycles[-1]
    assert again.is_news == (len(want_plans) > 1)
    assert sum(p.state is PodState.RUNNING for p in again.snapshot.pods) == 4
    assert not again.plan.binds
    assert not again.carried.bound


def test_beside_a_gang_that_waits_a_pod_is_bound_directly_and_its_bind_only_confirmed() -> None:
    gang, single = Members("g", "q", waiting=5, minimum=5), Members("s", "q", waiting=1)
    world = snapshot(*NODES, queue("q"), gang, single)
    stage = Stage(world, planner=None, config=replace(GREEDY, polish_ms=1000))
    late = stage.cluster.pod("x/s0")
    stage.cluster.delete("x/s0")

    stage.until(
        lambda: len(stage.cycles) >= 3 and stage.loop.rests, lambda: stage.cluster.put(late)
    )

    assert [c.plan.solver.detail == DIRECT for c in stage.cycles] == [False, True, True]
    assert [c.is_news for c in stage.cycles] == [True, True, False]
    assert [[h.group for h in c.plan.held] for c in stage.cycles] == [["x/g"]] * 3
    assert dict(stage.cluster.places) == {"x/s0": stage.cycles[1].plan.binds[0].node}


def test_a_pod_that_comes_after_a_plan_was_confirmed_is_planned() -> None:
    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)))
    later = snapshot(*NODES, queue("q"), Members("g", "q", waiting=2)).pods[1]

    def told_then_bound() -> bool:
        if len(stage.cycles) == 2 and "x/g1" not in stage.cluster.places and stage.loop.rests:
            assert not stage.cycles[1].is_news
            stage.cluster.put(later)
        return "x/g1" in stage.cluster.places and len(stage.cycles) >= 3

    stage.until(told_then_bound)

    assert stage.cycles[2].is_news
    assert [b.pod for b in stage.cycles[2].plan.binds] == ["x/g1"]


def test_a_loop_with_nothing_to_do_rests_and_shows_a_beat_when_it_is_woken() -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=1))
    later = snapshot(*NODES, queue("q"), Members("g", "q", waiting=2)).pods[1]
    stage = Stage(world)
    beats: list[float] = []

    def rests_again() -> bool:
        if stage.loop.rests and not beats:
            beats.append(stage.loop.beat_s)
            stage.cluster.put(later)
        return "x/g1" in stage.cluster.places and stage.loop.rests

    stage.until(rests_again)

    assert not stage.loop.rests, "the loop has ended"
    assert stage.loop.beat_s > beats[0]


def test_a_pod_that_comes_wakes_the_loop() -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=1))
    later = snapshot(*NODES, queue("q"), Members("g", "q", waiting=2)).pods[1]
    stage = Stage(world)

    stage.until(lambda: "x/g1" in stage.cluster.places, do=lambda: stage.cluster.put(later))

    assert len(stage.cluster.places) == 2


def test_victims_leave_and_their_places_are_taken() -> None:
    victims = Members("v", "q", on=["n1", "n1", "n2", "n2"])
    stage = Stage(
        snapshot(*NODES, queue("q"), victims, Members("g", "q", waiting=2, minimum=2, priority=9))
    )

    def go() -> None:
        for key in stage.cycles[0].carried.evicted:
            stage.cluster.delete(key)

    stage.until(lambda: {"x/g0", "x/g1"} <= stage.cluster.places.keys(), do=go)

    assert stage.cluster.asked("evict") == stage.cluster.asked("try")
    assert len(stage.cluster.asked("evict")) == 2


def test_a_dry_run_plans_and_writes_nothing() -> None:
    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)), dry_run=True)

    stage.until(lambda: bool(stage.cycles))

    assert stage.cycles[0].plan.binds
    assert not stage.cluster.requests


def test_who_does_not_lead_does_nothing_and_begins_when_it_leads() -> None:
    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)))
    stage.leads = False

    async def go() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(stage.loop.run(stop))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not stage.cycles
        stage.leads = True
        while not stage.cluster.places:
            await asyncio.sleep(0.001)
        stop.set()
        await task

    asyncio.run(asyncio.wait_for(go(), PATIENCE_S))


def test_a_group_that_was_refused_waits_and_keeps_no_other_waiting() -> None:
    forbidden = failing("bind", lambda: RefusedError(403, "Forbidden", "by policy"), "x/a0")
    both = Members("a", "q", waiting=1), Members("b", "q", waiting=1, pod={"gates": ("g",)})
    stage = Stage(snapshot(node("n1", 9), queue("q"), *both), forbidden)
    stage.cluster.put(replace(stage.cluster.pod("x/b0"), state=PodState.GATED))
    stage.loop.backoff.first_s = 2 * PATIENCE_S

    stage.until(
        lambda: len(stage.cycles) >= 2 and "x/b0" in stage.cluster.places,
        do=lambda: changed(stage.cluster, "x/b0", state=PodState.PENDING, gates=()),
    )

    [reason] = [r for h in stage.cycles[1].plan.held if h.group == "x/a" for r in h.reasons]
    assert "waits before it is tried again: binding pod x/a0 to node n1: 403" in reason.message
    assert stage.cluster.asked("bind") == ["x/a0", "x/b0"]


def test_a_wait_that_ends_while_a_plan_is_made_is_not_forgotten() -> None:
    once = failing("bind", lambda: RefusedError(409, "AlreadyBound"), "x/g0", times=TRIES)

    def slow(seen: Snapshot) -> Plan:
        # The first plan is refused; the second is made while the group waits, until that is over.
        if len(stage.cycles) == 1:
            threading.Event().wait(0.05)
        return planned(seen)

    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)), once, slow)
    stage.loop.backoff.first_s = 0.02

    def wake() -> None:
        stage.cluster.put(replace(stage.cluster.pod("x/g0"), labels={"x": "y"}))

    stage.until(lambda: "x/g0" in stage.cluster.places, do=wake)

    assert len(stage.cycles) >= 2


def test_a_planner_that_fails_is_tried_again() -> None:
    fails = iter([True, False])

    def planner(world: Snapshot) -> Plan:
        if next(fails, False):
            raise RuntimeError("a bug")
        return planned(world)

    failures: list[str] = []
    stage = Stage(
        snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)), planner=planner,
        on_failure=lambda: failures.append("one"),
    )  # fmt: skip

    stage.until(lambda: "x/g0" in stage.cluster.places)

    assert failures == ["one"]


class Ended(SolverProcess):
    """A process that is ended as often as it is asked."""

    made: ClassVar[list["Ended"]] = []

    def __init__(self, memory_mib: int) -> None:
        super().__init__(memory_mib)
        self.is_there = False
        self.made.append(self)

    def start(self) -> None:
        self.is_there = True

    def kill(self) -> None:
        self.is_there = False

    def wait(self, limit_s: float | None = None) -> bool:
        return True

    def solve(self, *asked: Any, **more: Any) -> Reply:
        self.kill()
        return Reply("KILLED", detail="was killed past its limit")


def test_a_solver_that_overran_its_time_is_started_again_without_waiting_for_the_next_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "SolverProcess", Ended)
    cluster = FakeCluster(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)))
    loop = Loop(cluster, cluster, cluster, lambda: Config(budget_ms=60_000))

    cycle = asyncio.run(loop.cycle())

    assert cycle.plan.solver.detail == "was killed past its limit"
    assert Ended.made[-1].is_there


def test_the_solver_can_be_started_before_the_first_cycle_and_ended_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "SolverProcess", Ended)
    cluster = FakeCluster(snapshot(*NODES, queue("q")))
    loop = Loop(cluster, cluster, cluster, lambda: Config(budget_ms=60_000))
    before = len(Ended.made)

    loop.start_solver()
    loop.start_solver()
    was_there = [one.is_there for one in Ended.made[before:]]
    loop.end_solver()

    assert was_there == [True]
    assert not Ended.made[-1].is_there


def test_a_gang_that_lost_a_member_counts_as_broken_since_it_was_seen_so() -> None:
    owned = {"owner": "Job/g"}
    world = snapshot(
        node("n1", 4), queue("q"), Members("g", "q", on=["n1", "n1"], minimum=3, pod=owned)
    )
    stage = Stage(world)

    stage.until(lambda: bool(stage.cycles))

    group = stage.cycles[0].snapshot.groups[0]
    assert group.broken_since_s == world.taken_at_s
    assert not stage.cluster.asked("evict")


def test_a_broken_gang_with_a_pod_that_nobody_would_bring_back_is_never_given_up() -> None:
    world = snapshot(
        node("n1", 4), queue("q"),
        Members("g", "q", on=["n1", "n1"], minimum=3, broken_since_s=1),
    )  # fmt: skip
    stage = Stage(world)

    stage.until(lambda: bool(stage.cycles))

    assert not stage.cycles[0].plan.evictions
    assert not stage.cluster.asked("try")


def test_a_stale_plan_is_made_again_at_once() -> None:
    heard, loops = threading.Event(), list[asyncio.AbstractEventLoop]()

    def change() -> None:
        changed(stage.cluster, "x/g0", labels={"app": "other"})
        heard.set()

    def planner(world: Snapshot) -> Plan:
        if not heard.is_set():
            loops[0].call_soon_threadsafe(change)
            heard.wait(PATIENCE_S)
        return planned(world)

    stage = Stage(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)), planner=planner)

    def holds() -> bool:
        loops.append(asyncio.get_running_loop())
        return "x/g0" in stage.cluster.places

    stage.until(holds)

    assert stage.cycles[0].carried.stale == {"x/g": "pod x/g0 has changed"}
    assert stage.cluster.pod("x/g0").state is PodState.RUNNING


def test_settings_are_asked_for_in_every_cycle() -> None:
    seen: list[Config] = []
    cluster = FakeCluster(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)))

    def planner(world: Snapshot, config: Config, process: object) -> Plan:
        seen.append(config)
        return planned(world)

    configs = iter([Config(seed=1), Config(seed=2)])
    loop = Loop(cluster, cluster, cluster, lambda: next(configs), means=Means(planner=planner))

    async def go() -> None:
        await loop.cycle()
        await loop.cycle()

    asyncio.run(go())

    assert [c.seed for c in seen] == [1, 2]


def test_a_gang_that_does_not_get_ready_is_let_go_and_waits() -> None:
    late = {"owner": "Job/g", "ready": False}
    world = snapshot(
        node("n1", 4), queue("q"), Members("g", "q", on=["n1", "n1"], minimum=2, pod=late)
    )
    config = Config(engine="greedy", ready_within_s=40, unready="release")
    stage = Stage(world, config=config)

    stage.until(lambda: bool(stage.cycles))

    assert stage.cluster.asked("evict") == ["x/g0", "x/g1"]
    assert "0 of 2 members are ready" in stage.loop.backoff.held(stage.loop.beat_s)[GroupKey("x/g")]


def test_while_changes_go_on_a_cycle_waits_half_as_long_as_the_last_one_took() -> None:
    """The clock moves by what is slept; something changes at every look at it."""
    cluster = FakeCluster(snapshot(*NODES, queue("q"), Members("g", "q", waiting=1)))
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        cluster.hear()

    def planner(world: Snapshot, config: Config, process: object) -> Plan:
        now[0] += 0.3
        return planned(world)

    means = Means(now_s=lambda: now[0], sleep=sleep, planner=planner)
    loop = Loop(cluster, cluster, cluster, lambda: GREEDY, means=means)
    stop = asyncio.Event()

    async def waited() -> float:
        before = now[0]
        await loop._wait(stop)
        return now[0] - before

    async def go() -> list[float]:
        first = await waited()
        await loop.cycle()
        return [first, await waited()]

    first, second = asyncio.run(go())

    assert 0.05 <= first <= 0.15
    assert 0.12 <= second <= 0.2


class Starting(SolverProcess):
    """A process that is not ready, however long one waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s: list[float | None] = []

    def start(self) -> None:
        raise AssertionError("nobody needs it")

    def wait(self, limit_s: float | None = None) -> bool:
        self.waited_s.append(limit_s)
        return False


def test_plans_are_greedy_while_the_solver_starts_and_only_the_first_waits_for_it() -> None:
    world = snapshot(*NODES, queue("q"), Members("g", "q", waiting=3))
    solving, process, config = Solving(), Starting(), Config(budget_ms=1000)

    made = [solving(world, config, process) for _ in range(2)]

    assert [len(m.binds) for m in made] == [3, 3]
    assert {(m.solver.engine, m.solver.status, m.config) for m in made} == {
        ("greedy", "fallback", config.digest)
    }
    assert made[0].solver.detail == "the solver process is starting"
    assert process.waited_s == [SOLVER_START_S, 0.0]
