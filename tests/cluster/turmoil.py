"""Random work and random faults on a cluster, by a seed: what a soak makes a scheduler bear."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

import urllib3

from cluster.between import Proxy
from cluster.client import ApiError, Client
from cluster.plane import ControlPlane
from cluster.scheduler import Scheduler, Schedulers
from cluster.troubles import Troubles
from cluster.waiting import until
from cluster.workload import Act, Workload

NODES = 8
CALM_S = 120.0


class Turmoil:
    """One random thing after the other."""

    def __init__(
        self,
        plane: ControlPlane,
        client: Client,
        proxy: Proxy,
        schedulers: Schedulers,
        words: tuple[str, ...],
        clock: Path,
        seed: int,
    ) -> None:
        """`clock`: the file by which the scheduler's clock is moved."""
        self._chance = random.Random(seed)
        self._workload = Workload(client, self._chance)
        self._troubles = Troubles(
            plane, proxy, schedulers, words, clock, self._workload, self._chance
        )
        self.troubled_s = 0.0
        """How long this has kept the scheduler from its work, in seconds."""
        self.done: dict[str, int] = {}
        """How often each thing was done; those that the server did not take by `failed`."""

    def prepare(self) -> Scheduler:
        """Make nodes, queues and priorities, and start the scheduler."""
        self._workload.prepare(NODES)
        return self._troubles.start()

    def work(self) -> None:
        """Submit, end, drain or edit something."""
        self._do(self._workload.choices)
        self.tried(self._workload.sweep)

    def trouble(self) -> str:
        """Let something fail; return what."""
        began = time.monotonic()
        try:
            return self._do(self._troubles.choices)
        finally:
            self.troubled_s += time.monotonic() - began

    def calm(self) -> None:
        """Bring every node back and open it."""
        until(lambda: self.tried(self._workload.calm), "all nodes are open", CALM_S)

    def _do(self, choices: Sequence[tuple[Act, int]]) -> str:
        acts, weights = zip(*choices, strict=True)
        (act,) = self._chance.choices(acts, weights)
        name: str = act.__name__.strip("_")
        self.done[name] = self.done.get(name, 0) + 1
        if not self.tried(act):
            self.done["failed"] = self.done.get("failed", 0) + 1
        return name

    def tried(self, act: Act) -> bool:
        """Do it, and say whether the server took it: it may be on its way up again."""
        try:
            act()
        except ApiError as e:
            if e.status != 429 and e.status < 500:
                raise
            return False
        except urllib3.exceptions.HTTPError:
            return False
        return True
