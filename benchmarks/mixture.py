"""Mixture: one cycle on clusters of mixed work, with the gap of every tier.

Gangs, three priorities, spread constraints, queues above and below their due, evictions.
"""

import statistics
import time
from dataclasses import dataclass

from apportion.models import Config, Plan, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

from .instances import Mix, mixture

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


def measure(name: str, snapshot: Snapshot, budget_s: float, runs: int) -> Run:
    """Plan the instance so many times, each with a solver process that is ready."""
    config = Config(budget_ms=int(budget_s * 1000))
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


def report(short: bool) -> tuple[list[str], object]:
    """Measure every instance once, or five times."""
    done = [measure(name, mixture(mix), BUDGET_S, 1 if short else 5) for name, mix in CASES.items()]
    lines = [line for run in done for line in run.lines()]
    figures = [
        {
            "name": run.name,
            "seconds": run.seconds,
            "engine": run.plan.solver.engine,
            "tiers": {t.name: (t.value, t.bound) for t in run.plan.objective},
        }
        for run in done
    ]
    return lines, figures
