"""Mixture: one cycle on clusters of mixed work, with the gap of every tier.

Gangs, three priorities, spread constraints, queues above and below their due, evictions.
"""

import statistics
import time
from dataclasses import dataclass
from typing import Literal

from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

from .first_fit import first_fit
from .instances import Mix, mixture
from .subjects import Row, Subject, register

TIERS = (
    "repair", "entitled", "surplus", "returning victims", "victims", "gangs broken", "lost work",
    "age of victims",
)  # fmt: skip
"""The tiers of repair, admission and eviction cost."""
BUDGET_S = 5.0
CASES = {
    "200 nodes, 1,000 pods": Mix(200, 200, 20, fill=0.85),
    "200 nodes, 1,000 waiting": Mix(200, 1_000, 20),
    "1,000 nodes, 2,000 waiting": Mix(1_000, 2_000, 20),
    "1,000 nodes, 2,000 pods": Mix(1_000, 700, 20, fill=0.3),
}


@dataclass(frozen=True)
class Run:
    """What one instance gave."""

    name: str
    pods: int
    waiting: int
    seconds: tuple[float, ...]
    plan: Plan

    def lines(self) -> list[str]:
        s, p = self.seconds, self.plan
        out = [
            f"{self.name}: {self.pods} pods, {self.waiting} of them waiting",
            f"  {statistics.median(s):.2f} s ({min(s):.2f} to {max(s):.2f}, {len(s)} runs), "
            f"{p.solver.engine}, {p.solver.status}, {len(p.binds) + len(p.nominations)} start, "
            f"{len(p.evictions)} leave; {p.solver.detail or 'every tier solved'}",
        ]
        for t in p.objective:
            if t.name in TIERS:
                gap = "no bound" if t.gap is None else f"gap {100 * t.gap:.2f} %"
                out.append(f"  {t.name:18} {t.value:>22} bound {t.bound!s:>22}  {gap}")
        return out


def measure(
    name: str,
    snapshot: Snapshot,
    budget_s: float,
    runs: int,
    evictions: Literal["all", "none"] = "all",
) -> Run:
    """Plan the instance so many times, each with a solver process that is ready."""
    config = Config(budget_ms=int(budget_s * 1000), evictions=evictions)
    seconds: list[float] = []
    last: Plan | None = None
    for _ in range(runs):
        with SolverProcess(config.memory_limit_mib) as process:
            process.wait()
            t = time.perf_counter()
            last = plan(snapshot, config, process=process)
            seconds.append(time.perf_counter() - t)
    assert last is not None
    waiting = sum(p.node is None for p in snapshot.pods)
    return Run(name, len(snapshot.pods), waiting, tuple(seconds), last)


def rows(short: bool, runs: int) -> list[Row]:
    """Measure every instance."""
    del short
    out: list[Row] = []
    for name, mix in CASES.items():
        snapshot = mixture(mix)
        t = time.perf_counter()
        passed = first_fit(snapshot)
        plain = time.perf_counter() - t
        run = measure(name, snapshot, BUDGET_S, runs)
        out.append(row_of(run, mix.nodes, plain, len(passed)))
    return out


def row_of(run: Run, nodes: int, plain: float, started_plain: int) -> Row:
    """Return the figures of an instance."""
    made = run.plan
    tiers = {t.name: (str(t.value), str(t.bound)) for t in made.objective}
    return Row(
        run.name, nodes, run.pods, run.waiting, list(run.seconds), plain=[plain],
        started=len(made.binds) + len(made.nominations), started_plain=started_plain,
        evicted=len(made.evictions), gap=made.solver.gap, engine=made.solver.engine,
        note="; ".join(run.lines()[2:]), more={"tiers": tiers},
    )  # fmt: skip


register(Subject("mixture", "Mixed work on small clusters, with the gap of every tier; 5 s.", rows))
