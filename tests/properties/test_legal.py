"""No plan breaks a rule: not to the checker, not to the brute force; and its document reads back."""

import json

import pytest

from apportion.adapters.plan_check import order_violations, scene_of, violations_of
from apportion.adapters.plan_file import given
from apportion.models import Config, Snapshot
from apportion.models.plan import from_document, to_document
from apportion.models.value import to_json
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.legality import violations
from properties.clusters import LARGE
from properties.trials import Tally, on_clusters, shards


@pytest.mark.parametrize("shard", shards(8, 10_000))
def test_plan_breaks_no_rule_and_reads_back(
    shard: int, solver: SolverProcess, tally: Tally
) -> None:
    def check(snapshot: Snapshot, config: Config) -> None:
        made = plan(snapshot, config, process=solver)
        tally.note(made)
        scene = scene_of(snapshot, config)

        assert violations_of(made, scene) == []
        if not config.off:
            gone = [e.pod for e in made.evictions]
            assert violations(snapshot, config, made.places, gone) == []
        if made.solver.order_proven:
            assert list(order_violations(given(made), scene)) == []
        assert from_document(json.loads(to_json(to_document(made)))) == made

    on_clusters(shard, LARGE, tally, check)
