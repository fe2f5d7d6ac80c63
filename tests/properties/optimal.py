"""How good a plan of a small cluster is, by a brute force that tries every plan."""

from collections.abc import Iterator, Sequence

from apportion.adapters.plan_check import order_violations
from apportion.adapters.plan_file import given
from apportion.models import Config, Snapshot, TierRow
from apportion.policies.fairness import weights_of
from apportion.policies.levels import TIERS
from apportion.solver.process import SolverProcess
from oracle.envy import objections
from oracle.legality import violations
from oracle.search import STEPS, Oversize, optimum, worth
from properties.solved import Solved, solved
from properties.trials import BOUNDS, COMPARED, ILLEGAL, OBJECTIONS, WORSE, Fault, Tally

TOO_LARGE = "too large to try every plan"
UNSOLVED = "not solved to the end"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config, steps: int = STEPS
) -> Iterator[Fault]:
    """Give what is illegal, and what the plan misses: of optimum, bounds and the order list."""
    made = solved(snapshot, settings, solver)
    plan, found = made.plan, made.found
    tally.note(plan)
    row = plan.solver

    if (row.engine, row.status) != ("exact", "optimal"):
        yield Fault(UNSOLVED, f"{row.engine}, {row.status}: {row.detail}")
    if not row.order_proven:
        yield Fault("order list not gone through", f"after {row.exchanges} exchanges")
    gone = [e.pod for e in plan.evictions]
    for said in violations(snapshot, settings, plan.places, gone):
        yield Fault(ILLEGAL, said)
    for v in order_violations(given(plan), made.scene):
        yield Fault(OBJECTIONS, str(v))
    try:
        for o in objections(snapshot, settings, plan.places, gone):
            yield Fault(OBJECTIONS, f"to the brute force: {o.item}, {o.why}, {o.gives_way}")
        levels = made.worth_by_level()
        best = optimum(snapshot, settings, levels, limit=steps)
    except Oversize:
        tally.counts[TOO_LARGE] += 1
        return
    if best is None:
        yield Fault(WORSE, "the brute force finds no plan at all")
        return
    tally.counts[COMPARED] += 1
    vector, _ = best
    reached = tuple(worth(snapshot, settings, levels, found.places, found.evicted))
    if reached != tuple(vector):
        yield Fault(WORSE, f"{reached} instead of {vector}")
    for said in wrong_bounds(plan.objective, optimal_work(made, vector)):
        yield Fault(BOUNDS, said)


def optimal_work(made: Solved, vector: Sequence[int]) -> dict[str, int]:
    """Return the optimum of each tier of work, out of the vector over all levels."""
    width = len(vector) // max(1, len(made.order))
    out: dict[str, int] = dict.fromkeys(TIERS, 0)
    for n, level in enumerate(made.order):
        tier = TIERS[level.tier]
        weight = weights_of(made.scene, made.levels, tier)[level]
        out[tier] += weight * vector[n * width]
    return out


def wrong_bounds(rows: Sequence[TierRow], optima: dict[str, int]) -> list[str]:
    """Say which bounds are on the wrong side of their value, or of the true optimum.

    A tier's optimum is known as long as the tiers before it have reached theirs.
    """
    out = []
    comparable = True
    for row in rows:
        if row.bound is None:
            comparable = comparable and row.value == optima.get(row.name, row.value)
            continue
        sign = 1 if row.sense == "max" else -1
        if sign * row.value > sign * row.bound:
            out.append(f"{row.name}: value {row.value} passes the bound {row.bound}")
        best = optima.get(row.name)
        if best is not None and comparable and sign * best > sign * row.bound:
            out.append(f"{row.name}: the optimum {best} passes the bound {row.bound}")
        comparable = comparable and (best is None or row.value == best)
    return out
