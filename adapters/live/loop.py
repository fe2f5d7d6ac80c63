"""The loop: when something has changed, look, plan, check again, and carry out; then wait.

Never two cycles at once. The plan is made in a thread of its own, with the solver in a child
process, so that the watches go on meanwhile.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace as with_fields

from ...models import Config, Plan, PodKey, Snapshot
from ...solver.process import SolverProcess
from .access import Api, LostError, RefusedError
from .assumed import Assumed, held_back, with_groups
from .at_once import STEP_S, AtOnce
from .backoff import Backoff
from .broken import BrokenGangs
from .carry import Carried, Carrier
from .confirmed import confirms
from .guarded import DeposedError
from .pace import Pace
from .planning import Planner, Solving, does_something, is_calm, rest_for
from .prepare import Step
from .unready import WAIT_S, Unready, UnreadyGangs
from .waits import first_of

log = logging.getLogger("apportion")
CLOSE_S = 1e-6
"""Times that differ by less are the same."""


class World(Protocol):
    """The cluster as it is known here; the mirror is one."""

    departed: int
    """How many pods have left their nodes so far."""
    arrived: int
    """How many have come without a node."""

    def snapshot(self, now_s: int) -> Snapshot: ...

    def version_of(self, key: PodKey) -> str: ...


@dataclass(frozen=True, slots=True)
class Cycle:
    """What one cycle saw, decided and did."""

    number: int
    snapshot: Snapshot
    config: Config
    plan: Plan
    carried: Carried
    seconds: Mapping[str, float]
    """By phase: snapshot, solve, recheck, apply."""
    changes: int
    """How many objects had changed since the cycle before."""
    unready: tuple[Unready, ...] = ()
    """Gangs that did not get ready in time."""
    is_news: bool = True
    """False: it is the cycle before, and the cluster has done what that has asked for since."""


Listener = Callable[[Cycle], Awaitable[None]]


@dataclass(slots=True)
class Means:
    """Time and the planner, which tests bring their own of; without one the solver plans."""

    wall_s: Callable[[], float] = time.time
    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    planner: Planner | None = None


class Changing(Protocol):
    """What tells of changes; the feed is one."""

    changed: asyncio.Event
    changes: int


class Loop:
    """Plans and carries out, cycle by cycle, while this replica leads."""

    def __init__(
        self,
        api: Api,
        world: World,
        news: Changing,
        config: Callable[[], Config],
        *,
        leads: Callable[[], bool] = lambda: True,
        dry_run: bool = False,
        pace: Pace | None = None,
        means: Means | None = None,
        listeners: tuple[Listener, ...] = (),
        on_failure: Callable[[], None] = lambda: None,
        steps: tuple[Step, ...] = (),
    ) -> None:
        self._world = world
        self._news = news
        self._config = config
        self._leads = leads
        self._dry_run = dry_run
        self._pace = pace or Pace()
        self._means = means or Means()
        self._planner = self._means.planner or Solving()
        self._listeners = listeners
        self._on_failure = on_failure
        self.assumed = Assumed()
        self.backoff = Backoff()
        self.broken = BrokenGangs()
        self.unready = UnreadyGangs()
        self._carrier = Carrier(
            api, self.assumed, self.backoff, world.version_of, leads, self._means.now_s,
            self._means.sleep, steps,
        )  # fmt: skip
        self.cycles = 0
        self.last: Cycle | None = None
        self._at_once = AtOnce(world, self._look, self._rest)
        self._looked_s = 0.0
        """When the cluster was looked at for the last plan."""
        self._departed = 0
        """How many pods had left their nodes by then."""
        self.beat_s = self._means.now_s()
        """When the loop last showed that it is alive."""
        self.rests = False
        """Whether there is nothing to do; then it shows nothing either."""
        self._solver: SolverProcess | None = None
        self._thread = ThreadPoolExecutor(1, "plan")
        self._seen_changes = -1
        self._changes_before = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Run cycles until told to stop; what a cycle has begun is carried to its end."""
        self.start_solver()
        try:
            while not stop.is_set():
                await self._wait(stop)
                if stop.is_set():
                    break
                if not self._leads():
                    self._forget()
                    await self._means.sleep(self._pace.failed_s)
                    continue
                await self._guarded()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self.end_solver()

    def start_solver(self) -> None:
        """Start the solver process, if there is none: it takes a second until it can be asked."""
        self._child(self._config())

    def end_solver(self) -> None:
        """End the solver process, if there is one."""
        if self._solver is not None:
            self._solver.kill()

    async def _guarded(self) -> None:
        """Run a cycle; a failure of any kind is logged, and followed by another cycle."""
        try:
            await self.cycle()
        except DeposedError:
            log.warning("not the leader any more: the plan is dropped")
            self._forget()
        except (LostError, RefusedError) as e:
            log.warning("the cycle ended early: %s", e)
            await self._after_failure()
        except Exception:
            log.exception("the cycle failed; this is a bug, please report it")
            await self._after_failure()

    async def _after_failure(self) -> None:
        self._on_failure()
        self._seen_changes = -1
        await self._means.sleep(self._pace.failed_s)

    async def cycle(self) -> Cycle:
        """Look, plan, check again, carry out, tell."""
        means, seconds = self._means, dict[str, float]()
        changes = self._news.changes
        self._news.changed.clear()
        self._carrier.ended.clear()
        self._departed = self._world.departed
        known = self._at_once.taken(changes)
        began, seen = known if known is not None else (means.now_s(), self._look())
        self._looked_s = began
        config = self._config()
        last = self.last
        if last is not None and self._has_only_confirmed(last, seen, config, changes):
            return await self._confirmed(last, seen, changes)
        seconds["snapshot"] = means.now_s() - began
        solving = means.now_s()
        made = await asyncio.get_running_loop().run_in_executor(
            self._thread, self._planner, seen, config, self._child(config)
        )
        seconds["solve"] = means.now_s() - solving
        self._child(config)  # one that overran its time was ended: the next plan need not wait
        self.cycles += 1
        carried = Carried()
        if not self._dry_run and does_something(made, seen):
            looked = 0.0

            def look() -> Snapshot:
                nonlocal looked
                at = means.now_s()
                now = self._look()
                looked += means.now_s() - at
                return now

            applying = means.now_s()
            carried = await self._carrier.carry_out(made, seen, look)
            seconds["recheck"] = looked
            seconds["apply"] = means.now_s() - applying - looked
        self._seen_changes = -1 if carried.stale else changes
        late = self.unready.due(seen, config)
        if not self._dry_run:
            await self._release(late, seen)
        before, self._changes_before = self._changes_before, changes
        done = Cycle(
            self.cycles, seen, config, made, carried, seconds, changes - before, tuple(late)
        )  # fmt: skip
        return await self._told(done)

    def _has_only_confirmed(
        self, last: Cycle, seen: Snapshot, config: Config, changes: int
    ) -> bool:
        """Say whether the cluster has only done what the last plan asked for, and nobody gains."""
        if config != last.config or config.ready_within_s:
            return False
        rests = is_calm(last.plan) or self._rest(seen) is not None
        if self._seen_changes in (-1, changes) or not rests:
            return False
        done = frozenset(last.carried.bound)
        places = {b.pod: b.node for b in last.plan.binds if b.pod in done}
        return len(places) == len(last.plan.binds) and confirms(last.snapshot, seen, places)

    async def _confirmed(self, last: Cycle, seen: Snapshot, changes: int) -> Cycle:
        """Go on from the cluster as it is now; there is nothing to plan."""
        self._seen_changes = changes
        news, self._changes_before = changes - self._changes_before, changes
        plan = with_fields(last.plan, binds=())
        return await self._told(
            Cycle(
                last.number, seen, last.config, plan, Carried(), last.seconds, news, is_news=False
            )
        )

    async def _told(self, done: Cycle) -> Cycle:
        self.last = done
        for tell in self._listeners:
            await tell(done)
        return done

    async def _release(self, late: Sequence[Unready], seen: Snapshot) -> None:
        """Evict the gangs that are to be let go, and let others come first for a while."""
        for one in late:
            if one.release:
                await self._carrier.let_go(one.release, seen)
                why = f"was let go, since {one.message}"
                self.backoff.refused(one.group, why, self._means.now_s(), WAIT_S)

    def _look(self) -> Snapshot:
        """Return the cluster with what is on its way, and who has to wait."""
        self.beat_s = self._means.now_s()
        seen = self.assumed.over(self._world.snapshot(int(self._means.wall_s())))
        changed = self.broken.in_snapshot(seen, self._means.now_s())
        if self.backoff:  # or nobody asks for the groups by key, which takes a while to make
            known = seen.groups_by_key
            self.backoff.keep(known.keys())
            for key, why in self.backoff.held(self._means.now_s()).items():
                changed[key] = held_back(
                    changed.get(key, known[key]), f"waits before it is tried again: {why}"
                )
        return with_groups(seen, changed) if changed else seen

    def _rest(self, seen: Snapshot) -> Snapshot | None:
        last = self.last.plan if self.last is not None else None
        return rest_for(self._planner, seen, self._config(), last)

    def _child(self, config: Config) -> SolverProcess | None:
        if config.engine == "greedy" or self._means.planner is not None:
            return None
        if self._solver is None:
            self._solver = SolverProcess(config.memory_limit_mib)
        self._solver.start()
        return self._solver

    def _forget(self) -> None:
        """Drop what was assumed: another replica may do otherwise, and the watches tell."""
        self.assumed.clear()
        self._at_once.forget()
        self._seen_changes = -1

    async def _wait(self, stop: asyncio.Event) -> None:
        """Wait until there is something to plan."""
        # What came during a cycle has waited since that cycle looked at the cluster.
        since_s = self._looked_s
        if self._news.changes == self._seen_changes:
            await self._until_woken(stop, self._idle_s(self._means.now_s()))
            since_s = self._means.now_s()
        # Pods of a gang come, and end, one by one: wait for a pause, but no longer than the period.
        left_s = came_s = self._means.now_s()
        is_prompt = AtOnce.may_be(self.last.plan if self.last is not None else None)
        step_s = STEP_S if is_prompt else self._pace.quiet_s
        while not stop.is_set():
            self.beat_s = self._means.now_s()
            last_s = (self._looked_s, self._took_s)
            if is_prompt and self._at_once.begins(self.beat_s, *last_s, self._news.changes):
                return
            count, departed = self._news.changes, self._world.departed
            rest_s = since_s + self._most_s() - self.beat_s
            await self._means.sleep(min(step_s, max(rest_s, 0.001)))
            now_s = self._means.now_s()
            if self._world.departed != departed:
                left_s = now_s
            if self._news.changes != count:
                came_s = now_s
            if self._makes_room():
                paused = now_s - left_s >= self._pace.leave_s
            else:
                paused = now_s - came_s > self._pace.quiet_s - CLOSE_S
            if paused or now_s - since_s >= self._most_s():
                return

    def _most_s(self) -> float:
        """Return how long a cycle may wait for a pause."""
        return self._pace.period_s if self._makes_room() else self._patience_s()

    def _makes_room(self) -> bool:
        """Say whether work waits, and pods have left their nodes since the last look."""
        last = self.last
        waits = last is not None and bool(last.plan.held or last.plan.nominations)
        return waits and self._world.departed != self._departed

    def _patience_s(self) -> float:
        """Return how long a cycle may wait for a pause, counted from the look of the one before."""
        return min(self._pace.period_s, max(self._pace.least_s, 1.5 * self._took_s))

    @property
    def _took_s(self) -> float:
        """How long the last plan took, from the look to its end."""
        return sum(self.last.seconds.values()) if self.last is not None else 0.0

    def _idle_s(self, now_s: float) -> float:
        last = self.last
        timed = self.broken.since or self._config().ready_within_s
        waits = last is None or last.plan.held or last.plan.nominations or timed
        wait_s = self._pace.retry_s if waits else self._pace.idle_s
        # Who was held back when the cluster was looked at may have waited long enough by now.
        retry_s = self.backoff.next_s(self._looked_s)
        ends_s = [wait_s, *self._graces_s(now_s - self._looked_s)]
        if retry_s is not None:
            ends_s.append(retry_s - now_s)
        return max(0.0, min(ends_s))

    def _graces_s(self, elapsed_s: float) -> Iterator[float]:
        """Give in how many seconds broken gangs are to be given up, if nothing completes them.

        It is so long since the cluster was looked at: grace that has ended since then counts. One
        whose grace was over before is given up at once, where the cluster has just refused to
        complete it: it waits before it is tried again, and does not go on being there in part.
        """
        now_s, grace_s = self._means.now_s(), self._config().grace_s
        refused = self.last.carried.refused if self.last else {}
        for group, since_s in self.broken.since.items():
            left_s = since_s + grace_s - now_s
            if left_s + elapsed_s > 0 or group in refused:
                yield left_s

    async def _until_woken(self, stop: asyncio.Event, timeout_s: float) -> None:
        woken = (stop, self._news.changed, self._carrier.ended)
        self.rests = True
        try:
            await first_of(*woken, timeout_s=timeout_s)
        finally:
            self.rests = False
            self.beat_s = self._means.now_s()
