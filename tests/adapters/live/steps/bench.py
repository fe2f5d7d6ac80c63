"""A cluster in memory, a plan for it, and time that a test moves."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.adapters.live.binder import ToBind
from apportion.adapters.live.prepare import Step
from apportion.adapters.live.steps.waiting import LULL_S, Means
from apportion.models import Config, GroupKey, Plan, Pod, Snapshot
from apportion.solver.entry import plan
from fakes.objects import FakeObjects
from kubernetes_objects import NOON_S, pod_in, queue

Data = dict[str, Any]
GREEDY = Config(engine="greedy", deterministic=True)


@dataclass
class Clock:
    """Time passes while somebody sleeps; by a patient clock nobody's deadline ever comes."""

    patient: bool = False
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    @property
    def means(self) -> Means:
        return Means(lambda: self.now, lambda: NOON_S + self.now, self.sleep)

    async def sleep(self, seconds: float) -> None:
        if seconds == LULL_S:
            await asyncio.sleep(0)
            return
        self.slept.append(seconds)
        if self.patient:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        self.now += seconds


@dataclass
class Bench:
    """What is planned and what is to be bound."""

    server: FakeObjects
    snapshot: Snapshot
    plan: Plan
    pods: list[ToBind]

    @classmethod
    def of(cls, *things: Data, server: FakeObjects | None = None) -> "Bench":
        """Plan the objects; every pod that waits has to start."""
        server = server or FakeObjects()
        server.put(queue("default"), *things)
        return cls.again(server)

    @classmethod
    def again(cls, server: FakeObjects) -> "Bench":
        """Plan what there is now."""
        seen = server.mirror.snapshot(NOON_S)
        made = plan(seen, GREEDY)
        assert not made.held, [h.reasons for h in made.held]
        pods = [
            ToBind(seen.pods_by_key[b.pod], b.node, "", seen.nodes_by_name[b.node])
            for b in made.binds
        ]
        return cls(server, seen, made, pods)

    def pod(self, name: str) -> Pod:
        """Return a pod as the door reads it now."""
        return pod_in(self.server.mirror.snapshot(NOON_S), name)

    def bind(self) -> None:
        """Give every pod its node, as the server does."""
        for b in self.pods:
            path = f"/api/v1/namespaces/{b.pod.namespace}/pods/{b.pod.name}"
            change = {"spec": {"nodeName": b.node}, "status": {"phase": "Running"}}
            self.server.change(path, change)

    def object(self, path: str) -> Data:
        return self.server.objects[path]

    def notes(self, name: str) -> Mapping[str, str]:
        """Return the annotations of a pod of namespace default."""
        found: Mapping[str, str] = self.server.objects[f"/api/v1/namespaces/default/pods/{name}"][
            "metadata"
        ].get("annotations", {})
        return found

    def labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a pod of namespace default."""
        found: Mapping[str, str] = self.server.objects[f"/api/v1/namespaces/default/pods/{name}"][
            "metadata"
        ].get("labels", {})
        return found


GROUP = GroupKey("default/g")


def prepared(step: Step, bench: Bench, pods: Sequence[ToBind] | None = None) -> None:
    """Prepare all pods; raises what the step raises, after it has been undone."""

    async def main() -> None:
        try:
            await step.prepare(GROUP, pods or bench.pods, bench.plan)
        except Exception:
            await step.undo(GROUP, pods or bench.pods)
            raise

    done(main())


def done(what: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, within a minute."""
    return asyncio.run(asyncio.wait_for(what, 60))


async def settled() -> None:
    """Let everything that can go on go on."""
    for _ in range(30):
        await asyncio.sleep(0)
