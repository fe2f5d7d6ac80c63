"""What a large cluster costs a scheduler that runs: memory, an idle minute, a cycle, the start."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

from cluster.client import THREADS, Client, Data
from cluster.objects import pod
from cluster.scheduler import Scheduler

from ..machine import Watch, pss_mib
from . import load
from .contestants import apportion, cpu_s, own_cpu_s
from .measures import GIVE_UP_S, bare_cluster, version
from .seen import Bindings

PHASES = ("snapshot", "solve", "recheck", "apply")
LOOK_S = 1.0
"""The memory is looked at so often: each look takes a while itself."""
REST_S = 5.0
"""After the last bind, before the idle minute begins."""


@dataclass(frozen=True, slots=True)
class Large:
    """A scheduler on a cluster that is full of running pods."""

    nodes: int
    running: int
    come: int
    """Pods that come at once, again and again."""
    synced_s: float
    """From the start of the process until everything has been listed."""
    first_cycle_s: float
    """From the start of the process to the end of the first cycle, which binds a pod."""
    start_cpu_s: float
    """Processor time until then, which other work on the machine does not stretch."""
    snapshot_ms: float
    """Of the cycles that bound most of those who came: medians, by the clock."""
    solve_ms: float
    recheck_ms: float
    apply_ms: float
    besides_ms: float
    """All but solve."""
    own_cpu_ms: float
    """For each time that pods came: processor time of the scheduler, but for the solver's."""
    solver_cpu_ms: float
    idle_percent: float
    """Of one core, while nothing happens."""
    idle_pss_mib: float
    peak_pss_mib: float
    """With children, through all of it."""


def large(nodes: int, running: int, come: int = 100, times: int = 10, idle_s: float = 60) -> Large:
    """Fill the cluster, start the scheduler, let pods come, and let it rest."""
    with bare_cluster(nodes) as (plane, client):
        fill(client, nodes, running)
        load.create(client, load.pods(1, 1, "apportion", "first"))
        seen = Bindings(plane.admin, version(client))
        one = apportion(plane)
        began = time.monotonic()
        one.start()
        memory = Watch(one.pid, LOOK_S)
        memory.start()
        try:
            one.wait_for("synced", deadline_s=GIVE_UP_S)
            synced_s = time.monotonic() - began
            one.wait_for("cycle", deadline_s=GIVE_UP_S)
            first_s, start_cpu = time.monotonic() - began, cpu_s(one.pid)
            seen.wait(1, GIVE_UP_S)
            rounds = [_round(client, one, seen, come, i) for i in range(times)]
            rest(REST_S)
            before = cpu_s(one.pid)
            rest(idle_s)
            idle = cpu_s(one.pid) - before
            idle_mib = pss_mib(one.pid)
        finally:
            seen.stop()
            peak = memory.stop()
            one.stop()
        ms = {name: median(_ms(r.cycle, name) for r in rounds) for name in PHASES}
        besides = median(sum(_ms(r.cycle, n) for n in PHASES if n != "solve") for r in rounds)
        return Large(
            nodes, running, come, round(synced_s, 1), round(first_s, 1), round(start_cpu, 1),
            round(ms["snapshot"], 1), round(ms["solve"], 1), round(ms["recheck"], 1),
            round(ms["apply"], 1), round(besides, 1),
            round(median(r.own_cpu_s for r in rounds) * 1000),
            round(median(r.solver_cpu_s for r in rounds) * 1000),
            round(100 * idle / idle_s, 2), round(idle_mib), round(max(peak, idle_mib)),
        )  # fmt: skip


def _ms(cycle: dict[str, Any], phase: str) -> float:
    seconds: float = cycle.get(f"{phase}Seconds", 0.0)
    return 1000 * seconds


def fill(client: Client, nodes: int, many: int) -> None:
    """Create pods that run already, as many on each node; nobody plays them."""
    made = 0
    with ThreadPoolExecutor(THREADS) as pool:
        things = _running(nodes, many)
        while some := list(islice(things, 1000)):
            made += sum(pool.map(lambda one: _run(client, one), some))
    assert made == many


def _running(nodes: int, many: int) -> Iterator[Data]:
    for i in range(many):
        yield pod(f"r{i}", cpu="1", scheduler="apportion", nodeName=f"n{i % nodes:05d}")


def _run(client: Client, one: Data) -> int:
    client.create(one)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ready = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("Initialized", "ContainersReady", "Ready")
    ]
    status = {"phase": "Running", "startTime": now, "conditions": ready}
    client.patch("pods", one["metadata"]["name"], {"status": status}, part="status")
    return 1


@dataclass(frozen=True, slots=True)
class _Round:
    cycle: dict[str, Any]
    own_cpu_s: float
    solver_cpu_s: float


def _round(client: Client, one: Scheduler, seen: Bindings, come: int, number: int) -> _Round:
    """Let pods come, and wait until they are bound and the scheduler has told of it."""
    cycles, bound = len(one.events("cycle")), len(seen.bound_s)
    own, all_of_it = own_cpu_s(one.pid), cpu_s(one.pid)
    load.create(client, load.pods(come, 1, "apportion", f"c{number}-"))
    seen.wait(bound + come, GIVE_UP_S)
    one.wait_for("cycle", cycles + 1)
    rest(1.0)
    own, all_of_it = own_cpu_s(one.pid) - own, cpu_s(one.pid) - all_of_it
    new = one.events("cycle")[cycles:]
    return _Round(max(new, key=lambda c: int(c["bound"])), own, all_of_it - own)


def rest(seconds: float) -> None:
    """Do nothing for so long."""
    threading.Event().wait(seconds)
