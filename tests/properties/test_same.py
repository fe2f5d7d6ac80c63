"""Equal input gives equal plans: in whatever order, under whatever names, in whatever process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion.models import Config, Plan, Snapshot
from apportion.models.plan import to_document
from apportion.models.value import to_json
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.renaming import longer, longer_key, renamed, renamed_config, shuffled
from properties.trials import Fault, Property, Tally, on_clusters, shards

APART = "plans that should be the same"


@pytest.mark.parametrize("seeds", shards(100, 500_000))
def test_order_of_objects_plays_no_part(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    def faults(snapshot: Snapshot, settings: Config) -> Iterator[Fault]:
        first = plan(snapshot, settings, process=solver)
        tally.note(first)
        mixed = shuffled(snapshot, len(snapshot.pods))

        second = plan(mixed, settings, previous=first, process=solver)

        if to_json(to_document(second)) != to_json(to_document(first)):
            yield Fault(APART, f"{first.digest} and {second.digest}, in another order")

    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), faults))


@pytest.mark.parametrize("seeds", shards(100, 600_000))
def test_names_play_no_part_but_for_their_order(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    def faults(snapshot: Snapshot, settings: Config) -> Iterator[Fault]:
        made = plan(snapshot, settings, process=solver)
        tally.note(made)

        other = plan(renamed(snapshot), renamed_config(settings), process=solver)

        mine, want = _said(other), _said(made, longer, longer_key)
        for part in (p for p in want if mine[p] != want[p]):
            yield Fault(APART, f"{part}: {mine[part]} instead of {want[part]}")

    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), faults))


def _same(name: str) -> str:
    return name


def _said(made: Plan, name: Any = _same, key: Any = _same) -> dict[str, Any]:
    """Return all that the plan says, but for sentences and digests, with names changed."""
    return {
        "binds": [(key(b.pod), key(b.group), name(b.node)) for b in made.binds],
        "nominations": [(key(n.pod), key(n.group), name(n.node)) for n in made.nominations],
        "evictions": [
            (key(e.pod), key(e.group), name(e.node), list(map(key, e.beneficiaries)), dict(e.cost))
            for e in made.evictions
        ],
        "held": [
            (key(h.group), list(map(key, h.pods)), [r.rule for r in h.reasons]) for h in made.held
        ],
        "queues": [
            (name(q.name), q.allocated, dict(q.deserved), q.entitlement, q.dominant_share)
            for q in made.queues
        ],
        "objective": made.objective,
        "solver": made.solver,
    }


DIGESTS = """
from apportion.models import Config
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.worlds import world
config = Config(deterministic=True, budget_ms=2000)
with SolverProcess() as process:
    for seed in range(40):
        print(plan(world(seed, "small"), config, process=process).digest)
"""


def test_plans_do_not_depend_on_how_the_interpreter_hashes() -> None:
    tests = Path(__file__).parent.parent
    runs = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tests)}
        run = subprocess.run(
            [sys.executable, "-c", DIGESTS], env=env, capture_output=True, text=True, check=True
        )
        runs.append(run.stdout.split())

    assert len(set(runs[0])) > 30, "the worlds are too much alike to show anything"
    assert runs[0] == runs[1]
