"""What people see of a cycle is written in the background: no bind waits for a condition.

Of cycles that come faster than their words can be written, only the last is told of; what has
happened in the others is told all the same.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...models import Bind, GroupKey, PodKey
from ..kubernetes.body_pod import PodBody, PodStatusBody
from ..kubernetes.meta import Thing
from .access import Api, LostError, RefusedError, write
from .discovery import Resource
from .events import BURST, PER_S, Event, Teller, bound_events, evicted_events, unready_events
from .group_records import status_writes
from .group_status import group_statuses
from .logs import event
from .loop import Cycle
from .pod_conditions import MOST, PodConditions
from .queue_status import default_queue, queue_statuses, queue_writes
from .token_bucket import TokenBucket
from .verdicts import Verdict, verdicts_of
from .write import LOST, REFUSED, WRITTEN, Write

GROUP = ("scheduling.volcano.sh", "PodGroup")
QUEUE = ("scheduling.volcano.sh", "Queue")
POD = ("", "Pod")
AT_ONCE = 16
"""Requests in flight; binds have the rest of what the server takes."""
RETRY_S = 1.0
"""After the server was busy or did not answer, what it did not take is sent again."""
COMPLAIN_S = 60.0
"""What is refused is logged this often at most."""
MOST_EVENTS = 1000
"""Of what has happened and is not told yet; of more, the oldest are dropped."""
_NOT_FOUND = 404
Kind = tuple[str, str]


class Read(Protocol):
    """An object as it was read."""

    @property
    def thing(self) -> Thing: ...


class World(Protocol):
    """The objects of the cluster; the mirror has them."""

    def names(self, kind: Kind) -> Iterable[tuple[str, str]]: ...

    def entries(self, kind: Kind) -> Iterable[Read]: ...

    def entry(self, kind: Kind, namespace: str, name: str) -> Read | None: ...


class Adviser(Protocol):
    """Whoever knows what would start groups that wait."""

    def over(
        self, cycle: Cycle, verdicts: Mapping[GroupKey, Verdict]
    ) -> Mapping[GroupKey, Verdict]:
        """Take a cycle, and return its verdicts with what is known."""
        ...


@dataclass(slots=True)
class Means:
    """Time, which tests bring their own of."""

    wall_s: Callable[[], float] = time.time
    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(slots=True)
class Counts:
    """What has come of the requests."""

    written: int = 0
    failed: int = 0
    last_failure: str = ""


@dataclass(frozen=True, slots=True)
class _Work:
    """The requests of a cycle, in their order: what others wait for comes first."""

    statuses: list[Write]
    conditions: list[tuple[PodKey, Write]]
    events: list[Write] = field(default_factory=list)


class Publisher:
    """Writes statuses, conditions and events of cycles; ``run`` does so until cancelled.

    Parameters
    ----------
    resources
        What is installed, by API group and kind: of what is not, nothing is written.
    scheduler, instance
        In whose name events are told: the scheduler, and which replica.
    may_write
        Whether this replica still leads.
    sent
        Told of each request: the kind of object that it is about, and which of ``RESULTS`` came of
        it. One about what is gone in the meantime is not told.
    """

    def __init__(
        self,
        api: Api,
        world: World,
        resources: Mapping[Kind, Resource],
        scheduler: str,
        instance: str,
        may_write: Callable[[], bool] = lambda: True,
        means: Means | None = None,
        sent: Callable[[str, str], None] = lambda kind, result: None,
    ) -> None:
        self._api = api
        self._world = world
        self._resources = resources
        self._may_write = may_write
        self._means = means or Means()
        self._sent = sent
        self._conditions = PodConditions()
        self.teller = Teller(scheduler, instance, TokenBucket(PER_S, BURST, self._means.now_s))
        self.counts = Counts()
        self._happened: list[Event] = []
        self._late: dict[PodKey, Bind] = {}
        """Binds that wait for volumes and the like."""
        self.adviser: Adviser | None = None
        """Who knows what would start groups; None: nobody does."""
        self._last: Cycle | None = None
        self._told: Cycle | None = None
        """The cycle that was told of last."""
        self._advised = False
        """Whether more is known of it since."""
        self._news = asyncio.Event()
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._again = False
        """Whether something of the cycle may be taken if it is sent again."""
        self._complaints = TokenBucket(1 / COMPLAIN_S, 1, self._means.now_s)

    def note(self, cycle: Cycle) -> None:
        """Take a cycle to tell of."""
        done, plan = cycle.carried, cycle.plan
        bound, preparing = frozenset(done.bound), frozenset(done.preparing)
        now = [b for b in plan.binds if b.pod in bound]
        self._happened += bound_events([*now, *self._late_binds()])
        self._late |= {b.pod: b for b in plan.binds if b.group in preparing}
        self._happened += evicted_events(plan.evictions, frozenset(done.evicted))
        self._happened += unready_events(cycle.unready)
        del self._happened[:-MOST_EVENTS]
        self._last = cycle
        self._news.set()

    def tell_again(self) -> None:
        """Tell who waits in the last cycle what has become known since."""
        self._advised = True
        self._news.set()

    def _late_binds(self) -> list[Bind]:
        """Return the binds that were made since; what became of others is not waited for."""
        out: list[Bind] = []
        for key, bind in list(self._late.items()):
            body = self._body(key)
            node = body.spec.node_name if body is not None and body.spec is not None else ""
            if body is None or node:
                del self._late[key]
            if node == bind.node:
                out.append(bind)
        return out

    async def run(self) -> None:
        """Tell of one cycle after the other."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.once()

    async def once(self) -> None:
        """Tell of the last cycle, if there is one that was not told of."""
        cycle, self._last = self._last, None
        again, self._advised = cycle is None and self._advised, False
        cycle = self._told if again else cycle
        if cycle is None or not self._may_write():
            return
        self._told = cycle
        work = self._work(cycle, again)
        self._again = False
        await self._all(work.statuses)
        arrived = await asyncio.gather(*(self._send_to(p, w) for p, w in work.conditions))
        for (pod, _), there in zip(work.conditions, arrived, strict=True):
            if not there:
                self._conditions.forget(pod)
        await self._all(work.events)
        if self._again:
            await self._means.sleep(RETRY_S)
        if (self._again or len(work.conditions) >= MOST) and self._last is None:
            self._last = cycle  # the rest of its words
            self._news.set()

    def _work(self, cycle: Cycle, again: bool) -> _Work:
        """Return what to send; of a cycle that was told of before no statuses, which are older."""
        snapshot, plan = cycle.snapshot, cycle.plan
        verdicts: Mapping[GroupKey, Verdict] = verdicts_of(plan, snapshot)
        if self.adviser is not None:
            verdicts = self.adviser.over(cycle, verdicts)
        groups = [e.thing for e in self._world.entries(GROUP)]
        writes = [] if again else self._statuses(cycle, groups, verdicts)
        conditions = self._conditions.due(verdicts.values(), snapshot, self._reason_of)
        happened, self._happened = self._happened, []
        ours = snapshot.groups_by_key
        by_key = {t.key: t for t in groups if GroupKey(t.key) in ours}
        events = self.teller.told(verdicts, happened, snapshot, by_key, self._means.wall_s())
        return _Work(writes, conditions, events)

    def _statuses(
        self, cycle: Cycle, groups: Sequence[Thing], verdicts: Mapping[GroupKey, Verdict]
    ) -> list[Write]:
        """Return what makes the statuses of groups and queues so, as far as they are not."""
        bound = frozenset(cycle.carried.bound)
        statuses = group_statuses(groups, cycle.snapshot, cycle.plan, verdicts, bound)
        writes: list[Write] = []
        if (at := self._resources.get(GROUP)) is not None:
            writes += status_writes(groups, statuses, at)
        if (at := self._resources.get(QUEUE)) is not None:
            queues = [e.thing for e in self._world.entries(QUEUE)]
            missing = default_queue({name for _, name in self._world.names(QUEUE)}, at)
            writes += [] if missing is None else [missing]
            told = queue_statuses(queues, groups, statuses, cycle.plan)
            writes += queue_writes(queues, told, at)
        return writes

    def _body(self, key: PodKey) -> PodBody | None:
        """Return the pod as it was read."""
        namespace, _, name = key.partition("/")
        entry = self._world.entry(POD, namespace, name)
        return None if entry is None else entry.thing.body

    def _reason_of(self, key: PodKey) -> str | None:
        body = self._body(key)
        status = (body.status if body is not None else None) or PodStatusBody()
        for c in status.conditions or ():
            if c.type == "PodScheduled" and c.status == "False":
                return c.reason or ""
        return None

    async def _send_to(self, pod: PodKey, one: Write) -> bool:
        """Send a pod why it waits, unless it has got a node meanwhile."""
        body = self._body(pod)
        if body is not None and body.spec is not None and body.spec.node_name:
            return True
        return await self._send(one)

    async def _all(self, writes: Iterable[Write]) -> None:
        await asyncio.gather(*(self._send(w) for w in writes))

    async def _send(self, one: Write) -> bool:
        """Send a request; say whether there is no more to be done about it."""
        async with self._gate:
            if not self._may_write():
                return False
            try:
                await write(self._api, one)
            except RefusedError as e:
                if e.status == _NOT_FOUND:
                    return True  # gone in the meantime: nobody is there to be told
                self._again = self._again or e.is_for_now
                self._failed(one, e, REFUSED)
                return False
            except LostError as e:
                self._again = True
                self._failed(one, e, LOST)
                return False
        self.counts.written += 1
        self._sent(one.kind, WRITTEN)
        return True

    def _failed(self, one: Write, error: Exception, result: str) -> None:
        self._sent(one.kind, result)
        self.counts.failed += 1
        self.counts.last_failure = f"{one.about}: {error}"
        if self._complaints.take():
            event("not written", logging.WARNING, what=one.about, why=str(error))
