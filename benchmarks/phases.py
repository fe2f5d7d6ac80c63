"""Phases: where the time of a cycle goes, by the engine without search and with it."""

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


def _row(n: int) -> Row:
    snapshot = large(Large(n, 2 * n))
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
        f"{n:,} nodes", n, len(snapshot.pods), 2 * n, [took], [cpu], [plain],
        started=len(made.binds) + len(made.nominations), started_plain=len(passed),
        evicted=len(made.evictions), engine=made.solver.engine,
        note=", ".join(f"{k} {v:.2f}" for k, v in parts.items() if v >= 0.01),
        more={"phases": parts},
    )  # fmt: skip


register(
    Subject("phases", "The cycle without search, by phase (seconds of one processor).", rows, True)
)
