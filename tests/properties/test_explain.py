"""Explanations of random held groups: conflicts are minimal, rivals stand, changes do."""

from collections.abc import Iterator
from functools import partial

import pytest

from apportion.models import Config, Snapshot
from apportion.policies.holds import holds
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import SMALL, cluster
from properties.configs import config
from properties.explanations import Case, judged
from properties.trials import Fault, Property, Tally, on_clusters, shards

CONFLICT, ORDER, CHANGE = "wrong conflicts", "wrong rivals", "wrong changes"
BY_RULES, BY_ORDER, CHANGES = "held by rules", "held by order", "changes tried again"
ENUMERATED = "changes of which all smaller ones were tried"
RIVALS = "with rivals"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    made = plan(snapshot, settings, process=solver)
    tally.note(made)
    case = Case(snapshot, settings, made, solver)
    scene = case.outcome.scene
    held = [h.group for h in made.held if h.pods]
    for n, key in enumerate(held[:4]):
        if not scene.roster[key].pending or next(iter(holds(scene, key)), None) is not None:
            continue
        found = judged(case, key, changes=n == 0)
        tally.counts[BY_RULES] += found.held_by == "rules"
        tally.counts[BY_ORDER] += found.held_by == "order"
        tally.counts[RIVALS] += found.exchange in ("by name", "obstacles")
        tally.counts[CHANGES] += len(found.changes)
        tally.counts[ENUMERATED] += sum(c.enumerated for c in found.changes)
        for kind, said in (
            (CONFLICT, found.conflict_faults),
            (ORDER, found.order_faults),
            (CHANGE, found.change_faults),
        ):
            yield from (Fault(kind, f"{key}: {w}") for w in said)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", shards(40, 920_000, 10))
def test_explanations_are_true(seeds: list[int], solver: SolverProcess, tally: Tally) -> None:
    asked = partial(faults, solver, tally)

    def made(seed: int) -> tuple[Snapshot, Config]:
        return cluster(seed, SMALL), config(seed)

    on_clusters(seeds, tally, Property(made, asked))
