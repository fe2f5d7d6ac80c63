"""Dense: 64 nodes with 512 GPUs, 85 % in use, mixed shares, three levels, 60 waiting gangs.

Some gangs must lie in one rack, the others wish for one block; with evictions and without.
"""

import time
from typing import Literal

from .dense_instances import Dense, dense
from .first_fit import first_fit
from .mixture import BUDGET_S, measure, row_of
from .subjects import Row, Subject, register

SEEDS = (1, 2, 3)
EVICTIONS: tuple[Literal["all", "none"], ...] = ("all", "none")


def rows(short: bool, runs: int) -> list[Row]:
    """Measure every instance."""
    out: list[Row] = []
    for seed in SEEDS[:1] if short else SEEDS:
        for evictions in EVICTIONS:
            snapshot = dense(Dense(seed=seed))
            t = time.perf_counter()
            passed = first_fit(snapshot)
            plain = time.perf_counter() - t
            name = f"seed {seed}, evictions: {evictions}"
            run = measure(name, snapshot, BUDGET_S, runs, evictions)
            out.append(row_of(run, len(snapshot.nodes), plain, len(passed)))
    return out


register(Subject("dense", "Gangs in racks on 512 GPUs, 85 % full, with shares; 5 s.", rows))
