"""Repeated cycles come to rest, and what has come to rest stays as it is."""

from collections import Counter

import pytest

from apportion.adapters.plan_check import scene_of, violations_of
from apportion.adapters.settle import apply_plan
from apportion.models import Config, PodKey, Snapshot
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import LARGE
from properties.trials import Tally, on_clusters, shards

MOST = 30
"""Cycles until rest, at most."""


@pytest.mark.parametrize("shard", shards(2, 40_000))
def test_cycles_come_to_rest_and_nobody_takes_turns(
    shard: int, solver: SolverProcess, tally: Tally
) -> None:
    def check(snapshot: Snapshot, config: Config) -> None:
        evicted: Counter[PodKey] = Counter()
        changed = True
        for cycle in range(MOST):
            made = plan(snapshot, config, process=solver)
            assert violations_of(made, scene_of(snapshot, config)) == []
            evicted.update(e.pod for e in made.evictions)
            after = apply_plan(snapshot, made)
            changed = _standing(after) != _standing(snapshot)
            snapshot = after
            if not changed:
                break
        tally.note(made)
        tally.counts["cycles until rest"] += cycle + 1

        assert not changed, f"no rest in {MOST} cycles"
        once_more = plan(snapshot, config, process=solver)
        assert not (once_more.binds or once_more.evictions)
        assert _standing(apply_plan(snapshot, once_more)) == _standing(snapshot)
        assert all(n == 1 for n in evicted.values()), "a pod was evicted, started and evicted again"

    on_clusters(shard, LARGE, tally, check)


def _standing(snapshot: Snapshot) -> object:
    return snapshot.pods, snapshot.nominations, snapshot.groups
