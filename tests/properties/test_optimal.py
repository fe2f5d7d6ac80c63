"""On clusters small enough to try every plan: values are optimal, bounds hold, nobody objects."""

from collections.abc import Sequence

import pytest

from apportion.adapters.plan_check import order_violations
from apportion.adapters.plan_file import given
from apportion.models import Config, Snapshot, TierRow
from apportion.policies.fairness import weights_of
from apportion.policies.levels import TIERS
from apportion.solver.process import SolverProcess
from oracle.envy import objections
from oracle.search import Oversize, optimum, worth
from properties.clusters import SMALL
from properties.solved import Solved, solved
from properties.trials import Tally, on_clusters, shards


@pytest.mark.parametrize("shard", shards(6, 30_000))
def test_small_clusters_are_solved_as_well_as_can_be(
    shard: int, solver: SolverProcess, tally: Tally
) -> None:
    def check(snapshot: Snapshot, config: Config) -> None:
        made = solved(snapshot, config, solver)
        tally.note(made.plan)
        plan, found = made.plan, made.found
        gone = [e.pod for e in plan.evictions]

        assert (plan.solver.engine, plan.solver.status) == ("exact", "optimal")
        assert plan.solver.order_proven
        assert list(order_violations(given(plan), made.scene)) == []
        try:
            assert objections(snapshot, config, plan.places, gone) == []
            levels = made.worth_by_level()
            best = optimum(snapshot, config, levels)
        except Oversize:
            tally.counts["too large to try every plan"] += 1
            return
        assert best is not None
        vector, _ = best
        reached = worth(snapshot, config, levels, found.places, found.evicted)
        assert reached == vector
        tally.counts["every plan tried"] += 1
        wrong = wrong_bounds(plan.objective, optimal_work(made, vector))
        assert wrong == []

    on_clusters(shard, SMALL, tally, check, judged=True)


def optimal_work(made: Solved, vector: Sequence[int]) -> dict[str, int]:
    """Return the optimum of each tier of work, out of the vector over all levels."""
    width = len(vector) // max(1, len(made.order))
    out = dict.fromkeys(TIERS, 0)
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
