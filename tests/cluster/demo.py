"""A cluster at work: `python -m cluster.demo`, or `make demo`.

A local control plane with pretend GPU nodes, the scheduler with the rights that its manifest gives,
and jobs that come and go; shown as a page that renews itself.
"""

import argparse
import random
import sys
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live

from cluster.client import ApiError, Client, Data
from cluster.installing import install
from cluster.invariants import ENDED
from cluster.lasting import until_interrupted
from cluster.objects import gang, placed_node, priority_class, queue
from cluster.plane import ControlPlane
from cluster.scheduler import Scheduler
from cluster.screen import page
from cluster.waiting import PlaneError

LOOK_S = 0.5
QUEUES = {"research": 32, "product": 24, "batch": 8}
"""With the GPUs that each is due."""
SHAPES = ((1, 1), (2, 4), (4, 2), (4, 8), (8, 1), (2, 8), (1, 4))
"""Pods of a job, and GPUs of each."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--nodes", type=int, default=8, help="pretend nodes (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="end after so long (default: Ctrl-C)"
    )
    return parser.parse_args()


def main() -> int:
    """Run it until Ctrl-C; what it made is gone then."""
    asked = arguments()
    return until_interrupted("demo-", lambda folder: _run(folder, asked.nodes, asked.seconds))


def _run(folder: Path, nodes: int, seconds: float) -> None:
    with ControlPlane(folder) as plane, plane.client() as client:
        for part in ("kube-controller-manager", "kwok"):
            plane.add(part)
        client.create_all(placed_node(i) for i in range(nodes))
        access = install(plane, client)
        client.create_all(
            queue(n, deserved={"nvidia.com/gpu": str(gpus)}) for n, gpus in QUEUES.items()
        )
        client.create_all(priority_class(n, v) for n, v in (("low", 10), ("high", 1000)))
        scheduler = Scheduler(folder, access)
        scheduler.start()
        try:
            _show(client, scheduler, seconds)
        finally:
            scheduler.stop()


def _show(client: Client, scheduler: Scheduler, seconds: float) -> None:
    work, began = Work(client), time.monotonic()
    with Live(console=Console(), refresh_per_second=4, transient=False) as live:
        while time.monotonic() - began < seconds:
            if not scheduler.is_running:
                raise PlaneError(f"the scheduler has ended\n{scheduler.tail()}")
            with suppress(ApiError):  # the server is busy: the next look will do
                work.go_on()
                live.update(_looked(client, scheduler))
            time.sleep(LOOK_S)


def _looked(client: Client, scheduler: Scheduler) -> Group:
    cycles = scheduler.events("cycle")
    return page(
        client.find_all("nodes"),
        [p for p in client.find_all("pods", "default") if not _over(p)],
        client.find_all("podgroups.scheduling.volcano.sh"),
        cycles[-1] if cycles else {},
    )


def _over(pod: Data) -> bool:
    return pod.get("status", {}).get("phase") in ENDED


class Work:
    """Jobs that come, run for a while, and are taken away."""

    def __init__(self, client: Client, seed: int = 1) -> None:
        self._client = client
        self._chance = random.Random(seed)
        self._number = 0

    def go_on(self) -> None:
        """Submit a job now and then, as long as not too many wait."""
        pods = self._client.find_all("pods", "default")
        for p in pods:
            if _over(p):
                self._client.delete("pods", p["metadata"]["name"], grace_s=0)
        waiting = {p["metadata"]["annotations"].get("scheduling.k8s.io/group-name")
                   for p in pods if not p["spec"].get("nodeName")}  # fmt: skip
        if len(waiting) >= 6 or self._chance.random() < 0.4:
            return
        self._number += 1
        size, gpus = self._chance.choice(SHAPES)
        things = gang(
            f"job-{self._number}", size, gpus, queue=self._chance.choice(list(QUEUES)),
            priority=self._chance.choice(("low", "low", "high")),
            times={"runs": f"{self._chance.randint(6, 30)}s"},
        )  # fmt: skip
        for thing in things:
            self._client.create(thing)


if __name__ == "__main__":
    sys.exit(main())
