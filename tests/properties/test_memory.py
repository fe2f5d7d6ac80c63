"""What a cycle leaves to the next makes no difference: plans are those of a fresh start."""

from collections.abc import Iterator
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from apportion.adapters.settle import apply_plan
from apportion.models import Config, PodKey, PodState, Snapshot, snapshot_of
from apportion.policies.memory import Memory
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.trials import Fault, Property, Tally, on_clusters, shards

CYCLES = 5
SETS = tuple(
    ["nodes", "pods", "groups", "queues", "budgets", "namespaces", "quotas", "topologies", "claims"]
)


def turned(rng: Random, snapshot: Snapshot) -> Snapshot:
    """Return the cluster with a few things changed; the others are the same objects."""

    def some(one_in: int) -> bool:
        return rng.randrange(one_in) == 0

    now_s = snapshot.taken_at_s
    pods = [p for p in snapshot.pods if not some(12)]
    for i, p in enumerate(pods):
        if some(8):
            pods[i] = replace(p, labels={**p.labels, "turned": str(rng.randrange(3))})
        elif some(10) and p.ours:
            pods[i] = replace(p, preemptable=not p.preemptable, priority=rng.randrange(3))
        elif some(12) and p.holds:
            pods[i] = replace(p, state=PodState.TERMINATING)
    groups = list(snapshot.groups)
    for i, g in enumerate(groups):
        if some(8):
            groups[i] = replace(g, priority=rng.randrange(4), minimum=rng.randrange(3))
        elif some(10):
            groups[i] = replace(g, preemptable=not g.preemptable, may_preempt=some(2))
    for k, g in enumerate(snapshot.groups):
        mine = snapshot.pods_by_group.get(g.key, ())
        if some(6) and mine:
            twin = replace(g, name=f"{g.name}-{now_s}-{k}", created_s=now_s)
            groups.append(twin)
            pods += [
                replace(
                    p, name=f"{p.name}-{now_s}-{k}", group=twin.key, node=None,
                    state=PodState.PENDING, started_s=None, nominated=None, devices=(), cells=(),
                    claimed=(), protected_until_s=None,
                )
                for p in mine
            ]  # fmt: skip
    nodes = [
        replace(n, unschedulable=not n.unschedulable) if some(9) else n for n in snapshot.nodes
    ]
    keys = {p.key for p in pods}
    promises = [(k, n) for k, n in snapshot.nominations if k in keys]
    if some(3) and (waiting := [p.key for p in pods if p.ours and p.state is PodState.PENDING]):
        promised: PodKey = rng.choice(waiting)
        promises = sorted({**dict(promises), promised: rng.choice(nodes).name}.items())
    fields = {name: getattr(snapshot, name) for name in SETS}
    fields |= {"pods": pods, "groups": groups, "nodes": nodes, "nominations": promises}
    return snapshot_of(
        taken_at_s=now_s + rng.randrange(90),
        scheduler_names=snapshot.scheduler_names, **fields,
    )  # fmt: skip


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    memory, rng = Memory(), Random(len(snapshot.pods))
    for _ in range(CYCLES):
        kept = plan(snapshot, settings, process=solver, memory=memory)
        fresh = plan(snapshot, settings, process=solver)
        tally.note(fresh)
        if kept != fresh:
            yield Fault("memory", f"changes the plan: {kept} is not {fresh}")
            return
        snapshot = turned(rng, apply_plan(snapshot, fresh))


@pytest.mark.parametrize("seeds", shards(40, 1_300_000, each=10))
def test_greedy_plans_are_those_of_a_fresh_start(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    def made(seed: int) -> tuple[Snapshot, Config]:
        return cluster(seed), replace(config(seed), engine="greedy")

    on_clusters(seeds, tally, Property(made, partial(faults, solver, tally)))


@pytest.mark.parametrize("seeds", shards(10, 1_400_000, each=5))
def test_searched_plans_are_those_of_a_fresh_start(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    found = partial(faults, solver, tally)
    on_clusters(seeds, tally, Property(lambda seed: (cluster(seed), config(seed)), found))
