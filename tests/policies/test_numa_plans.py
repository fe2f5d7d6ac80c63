"""Plans on small clusters with NUMA cells: legal, as good as can be, and both halves agree."""

from collections import Counter
from functools import partial
from random import Random

from msgspec.structs import replace

from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.testing import agrees
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from oracle.cell_worlds import cell_world
from oracle.cells import cell_problems
from oracle.cluster import Cluster
from oracle.legality import violations
from oracle.worlds import settings
from properties.optimal import faults
from properties.trials import Property, Tally, on_clusters

from .agreement import Told, decisions
from .builders import rule

NUMA = rule("numa")


def test_plans_are_legal_and_as_good_as_can_be(process: SolverProcess) -> None:
    tally = Tally()
    prop = Property(
        lambda seed: (cell_world(seed, "tiny"), replace(settings(seed), deterministic=True)),
        partial(faults, process, tally),
    )

    on_clusters(range(140), tally, prop)

    assert tally.counts["optimum compared"] > 110
    assert tally.counts["with evictions"] > 10


def test_no_plan_is_illegal(process: SolverProcess) -> None:
    on_cells = 0
    for seed in range(200, 260):
        world, config = cell_world(seed, "small"), replace(settings(seed), deterministic=True)

        made = plan(world, config, process=process)

        gone = {e.pod for e in made.evictions}
        assert violations(world, config, made.places, gone) == []
        strict = {n.name for n in world.nodes if n.numa is not None and n.numa.strict}
        on_cells += sum(n in strict for n in made.places.values())
    assert on_cells > 40


def test_both_halves_say_what_the_brute_force_says(process: SolverProcess) -> None:
    said: Counter[bool] = Counter()
    for seed in range(150):
        config = settings(seed)
        world = cell_world(seed, "tiny")
        scene = Scene(world, config, rules_for(config))
        cluster = Cluster(world, config)
        board = Told(scene, process, NUMA)
        told: list[tuple[Outcome, int]] = []
        for outcome in decisions(scene, process, Random(seed)):
            same = board.as_told(outcome)
            assert same is not None
            told.append((same[0], board.best(same[1]) is not None))
            started = {cluster.pod_index[p.key]: i for p, i in same[0].new_pods}
            gone = {cluster.pod_index[k] for k in same[0].evicted}
            want = next(cell_problems(cluster, started, gone), None) is None
            assert want == (not list(NUMA.check(same[0]))), (seed, same[0].places)
            said[want] += 1
        assert agrees(NUMA, told), seed
    assert min(said.values()) > 60, said
