"""Equal input gives equal plans: in whatever order, under whatever names, in whatever process."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.sameness import renamed_faults, shuffled_faults
from properties.trials import Property, Tally, on_clusters, shards


@pytest.mark.parametrize("seeds", shards(100, 500_000))
def test_order_of_objects_plays_no_part(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    faults = partial(shuffled_faults, solver, tally)
    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), faults))


@pytest.mark.parametrize("seeds", shards(100, 600_000))
def test_names_play_no_part_but_for_their_order(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    faults = partial(renamed_faults, solver, tally)
    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), faults))


DIGESTS = """
from msgspec.structs import replace
from apportion.models import Config
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from apportion.adapters.settle import apply_plan
from oracle.worlds import world
from properties.clusters import cluster
from properties.configs import config as of
config = Config(deterministic=True, budget_ms=2000)
for seed in (*range(20), 63):
    now, settings = cluster(seed), replace(of(seed), engine="greedy", deterministic=True)
    for _ in range(2):
        made = plan(now, settings)
        print(made.digest)
        now = apply_plan(now, made)
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
