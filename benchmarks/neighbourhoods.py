"""Neighbourhoods: what moving what starts gains over greedy's plan, with all kinds and with one.

Only the improvement is timed: greedy's plan is made before, and both rounds begin with it. Beyond
entitlements the gap may grow where more starts inside them: earlier work comes first. Gaps are to
the certificate of the same plan.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from apportion.models import Config, Snapshot
from apportion.policies.api import Objective
from apportion.policies.goals import goals_for
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.solver.certificate import certified
from apportion.solver.contended import Contended
from apportion.solver.decode import outcome_of
from apportion.solver.entry import settle_greedy
from apportion.solver.greedy import rank_and_place
from apportion.solver.improve import KINDS, improved
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess
from apportion.solver.rows import TierResult
from apportion.solver.search import Clock

from .first_fit import first_fit
from .large import Large, large
from .subjects import Row, Subject, register

SIZES = ((500, 1, 4.0), (500, 2, 4.0), (500, 3, 4.0), (1000, 2, 8.0), (2000, 1, 10.0))
"""Nodes, seed, and seconds for the improvement."""
ROUNDS = (("all kinds", KINDS), ("contended only", (Contended,)))


@dataclass(frozen=True)
class Seen:
    """A plan: gaps in percent, inside entitlements and beyond; what starts and leaves."""

    inside: float
    beyond: float
    starts: int
    leave: int

    def __str__(self) -> str:
        return (
            f"inside {self.inside:.4f} %, beyond {self.beyond:.2f} %, {self.starts} start, "
            f"{self.leave} leave"
        )


def rows(short: bool, runs: int) -> list[Row]:
    """Measure every instance, with all kinds and with contended nodes only."""
    sizes = SIZES[:1] if short else SIZES
    return [
        row
        for nodes, seed, seconds in sizes
        for row in measured(large(Large(nodes, 2 * nodes, seed=seed)), seed, seconds, runs)
    ]


def measured(snapshot: Snapshot, seed: int, seconds: float, runs: int) -> Sequence[Row]:
    """Improve greedy's plan of the cluster for so many seconds, so many times by each round."""
    began = time.perf_counter()
    passed = first_fit(snapshot)
    plain = time.perf_counter() - began
    config = Config()
    scene = Scene(snapshot, config, rules_for(config))
    ranked = rank_and_place(scene)
    levels, goals = levels_of(scene, ranked), goals_for(config, scene.rules)
    first = settle_greedy(scene, ranked, levels)
    before = _seen(outcome_of(scene, first, levels), goals)
    out: list[Row] = []
    for name, kinds in ROUNDS:
        row = Row(
            f"{len(snapshot.nodes)} nodes, seed {seed}, {name}",
            nodes=len(snapshot.nodes), pods=len(snapshot.pods), plain=[plain] * runs,
            started_plain=len(passed), wanted=f"{seconds:g} s",
        )  # fmt: skip
        seen = before
        for _ in range(runs):
            with SolverProcess() as process:
                process.wait()
                own, began = time.process_time(), time.perf_counter()
                made = improved(scene, levels, goals, first, process, Clock(seconds), kinds)
                row.seconds.append(time.perf_counter() - began)
                row.cpu.append(time.process_time() - own)
            seen = _seen(outcome_of(scene, made, levels), goals)
            row.started, row.evicted, row.gap = seen.starts, seen.leave, seen.inside / 100
        row.note = f"greedy: {before}; then: {seen}"
        out.append(row)
    return out


def _seen(outcome: Outcome, goals: Sequence[Objective]) -> Seen:
    tiers = certified(outcome, [TierResult(g, g.measure(outcome), None) for g in goals])
    gaps = {
        t.goal.name: 100.0 if t.bound is None else 100 * (t.bound - t.value) / max(1, t.bound)
        for t in tiers
    }
    return Seen(gaps["entitled"], gaps["surplus"], len(outcome.places), len(outcome.evicted))


register(
    Subject("neighbourhoods", "What is moved beside greedy's plan, and what that gains.", rows)
)
