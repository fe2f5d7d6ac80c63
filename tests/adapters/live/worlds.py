"""Plans and clusters for the tests of this folder."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from apportion.adapters.live.assumed import Assumed
from apportion.adapters.live.backoff import Backoff
from apportion.adapters.live.carry import Carried, Carrier
from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan
from fakes.cluster import FakeCluster, Request, Script

GREEDY = Config(engine="greedy", deterministic=True)


def planned(snapshot: Snapshot) -> Plan:
    return plan(snapshot, GREEDY)


class Bench:
    """A fake cluster, a plan for it, and what carries plans out there."""

    def __init__(self, world: Snapshot, script: Script | None = None) -> None:
        self.cluster = FakeCluster(world, script)
        self.assumed = Assumed()
        self.backoff = Backoff()
        self.leads = True
        self.now_s = 0.0
        self.slept: list[float] = []
        self.seen = self.cluster.snapshot(0)
        self.plan = planned(self.seen)
        self.carrier = Carrier(
            self.cluster, self.assumed, self.backoff, self.cluster.version_of,
            lambda: self.leads, lambda: self.now_s, self.sleep,
        )  # fmt: skip

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def carry(self) -> Carried:
        """Carry the plan out on the cluster as it is now."""
        return asyncio.run(self.carrier.carry_out(self.plan, self.seen, self.look))

    def look(self) -> Snapshot:
        return self.assumed.over(self.cluster.snapshot(0))


def failing(verb: str, error: Callable[[], Exception], *pods: str, times: int = 1000) -> Script:
    """Return a script that answers requests of a kind about these pods with an error."""
    left = dict.fromkeys(pods, times)

    def script(request: Request) -> Exception | None:
        if request.verb != verb or left.get(request.pod, 0) <= 0:
            return None
        left[request.pod] -= 1
        return error()

    return script


def changed(cluster: FakeCluster, key: str, **fields: Any) -> None:
    """Give a pod of the cluster other values in some fields."""
    cluster.put(replace(cluster.pod(key), **fields))
