"""Who sweeps and when; and whatever happens, a reservation in use is never swept."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import pytest

from apportion.adapters.live.binder import ToBind
from apportion.adapters.live.prepare import NotReadyError
from apportion.adapters.live.steps import Options, Reservations, Sweeper, steps_for
from apportion.adapters.live.steps.handover import HandOver
from apportion.adapters.live.steps.node_lock import NodeLock
from apportion.models import Bind, NodeName, Plan
from fakes.objects import FakeObjects
from kubernetes_objects import NOON_S, pod_in

from .bench import GROUP, Clock, done, settled
from .test_reservations import PODS, gpus, share, telling

Data = dict[str, Any]
NODES, DEVICES, STEPS = ("n", "m"), 2, 60


class Played:
    """A cluster in which shares come, are handed over, fail, run, end, and are swept after."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.server = FakeObjects()
        self.server.put(*(gpus(n, DEVICES) for n in NODES))
        self.server.controllers.append(telling(self.server))
        means = Clock().means
        mirror = self.server.mirror
        self.reservations = Reservations(self.server, mirror, Options("x"), means)
        lock = NodeLock(self.server, mirror, means)
        self.step = HandOver(self.server, mirror, self.reservations, lock, means)
        self.made = 0
        self.waiting: list[str] = []
        self.told: dict[str, tuple[str, str]] = {}
        """Of each pod that was handed over, its group and device."""

    async def come(self) -> None:
        """Make a pod that shares a device."""
        self.server.put(share(f"p{self.made}"))
        self.waiting.append(f"p{self.made}")
        self.made += 1

    async def start(self) -> None:
        """Hand a device over to a pod that the mirror knows, and bind it, or not."""
        world = self.server.mirror.snapshot(NOON_S)
        known = [n for n in self.waiting if f"default/{n}" in world.pods_by_key]
        if not known:
            return
        name = self.chance.choice(known)
        one, node = pod_in(world, name), NodeName(self.chance.choice(NODES))
        to_bind = ToBind(one, node, "", world.nodes_by_name[node])
        plan = Plan("", "", (Bind(one.key, GROUP, node, (self.chance.randrange(DEVICES),)),))
        with suppress(NotReadyError):
            await self.step.prepare(GROUP, [to_bind], plan)
            if self.chance.random() < 0.7:
                self._run(name, node)
                return
        await self.step.undo(GROUP, [to_bind])

    def _run(self, name: str, node: str) -> None:
        self.waiting.remove(name)
        change = {"spec": {"nodeName": node}, "status": {"phase": "Running"}}
        self.server.change(PODS + name, change)
        meta = self.server.objects[PODS + name]["metadata"]
        group = meta["labels"]["runai-gpu-group"]
        self.told[name] = (group, meta["annotations"]["apportion.dev/visible-devices"])

    async def end(self) -> None:
        """Let a pod end, or vanish."""
        if self.told:
            name = self.chance.choice(sorted(self.told))
            del self.told[name]
            if self.chance.random() < 0.5:
                self.server.remove(PODS + name)
            else:
                self.server.change(PODS + name, {"status": {"phase": "Succeeded"}})

    async def hear(self) -> None:
        """Let the mirror fall behind, or catch up."""
        self.server.deaf = not self.server.deaf
        if not self.server.deaf:
            self.server.hear()

    async def sweep(self) -> None:
        await self.reservations.sweep()

    async def run(self) -> None:
        ways = (self.come, self.start, self.start, self.end, self.hear, self.sweep)
        for _ in range(STEPS):
            await self.chance.choice(ways)()
            self.check()
        if self.server.deaf:
            await self.hear()
        await self.sweep()
        self.check()
        assert {_group(r) for r in self._there()} == {g for g, _ in self.told.values()}

    def check(self) -> None:
        """Every share has the reservation that it was told of, and no device has two."""
        there = {_group(r): r for r in self._there()}
        for name, (group, device) in self.told.items():
            assert group in there, f"{name} has lost its reservation"
            notes = there[group]["metadata"]["annotations"]
            assert notes["run.ai/reserve_for_gpu_index"] == device
        places = [
            (r["spec"]["nodeName"], r["metadata"]["annotations"]["apportion.dev/device-index"])
            for r in there.values()
        ]
        assert len(places) == len(set(places))

    def _there(self) -> list[Data]:
        return reserved_in(self.server)

    def made_names(self) -> list[str]:
        return [f"p{i}" for i in range(self.made)]


def reserved_in(server: FakeObjects) -> list[Data]:
    return [o for p, o in server.objects.items() if "kai-resource-reservation" in p]


def _group(one: Data) -> str:
    return str(one["metadata"]["labels"]["runai-gpu-group"])


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_a_reservation_in_use_stays_and_in_the_end_no_other(seed: int) -> None:
    done(Played(seed).run())


def test_only_who_may_write_sweeps() -> None:
    played, may = Played(0), [False]

    async def main() -> list[int]:
        await played.come()
        await played.start()
        for name in played.made_names():
            played.server.remove(PODS + name)
        sweeper = Sweeper(played.reservations, lambda: may[0], Clock().means)
        task = asyncio.ensure_future(sweeper.run())
        await settled()
        before = len(reserved_in(played.server))
        may[0] = True
        await settled()
        task.cancel()
        return [before, len(reserved_in(played.server))]

    assert done(main()) == [1, 0]


def test_what_takes_long_comes_before_what_marks_the_pod() -> None:
    played = Played(0)

    steps = steps_for(played.server, played.server.mirror, {}, played.reservations)

    assert [type(s).__name__ for s in steps] == ["Volumes", "Claims", "HandOver"]
