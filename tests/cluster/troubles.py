"""Random faults around a scheduler, by a seed."""

import json
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cluster.between import Proxy
from cluster.movable import move
from cluster.plane import ControlPlane
from cluster.rules import Delay, Hold, Lose, Refuse, is_bind
from cluster.scheduler import Scheduler, Schedulers
from cluster.waiting import PlaneError, stays, until
from cluster.workload import Workload

Act = Callable[[], None]
LEAST_NODES = 5
"""No more are deleted when only so many are left."""
END_S = 120.0
"""What a scheduler has begun may take so long after it was told to end."""


class Troubles:
    """What may go wrong. `apportion-0` and its successors are the scheduler."""

    def __init__(
        self,
        plane: ControlPlane,
        proxy: Proxy,
        schedulers: Schedulers,
        words: tuple[str, ...],
        clock: Path,
        workload: Workload,
        chance: random.Random,
    ) -> None:
        self._plane = plane
        self._proxy = proxy
        self._schedulers = schedulers
        self._words = words
        self._clock = clock
        self._workload = workload
        self._chance = chance

    def start(self) -> Scheduler:
        return self._schedulers.start(*self._words, through=self._proxy, clock=self._clock)

    @property
    def choices(self) -> tuple[tuple[Act, int], ...]:
        """What may go wrong next, each with its weight."""
        return (
            (self._cut, 3), (self._lose, 3), (self._refuse, 3), (self._be_busy, 3),
            (self._be_slow, 3), (self._kill_scheduler, 2), (self._stop_scheduler, 1),
            (self._kill_solver, 2), (self._restart_server, 1), (self._pause_etcd, 2),
            (self._move_clock, 2), (self._delete_node, 3),
        )  # fmt: skip

    def _cut(self) -> None:
        self._proxy.cut()

    def _lose(self) -> None:
        self._proxy.add(Lose(is_bind, times=self._chance.randint(1, 4)))

    def _refuse(self) -> None:
        """Let some writes fail."""
        status = self._chance.choice((409, 429, 500, 503))
        self._proxy.add(Refuse(lambda r: r.writes, status, times=self._chance.randint(1, 8)))

    def _be_busy(self) -> None:
        """Let the server refuse all requests for a while, lists and watches included."""
        many, wait_s = self._chance.randint(20, 80), self._chance.choice((0, 1))
        self._proxy.add(Refuse(lambda r: True, 429, times=many, retry_after_s=wait_s))

    def _be_slow(self) -> None:
        """Let the server take its time for many requests."""
        delay_s = self._chance.uniform(0.1, 1.5)
        self._proxy.add(Delay(lambda r: True, delay_s, times=self._chance.randint(20, 100)))

    def _kill_scheduler(self) -> None:
        self._schedulers.started[-1].kill()
        self.start()

    def _stop_scheduler(self) -> None:
        """Ask the scheduler to end, whatever it is doing."""
        one = self._schedulers.started[-1]
        os.kill(one.pid, signal.SIGTERM)
        one.wait(END_S)
        self.start()

    def _kill_solver(self) -> None:
        self._schedulers.started[-1].kill_children()

    def _restart_server(self) -> None:
        self._plane.restart("kube-apiserver")

    def _pause_etcd(self) -> None:
        self._plane.pause("etcd")
        running = self._schedulers.started[-1]
        stays(lambda: running.is_running, "the scheduler runs", self._chance.uniform(2, 10))
        self._plane.resume("etcd")
        until(self._plane.is_ready, "the API server is ready after a pause of etcd")

    def _move_clock(self) -> None:
        """Let the scheduler's clock jump: by minutes, forwards or backwards, or to the truth."""
        move(self._clock, self._chance.choice((0.0, 30.0, 3600.0, -30.0, -3600.0)))

    def _delete_node(self) -> None:
        """Delete a node while a pod is being bound to it, or any where none is."""
        held = self._proxy.add(Hold(is_bind, times=1))
        self._workload.submit_single(gpus=1)
        with suppress(PlaneError):
            until(lambda: held.met, "a bind is held", 5)
        names = self._workload.nodes()
        on = [json.loads(r.body)["target"]["name"] for r in held.met]
        name = next((n for n in on if n in names), self._chance.choice(names))
        if len(names) > LEAST_NODES:
            self._workload.delete_node(name)
        self._proxy.drop(held)
