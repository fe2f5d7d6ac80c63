"""Carrying a plan out: evictions, promises, binds, in this order, and what became of each.

Nothing here decides anything: what the cluster no longer agrees with is left out, and the next
cycle decides again. Each step is safe to be the last one, since the process may end after any:
victims leave for a promise that is written down, a gang that is bound in part is completed or
given up by whoever plans next.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...models import Allocation, Eviction, GroupKey, NodeName, Plan, Pod, PodKey, Snapshot
from ...models.advance import devices_of, draws_of
from .access import Api, LostError, RefusedError
from .assumed import Assumed, Bound
from .backoff import Backoff
from .binder import BoundGroup, End, Sleep, ToBind, bind_group
from .evictor import Evicted, evict, victim_sets
from .guarded import DeposedError, Guarded
from .prepare import NotReadyError, Step
from .recheck import changed_victims, stale_groups
from .write import MERGE_PATCH


@dataclass(slots=True)
class Carried:
    """What became of a plan."""

    bound: list[PodKey] = field(default_factory=list)
    evicted: list[PodKey] = field(default_factory=list)
    refused: dict[GroupKey, str] = field(default_factory=dict)
    """Groups that did not get what the plan gave them, each with the reason."""
    preparing: list[GroupKey] = field(default_factory=list)
    """Groups that are bound once what they need is done; what became of them is seen later."""
    stale: dict[GroupKey, str] = field(default_factory=dict)
    """Groups that were left out, since the cluster has changed under the plan."""


class Carrier:
    """Applies plans to one cluster.

    Parameters
    ----------
    api
        The server.
    assumed, backoff
        Where it is noted what was done, and who was refused.
    version_of
        Resource version of a pod as it was last seen; empty where it is not known.
    may_write
        Asked before every request: whether this replica still leads.
    now_s
        A clock that never goes back.
    steps
        What some pods need before they can be bound, in this order.
    """

    def __init__(
        self,
        api: Api,
        assumed: Assumed,
        backoff: Backoff,
        version_of: Callable[[PodKey], str],
        may_write: Callable[[], bool],
        now_s: Callable[[], float],
        sleep: Sleep = asyncio.sleep,
        steps: Sequence[Step] = (),
    ) -> None:
        self._api = Guarded(api, may_write)
        self._assumed = assumed
        self._backoff = backoff
        self._version_of = version_of
        self._may_write = may_write
        self._now_s = now_s
        self._sleep = sleep
        self._steps = tuple(steps)
        self._waiting: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        """Set whenever a group that was prepared is bound, or was given up."""

    async def carry_out(self, plan: Plan, seen: Snapshot, look: Callable[[], Snapshot]) -> Carried:
        """Apply a plan that was made for ``seen`` to the cluster as ``look`` finds it.

        It is looked at before anybody is evicted, and again before anybody is bound.

        Raises
        ------
        DeposedError
            When this replica leads no longer; what was sent by then stays noted.
        """
        done = Carried()
        now = look()
        spared = await self._evict(plan, seen, now, done)
        if await self._promise(plan, seen, spared) or done.evicted:
            now = look()
        await self._bind(plan, seen, now, done)
        return done

    async def let_go(self, victims: Sequence[Eviction], seen: Snapshot) -> list[PodKey]:
        """Evict these pods together, for nobody; return those that leave.

        Raises
        ------
        DeposedError
            When this replica leads no longer.
        """
        evicted = await evict(self._api, [victims], seen)
        self._assumed.leaving.update(evicted.pods)
        return list(evicted.pods)

    async def _evict(
        self, plan: Plan, seen: Snapshot, now: Snapshot, done: Carried
    ) -> set[GroupKey]:
        if not plan.evictions:
            return set()
        changed = changed_victims(plan, seen, now)
        sets = victim_sets(e for e in plan.evictions if e.pod not in changed)
        # A pod that is only assumed to be bound would be deleted: its set waits for it.
        bound = self._assumed.bound
        sets = [s for s in sets if not any(e.pod in bound for e in s)]
        evicted: Evicted = await evict(self._api, sets, seen)
        self._assumed.leaving.update(evicted.pods)
        done.evicted += evicted.pods
        for no in evicted.refusals:
            for g in no.beneficiaries:
                self._refuse(g, no.why, no.retry_after_s, done)
        return evicted.spared

    async def _promise(self, plan: Plan, seen: Snapshot, spared: set[GroupKey]) -> bool:
        """Write the places that pods wait for into the pods; say whether there were any changes."""
        wanted: dict[PodKey, NodeName | None] = {
            n.pod: n.node for n in plan.nominations if n.group not in spared
        }
        starts = {b.pod for b in plan.binds}
        for key, _ in seen.nominations:
            if key not in wanted and key not in starts:
                wanted[key] = None
        changes = [
            (pod, node)
            for key, node in wanted.items()
            if (pod := seen.pods_by_key[key]).nominated != node
        ]
        if changes:
            await asyncio.gather(*(self._nominate(pod, node) for pod, node in changes))
        return bool(changes)

    async def _nominate(self, pod: Pod, node: NodeName | None) -> None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        body = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}
        try:
            await self._api.send("PATCH", path, body, content_type=MERGE_PATCH)
        except (RefusedError, LostError):
            return  # a promise that was not written down is made again by the next cycle
        self._assumed.promised[pod.key] = (pod.uid, node)

    async def _bind(self, plan: Plan, seen: Snapshot, now: Snapshot, done: Carried) -> None:
        if not plan.binds:
            return
        done.stale = stale_groups(plan, seen, now)
        devices, (claimed, shared) = plan.devices, _claimed(plan, seen)
        groups: dict[GroupKey, list[ToBind]] = defaultdict(list)
        for b in plan.binds:
            if b.group in done.stale:
                continue
            pod = seen.pods_by_key[b.pod]
            host = seen.nodes_by_name.get(b.node)
            groups[b.group].append(ToBind(pod, b.node, self._version_of(b.pod), host))
            self._assumed.bound[b.pod] = Bound(
                pod.uid, b.node, devices.get(b.pod, ()), *claimed.get(b.pod, ((), {})),
                tuple((c.claim, *shared[c.claim]) for c in pod.spec.claims if c.claim in shared),
            )  # fmt: skip
        now_at_once = []
        for group, pods in groups.items():
            steps = [s for s in self._steps if s.concerns(pods, plan)]
            if steps:
                done.preparing.append(group)
                task = asyncio.create_task(self._bind_prepared(group, pods, plan, steps))
                self._waiting.add(task)
                task.add_done_callback(self._waiting.discard)
            else:
                now_at_once.append(self._bind_one(group, pods, done))
        await asyncio.gather(*now_at_once)

    async def _bind_prepared(
        self, group: GroupKey, pods: Sequence[ToBind], plan: Plan, steps: Sequence[Step]
    ) -> None:
        """Bind a group once its steps are done; what became of it is seen by the watches."""
        done, begun = Carried(), list[Step]()
        try:
            for step in steps:
                self._check()
                begun.append(step)
                await step.prepare(group, pods, plan)
            # Preparing may have changed the pods: the version that the plan saw is no more.
            await self._bind_one(group, [ToBind(b.pod, b.node) for b in pods], done)
        except NotReadyError as e:
            self._refuse(group, str(e), e.wait_s, done)
            await self._undo(group, pods, begun)
        except DeposedError:
            self._unassume(pods)  # whoever leads now decides
        else:
            assumed = self._assumed.bound
            failed = [b for b in pods if b.pod.key not in done.bound and b.pod.key not in assumed]
            await self._undo(group, failed, begun)
        finally:
            self.ended.set()

    async def _undo(self, group: GroupKey, pods: Sequence[ToBind], begun: Sequence[Step]) -> None:
        if pods and self._may_write():
            for step in reversed(begun):
                await step.undo(group, pods)
        self._unassume(pods)

    def _unassume(self, pods: Sequence[ToBind]) -> None:
        for b in pods:
            self._assumed.bound.pop(b.pod.key, None)

    async def _bind_one(self, group: GroupKey, pods: Sequence[ToBind], done: Carried) -> None:
        try:
            result = await bind_group(self._api, pods, self._sleep)
        except DeposedError:
            self._unassume(pods)  # the watches tell which of them were bound
            raise
        for key, end in result.ends.items():
            if end is End.BOUND:
                done.bound.append(key)
            elif end is not End.UNSURE:
                self._assumed.bound.pop(key, None)
        if result.is_whole:
            self._backoff.accepted(group)
        else:
            self._refuse(group, _told(result), result.retry_after_s, done)

    def _refuse(self, group: GroupKey, why: str, wait_s: float, done: Carried) -> None:
        done.refused[group] = why
        self._backoff.refused(group, why, self._now_s(), wait_s)

    def _check(self) -> None:
        if not self._may_write():
            raise DeposedError


def _told(result: BoundGroup) -> str:
    ends: Mapping[End, int] = {
        e: n for e in End if (n := sum(x is e for x in result.ends.values()))
    }
    counts = ", ".join(f"{n} {e}" for e, n in ends.items())
    return f"{result.why} ({counts} of {len(result.ends)} members)"


_Given = tuple[tuple[str, ...], Mapping[str, int]]
"""Devices, and what is taken of the capacity of those that may be allocated several times."""


def _claimed(plan: Plan, seen: Snapshot) -> tuple[dict[PodKey, _Given], dict[str, _Given]]:
    """Return what pods get by claims of their own, and what shared claims get."""
    own: dict[PodKey, list[Allocation]] = defaultdict(list)
    shared: dict[str, list[Allocation]] = defaultdict(list)
    for a in plan.allocations:
        claims = seen.pods_by_key[a.pod].spec.claims
        named = next((c.claim for c in claims if c.name == a.claim and c.claim), "")
        if named:
            shared[named] = [a]
        else:
            own[a.pod].append(a)
    return {k: _given(of) for k, of in own.items()}, {k: _given(of) for k, of in shared.items()}


def _given(allocations: Sequence[Allocation]) -> _Given:
    return devices_of(allocations), draws_of(allocations)
