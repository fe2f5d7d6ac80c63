"""What is measured: a burst of pods, a steady stream, and how far apart a gang's binds are."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.client import Client
from cluster.installing import DEFINITIONS
from cluster.manifests import apply_all, documents
from cluster.part import Part
from cluster.plane import ControlPlane

from . import load
from .contestants import Contestant, cpu_s, running
from .seen import Bindings, percentile
from .work import SERVERS, Work, processor_s, work_of

GIVE_UP_S = 900.0
QUIET_S = 3.0
RESTS = 0.1
"""Who uses less of a core rests."""
WRITES = ("POST", "PATCH", "APPLY", "DELETE")
"""Verbs of requests that tell something; PUT is how leases are renewed, which never ends."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Pods that were there before the scheduler was; times in seconds."""

    scheduler: str
    nodes: int
    pods: int
    gang: int
    bound: int
    per_second: float
    """From the first bind to the last, as the watch told of them."""
    best_second: int
    start_s: float
    """From the start of the process to the first bind."""
    last_s: float
    """From the first bind to the last."""
    cpu_s: float
    """Of the scheduler and its children."""
    servers_cpu_s: float
    """Of etcd and the API server in the meantime."""
    first_cpu_s: Mapping[str, float]
    """Until the first bind, by process."""
    work: Work
    """Until the last bind."""
    settled: Work
    """Until nothing more was written for a while: words and statuses may come after the binds."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Pods that came at a steady pace; from the request that creates one to its bind."""

    scheduler: str
    nodes: int
    pods: int
    per_second: float
    held: int
    """Gangs that waited all the time."""
    p50_s: float
    p99_s: float
    longest_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Spread:
    """One gang on a running scheduler: from the last pod's creation, and between its binds."""

    scheduler: str
    nodes: int
    gang: int
    first_s: float
    spread_s: float


@contextmanager
def bare_cluster(nodes: int) -> Iterator[tuple[ControlPlane, Client]]:
    """Run a control plane of its own with so many nodes, and nobody who plays them."""
    folder = Path(tempfile.mkdtemp(prefix="apportion-bench-"))
    plane = ControlPlane(folder)
    try:
        plane.start()
        with plane.client() as client:
            apply_all(client, documents([DEFINITIONS]))
            load.create(client, load.nodes(nodes))
            yield plane, client
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)


def burst(contestant: Contestant, nodes: int, pods: int, gang: int) -> Burst:
    """Create the pods, start the scheduler, and watch until all are bound."""
    with bare_cluster(nodes) as (plane, client):
        start = contestant.install(plane)
        load.create(client, load.pods(pods, gang, contestant.of_pods))
        seen = Bindings(plane.admin, version(client))
        before = work_of(plane, client)
        began = time.monotonic()
        with running(start) as part:
            seen.wait(1, GIVE_UP_S)
            first = Work(processor_s(plane, part)).since(before).cpu_s
            seen.wait(pods, GIVE_UP_S)
            work = work_of(plane, client, part).since(before)
            settled = settled_work(plane, client, part).since(before)
        seen.stop()
        rate = seen.rate()
        servers = sum(work.cpu_s[name] for name in SERVERS)
        mine = sum(work.cpu_s.values()) - servers
        return Burst(
            contestant.name, nodes, pods, gang, rate.bound, round(rate.per_second, 1),
            rate.best_second, round(min(seen.bound_s.values(), default=0.0) - began, 2),
            round(rate.seconds, 2), round(mine, 1), round(servers, 1), first, work,
            settled,
        )  # fmt: skip


def settled_work(plane: ControlPlane, client: Client, part: Part) -> Work:
    """Return the work once nothing is written and the scheduler rests, both for ``QUIET_S``."""
    end = time.monotonic() + GIVE_UP_S
    done = work_of(plane, client, part)
    while time.monotonic() < end:
        time.sleep(QUIET_S)
        now = work_of(plane, client, part)
        new, done = now.since(done), now
        rests = new.cpu_s["scheduler"] + new.cpu_s["children"] < RESTS * QUIET_S
        if rests and not any(k.startswith(WRITES) for k in new.requests):
            break
    return done


def stream(
    contestant: Contestant, nodes: int, pods: int, per_second: float, held: int = 0
) -> Stream:
    """Start the scheduler, and create pods at a steady pace; a first pod shows that it is up.

    So many gangs wait meanwhile for room that there is not.
    """
    with bare_cluster(nodes) as (plane, client), running(contestant.install(plane)) as part:
        seen = Bindings(plane.admin, version(client))
        load.create(client, load.pods(1, 1, contestant.of_pods, "first"))
        seen.wait(1, GIVE_UP_S)
        load.create(client, load.held(nodes, held, contestant.of_pods))
        before = cpu_s(part.pid)
        asked = load.steadily(client, list(load.pods(pods, 1, contestant.of_pods)), per_second)
        seen.wait(pods + 1, GIVE_UP_S)
        used = cpu_s(part.pid) - before
        waits = [seen.bound_s[name] - at for name, at in asked.items() if name in seen.bound_s]
        seen.stop()
        return Stream(
            contestant.name, nodes, pods, per_second, held, round(percentile(waits, 0.5), 3),
            round(percentile(waits, 0.99), 3), round(max(waits, default=0.0), 3), round(used, 1),
        )  # fmt: skip


def spread(contestant: Contestant, nodes: int, gang: int) -> Spread:
    """Start the scheduler, create one large gang, and see how far apart its binds are."""
    with bare_cluster(nodes) as (plane, client), running(contestant.install(plane)):
        seen = Bindings(plane.admin, version(client))
        load.create(client, load.pods(1, 1, contestant.of_pods, "first"))
        seen.wait(1, GIVE_UP_S)
        load.create(client, load.pods(gang, gang, contestant.of_pods))
        created = time.monotonic()
        seen.wait(gang + 1, GIVE_UP_S)
        times = [at for name, at in seen.bound_s.items() if not name.startswith("first")]
        seen.stop()
        first, last = min(times, default=created), max(times, default=created)
        return Spread(
            contestant.name, nodes, gang, round(first - created, 3), round(last - first, 3)
        )


def version(client: Client) -> str:
    """Return the resource version of this moment."""
    found: str = client.get(client.path("pods") + "?limit=1")["metadata"]["resourceVersion"]
    return found
