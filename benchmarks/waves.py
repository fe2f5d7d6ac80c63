"""Waves: knavigator's gang test on a real control plane, with the live scheduler.

32 nodes, pods that fill a node, 53 gangs in the order given: exactly nine full waves. What counts
is how much of the nodes' time is used, from the first bind to the last end. kwok plays the nodes.
"""

import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import yaml

from apportion.adapters.crds import definition
from cluster import objects
from cluster.binaries import binaries
from cluster.client import Client, Data
from cluster.manifests import apply_all
from cluster.plane import ControlPlane
from cluster.scheduler import Scheduler

from .subjects import Row, Subject, register

NODES = 32
GANGS = (
    32,
    *[16] * 2,
    *[10] * 3, 2,
    *[8] * 4,
    *[6] * 5, 1, 1,
    *[5] * 6, 2,
    *[4] * 7, 2, 1, 1,
    *[4] * 8,
    *[3] * 9, 5,
)  # fmt: skip
"""Sizes in the order of submission; knavigator's workflow for gangs, from its documentation."""
WANTED = 0.97
SECONDS, SHORT_SECONDS = 30, 5
"""How long a pod runs: two minutes, sped up four times; and the short round's."""


def run(short: bool, runs: int) -> Sequence[Row]:
    """Measure; one row for each run."""
    missing = binaries().missing(("etcd", "kube-apiserver", "kwok"))
    if missing:
        return [Row("waves", note=f"not measured: no {' and no '.join(missing)} here")]
    seconds = SHORT_SECONDS if short else SECONDS
    return [measure(seconds) for _ in range(1 if short else min(runs, 2))]


def measure(seconds: int) -> Row:
    """Submit all gangs to an empty cluster, and wait until the last pod has ended."""
    total = sum(GANGS)
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder) / "plane") as plane:
        plane.add("kwok")
        with plane.client() as client:
            _submit(client, seconds)
            scheduler = Scheduler(Path(folder), plane.admin)
            scheduler.start()
            try:
                pods = _ended(client, total, 2.5 * seconds * total / NODES + 60)
                cycles = scheduler.events("cycle")
            finally:
                scheduler.kill()
    begins = [_moment(_condition(p, "PodScheduled")) for p in pods]
    ends = [max(_moment(_condition(p, "Ready")), _finished(p)) for p in pods]
    span = max(ends) - min(begins)
    used = sum(seconds for _ in pods)
    occupancy = used / (NODES * span)
    return Row(
        f"{len(GANGS)} gangs, {total} pods of {seconds} s on {NODES} nodes",
        NODES, total, total, [span], wanted=f"occupancy at least {WANTED:.0%}",
        note=f"occupancy {occupancy:.1%}; ideal {seconds * total / NODES:.0f} s, took {span:.1f} s;"
        f" {len(cycles)} cycles",
        more={"occupancy": occupancy},
    )  # fmt: skip


def _submit(client: Client, seconds: int) -> None:
    apply_all(client, [yaml.safe_load(definition(name)) for name in ("podgroup", "queue")])
    client.create_all([objects.node(f"n{i:02d}", 8) for i in range(NODES)])
    times = {"runs": f"{seconds}s"}
    for i, size in enumerate(GANGS):
        group, *pods = objects.gang(f"g{i:02d}", size, 8, times=times)
        client.create(group)
        client.create_all(pods)


def _ended(client: Client, total: int, limit_s: float) -> list[Data]:
    """Return the pods once all have succeeded."""
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        pods = client.find_all("pods", "default")
        if sum(p["status"].get("phase") == "Succeeded" for p in pods) == total:
            return pods
        time.sleep(1)
    raise TimeoutError(f"not all of {total} pods had ended after {limit_s:.0f} s")


def _condition(pod: Data, kind: str) -> str:
    found = [c for c in pod["status"].get("conditions", ()) if c["type"] == kind]
    return str(found[0]["lastTransitionTime"]) if found else ""


def _finished(pod: Data) -> float:
    states = pod["status"].get("containerStatuses") or []
    said = [s.get("state", {}).get("terminated", {}).get("finishedAt") for s in states]
    return max((_moment(s) for s in said if s), default=0.0)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else 0.0


register(
    Subject(
        "waves",
        "knavigator's gang test: live, on a real control plane; how much of the nodes is used.",
        run,
    )
)
