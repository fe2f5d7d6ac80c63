"""A day's pods in one run: they come, run briefly and go, as fast as the control plane takes them.

So many wait at a time, no more: who is bound makes room for the next. What grows with the number
of pods that have ever been shows as a slope of memory or of latency over the slices of the run.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cluster.client import Client, Data

from ..machine import Watch, pss_mib
from . import load
from .contestants import apportion, cpu_s
from .large import fill
from .measures import GIVE_UP_S, bare_cluster, version
from .seen import Bindings, percentile

SLICES = 10
CREATORS, DELETERS = 8, 6
LOOK_S = 0.05
MEMORY_S = 0.5
"""The memory is looked at so often."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the run, in the order in which pods were bound."""

    pods: int
    per_second: float
    p50_s: float
    p99_s: float
    """From the request that creates a pod to its bind."""
    pss_mib: float
    """The least that was seen in it, with children: what a cycle needs comes and goes."""
    peak_mib: float
    cpu_ms: float
    """Processor time of the scheduler and its children for each pod."""


@dataclass(frozen=True, slots=True)
class Day:
    """A whole run; slopes are those of a straight line through all slices but the first."""

    nodes: int
    running: int
    pods: int
    gang: int
    slices: tuple[Slice, ...]
    pss_slope_mib: float
    """For each 100,000 pods."""
    p99_slope_s: float


@dataclass
class Turnover:
    """Pods that come and go: as soon as one is bound, another may come."""

    client: Client
    pods: int
    gang: int
    runs_s: float
    outstanding: int
    asked_s: dict[str, float] = field(default_factory=dict)
    """By pod that waits."""
    waits_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By slice."""
    bound: int = 0

    def __post_init__(self) -> None:
        self.pods -= self.pods % self.gang
        self._room = threading.Semaphore(self.outstanding)
        self._leaving: deque[tuple[float, str]] = deque()
        self._over = threading.Event()

    def tell(self, name: str, at_s: float) -> None:
        """Take note of a bind; only one thread may call this."""
        if (asked := self.asked_s.pop(name, None)) is not None:
            self.waits_s[self.bound * SLICES // self.pods].append(at_s - asked)
            self._leaving.append((at_s + self.runs_s, name))
            self.bound += 1
            self._room.release()

    def run(self) -> Iterator[int]:
        """Let all of them come and go; give the number of each slice when it is bound."""
        with ThreadPoolExecutor(CREATORS + DELETERS) as pool:
            units = iter(range(self.pods // self.gang))
            lock = threading.Lock()
            work = [pool.submit(self._come, units, lock) for _ in range(CREATORS)]
            work += [pool.submit(self._go) for _ in range(DELETERS)]
            try:
                for number in range(SLICES):
                    self._wait(self.pods * (number + 1) // SLICES)
                    yield number
            finally:
                self._over.set()
                for _ in range(CREATORS * self.gang):
                    self._room.release()
            for one in work:
                one.result()

    def _wait(self, many: int) -> None:
        end = time.monotonic() + GIVE_UP_S
        before = self.bound
        while self.bound < many:
            if self.bound > before:
                before, end = self.bound, time.monotonic() + GIVE_UP_S
            if time.monotonic() > end:
                raise TimeoutError(f"{self.bound} of {self.pods} pods bound, and no more come")
            self._over.wait(LOOK_S)

    def _come(self, units: Iterator[int], lock: threading.Lock) -> None:
        while not self._over.is_set():
            with lock:
                unit = next(units, None)
                for _ in range(self.gang if unit is not None else 0):
                    self._room.acquire()
            if unit is None or self._over.is_set():
                return
            for thing in load.pods(self.gang, self.gang, "apportion", f"d{unit}-"):
                self._create(thing)

    def _create(self, thing: Data) -> None:
        name = thing["metadata"]["name"]
        if thing["kind"] == "Pod":
            self.asked_s[name] = time.monotonic()
        self.client.create(thing)

    def _go(self) -> None:
        while not self._over.is_set():
            try:
                at_s, name = self._leaving.popleft()
            except IndexError:
                self._over.wait(LOOK_S)
                continue
            self._over.wait(max(0.0, at_s - time.monotonic()))
            self.client.delete("pods", name, grace_s=0)
            group, _, member = name.rpartition("-")
            if self.gang > 1 and member == "0":
                self.client.delete("podgroups.scheduling.volcano.sh", group)


def day(
    nodes: int,
    pods: int,
    gang: int = 1,
    outstanding: int = 200,
    runs_s: float = 1,
    running: int = 0,
) -> Day:
    """Start the scheduler, and let pods come and go, beside others that stay."""
    with bare_cluster(nodes) as (plane, client):
        fill(client, nodes, running)
        one = apportion(plane)
        one.start()
        memory = Watch(one.pid, MEMORY_S)
        turnover = Turnover(client, pods, gang, runs_s, outstanding)
        seen = Bindings(plane.admin, version(client), turnover.tell)
        slices: list[Slice] = []
        looked = 0
        try:
            one.wait_for("synced", deadline_s=GIVE_UP_S)
            memory.start()
            began, used = time.monotonic(), cpu_s(one.pid)
            for number in turnover.run():
                waits = turnover.waits_s.pop(number)
                now, cpu = time.monotonic(), cpu_s(one.pid)
                seen_mib = memory.seen_mib[looked:] or [pss_mib(one.pid)]
                looked = len(memory.seen_mib)
                slices.append(
                    Slice(
                        len(waits), round(pods / SLICES / (now - began), 1),
                        round(percentile(waits, 0.5), 3), round(percentile(waits, 0.99), 3),
                        round(min(seen_mib), 1), round(max(seen_mib), 1),
                        round(1000 * (cpu - used) * SLICES / pods, 2),
                    )
                )  # fmt: skip
                print(slices[-1], flush=True)
                began, used = now, cpu
        finally:
            seen.stop()
            memory.stop()
            one.stop()
        per = pods / SLICES / 100_000
        return Day(
            nodes, running, pods, gang, tuple(slices),
            round(slope([s.pss_mib for s in slices[1:]]) / per, 2),
            round(slope([s.p99_s for s in slices[1:]]) / per, 3),
        )  # fmt: skip


def slope(values: Sequence[float]) -> float:
    """Return by how much a straight line through the values rises from each to the next."""
    n = len(values)
    if n < 2:
        return 0.0
    middle, mean = (n - 1) / 2, sum(values) / n
    above = sum((i - middle) * (v - mean) for i, v in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(n))
