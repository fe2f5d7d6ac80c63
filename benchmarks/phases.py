"""Phases: where the time of a cycle without search goes.

``python -m benchmarks.phases NODES [WAITING]`` prints one cycle as a table: seconds of the
processor in each phase, what is inside another phase left out of that.
"""

import sys
import time

from apportion.models import Config
from apportion.solver.entry import plan

from .first_fit import first_fit
from .large import Large, large
from .stopwatch import stopwatch
from .subjects import Row, Subject, register

SIZES = (250, 500, 1000, 2000, 5000)


def rows(short: bool, runs: int) -> list[Row]:
    """Measure the cycle without search at every size."""
    del runs  # phases are of one run: their sum is the time
    return [_row(n) for n in SIZES if n <= 500 or not short]


def table(nodes: int, waiting: int) -> list[str]:
    """Return the phases of one cycle as lines of text, the longest first."""
    row = _row(nodes, waiting)
    parts: dict[str, float] = row.more["phases"]
    out = [f"{row.nodes:,} nodes, {row.pods:,} pods, {row.waiting:,} of them waiting"]
    out += [f"  {name:24s}{s:8.3f} s" for name, s in parts.items() if s >= 0.0005]
    return [*out, f"  {'together':24s}{row.cpu[0]:8.3f} s"]


def _row(n: int, waiting: int = 0) -> Row:
    waiting = waiting or 2 * n
    snapshot = large(Large(n, waiting))
    t = time.perf_counter()
    passed = first_fit(snapshot)
    plain = time.perf_counter() - t
    with stopwatch() as watch:
        t, used = time.perf_counter(), time.process_time()
        made = plan(snapshot, Config(engine="greedy", budget_ms=1000))
        took, cpu = time.perf_counter() - t, time.process_time() - used
    parts = dict(sorted(watch.seconds.items(), key=lambda of: -of[1]))
    parts["other"] = cpu - sum(parts.values())
    return Row(
        f"{n:,} nodes", n, len(snapshot.pods), waiting, [took], [cpu], [plain],
        started=len(made.binds) + len(made.nominations), started_plain=len(passed),
        evicted=len(made.evictions), engine=made.solver.engine,
        note=", ".join(f"{k} {v:.2f}" for k, v in parts.items() if v >= 0.01),
        more={"phases": parts},
    )  # fmt: skip


register(
    Subject("phases", "The cycle without search, by phase (seconds of one processor).", rows, True)
)

if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("\n".join(table(size, int(sys.argv[2]) if len(sys.argv) > 2 else 2 * size)))
