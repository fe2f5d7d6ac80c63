"""Mirror: what it costs to keep a cluster's objects, and a snapshot in which little has changed.

``python -m benchmarks.mirroring FILE`` puts the objects of a file (one JSON a line, as a watch
sends them) into a mirror in a process of its own, then lets pods come and be bound, cycle by cycle.
Beside it stands the plain way: reading all objects again.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from apportion.adapters.kubernetes import ReadOptions
from apportion.adapters.live.mirror import Kind, Mirror

from .kubectl import texts
from .large import Large, large
from .machine import pss_mib
from .subjects import Row, Subject, register

CLUSTERS = {
    "500 nodes": Large(500, 1000, agents=6),
    "5,000 nodes": Large(5000, 10_000, agents=6),
}
WANTED = "at most 0.2 s a snapshot, 500 MiB"
CYCLES = 5
COME = 100
"""Pods that come in a cycle, in gangs of ten; those of the cycle before are bound."""
GANG = 10
NOW_S = 1_000_000


class Head(msgspec.Struct):
    kind: str
    apiVersion: str  # noqa: N815 - the name outside


def rows(short: bool, runs: int) -> list[Row]:
    """Write the objects of each cluster, and measure a mirror of them."""
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, of in CLUSTERS.items():
            if short and of.nodes > 500:
                continue
            snapshot = large(of)
            path = Path(folder, "objects.jsonl")
            path.write_text("".join(text + "\n" for text in texts(snapshot, None)))
            wanted = WANTED if of.nodes >= 5000 else ""
            row = Row(name, of.nodes, len(snapshot.pods), of.waiting, wanted=wanted)
            for _ in range(runs):
                _measure(path, row)
            out.append(row)
    return out


def _measure(path: Path, row: Row) -> None:
    command = [sys.executable, "-m", "benchmarks.mirroring", str(path)]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    row.seconds += said["seconds"]
    row.cpu += said["cpu"]
    row.plain.append(said["plain"])
    row.memory_mib = max(row.memory_mib or 0.0, said["memory_mib"])
    row.note = (
        f"objects put in {said['put']:.1f} s, first snapshot {said['first']:.1f} s; "
        f"{said['pods']} pods read again of {row.pods:,}"
    )


class _Cluster:
    """Puts objects into a mirror, as a watch would."""

    def __init__(self, path: Path) -> None:
        self.mirror = Mirror(ReadOptions())
        self._sample: dict[str, Any] = {}
        for line in path.open("rb"):
            head = msgspec.json.decode(line, type=Head)
            kind: Kind = (head.apiVersion.rpartition("/")[0], head.kind)
            self.mirror.put(kind, line)
            if head.kind == "Pod" and not self._sample and b"group-name" in line:
                self._sample = json.loads(line)

    def come(self, cycle: int) -> None:
        for i in range(COME):
            self._put_pod(cycle, i, None)
        for g in range(COME // GANG):
            group = {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": f"came-{cycle}-{g}", "namespace": "bench"},
                "spec": {"minMember": GANG},
            }
            self.mirror.put(("scheduling.volcano.sh", "PodGroup"), msgspec.json.encode(group))

    def bind(self, cycle: int) -> None:
        for i in range(COME):
            self._put_pod(cycle, i, f"node-{i}")

    def _put_pod(self, cycle: int, i: int, node: str | None) -> None:
        group = f"came-{cycle}-{i // GANG}"
        meta = {
            **self._sample["metadata"],
            "name": f"{group}-{i}",
            "uid": f"{cycle}-{i}",
            "annotations": {"scheduling.k8s.io/group-name": group},
            "ownerReferences": [{"kind": "Job", "name": group, "controller": True}],
        }
        spec = {k: v for k, v in self._sample["spec"].items() if k != "nodeName"}
        if node is not None:
            spec["nodeName"] = node
        status = {"phase": "Running" if node else "Pending"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}
        self.mirror.put(("", "Pod"), msgspec.json.encode(pod))


def main(argv: list[str]) -> int:
    """Measure one file."""
    [path] = argv
    before_mib, t = pss_mib(os.getpid()), time.process_time()
    cluster = _Cluster(Path(path))
    said: dict[str, Any] = {"put": time.process_time() - t, "seconds": [], "cpu": []}
    t = time.process_time()
    snapshot = cluster.mirror.snapshot(NOW_S)
    said["first"] = time.process_time() - t
    for cycle in range(CYCLES):
        cluster.come(cycle)
        if cycle:
            cluster.bind(cycle - 1)
        begun, t = time.perf_counter(), time.process_time()
        snapshot = cluster.mirror.snapshot(NOW_S + cycle)
        said["cpu"].append(time.process_time() - t)
        said["seconds"].append(time.perf_counter() - begun)
    said["memory_mib"] = pss_mib(os.getpid()) - before_mib
    said["pods"] = cluster.mirror.read_again.pods
    t = time.perf_counter()
    anew = cluster.mirror.fresh(NOW_S + CYCLES - 1)
    said["plain"] = time.perf_counter() - t
    assert anew == snapshot
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
else:
    register(
        Subject(
            "mirror",
            "A snapshot after 100 pods came and 100 were bound; the plain pass reads all again.",
            rows,
        )
    )
