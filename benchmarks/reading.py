"""Reading: how long what kubectl prints takes to become a snapshot, and in how much memory.

``python -m benchmarks.reading FILE`` reads a file once, in a process of its own. Beside it stands
the plain way: ``json.load`` alone, which makes dictionaries and looks at nothing.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from apportion.adapters.inputs import Asked, read_case

from .kubectl import write
from .large import Large, large
from .machine import Watch
from .subjects import Row, Subject, register

CLUSTERS = {
    "500 nodes": Large(500, 1000, agents=6),
    "5,000 nodes": Large(5000, 10_000, agents=6),
}
WANTED = "at most 15 s and 2 GiB"
PLAIN = """
import json, sys, time
t = time.perf_counter()
json.load(open(sys.argv[1], "rb"))
print(json.dumps({"seconds": time.perf_counter() - t}))
"""


def rows(short: bool, runs: int) -> list[Row]:
    """Write the objects of each cluster, as kubectl indents them and without; read them back."""
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, of in CLUSTERS.items():
            if short and of.nodes > 500:
                continue
            snapshot = large(of)
            for how, indent in (("indented", 4), ("compact", None)):
                path = Path(folder, "objects.json")
                size = write(snapshot, path, indent)
                row = Row(
                    f"{name}, {how}, {size / 1e6:.0f} MB", of.nodes, len(snapshot.pods), of.waiting,
                    wanted=WANTED if of.nodes >= 5000 else "",
                )  # fmt: skip
                for _ in range(runs):
                    _read(path, row)
                    row.plain.append(_said([sys.executable, "-c", PLAIN, str(path)])[0]["seconds"])
                out.append(row)
    return out


def _read(path: Path, row: Row) -> None:
    said, peak = _said([sys.executable, "-m", "benchmarks.reading", str(path)])
    row.seconds.append(said["seconds"])
    row.memory_mib = max(row.memory_mib or 0.0, peak)
    row.cpu.append(said["cpu"])
    row.note = f"{said['rejected']} objects rejected, {said['pods']:,} pods read"


def _said(command: list[str]) -> tuple[dict[str, Any], float]:
    """Run a command that prints figures; return them with the peak of its memory."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        watch = Watch(process.pid)
        watch.start()
        out, _ = process.communicate()
        peak = watch.stop()
    found: dict[str, Any] = json.loads(out)
    return found, peak


def main(argv: list[str]) -> int:
    """Read one file."""
    t, cpu = time.perf_counter(), time.process_time()
    snapshot = read_case(argv, Asked()).snapshot
    seconds = time.perf_counter() - t
    said = {
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "rejected": len(snapshot.rejected),
        "pods": len(snapshot.pods),
    }
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
else:
    register(
        Subject(
            "reading",
            "What kubectl prints, managed fields included; the plain pass is json.load alone.",
            rows,
        )
    )
