"""A what-if answers as a fresh plan of the edited cluster does, and tells the difference truly."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from apportion.adapters.ask.whatif import WhatIf, whatif
from apportion.adapters.plan_check import scene_of, violations_of
from apportion.models import Config, Plan, Snapshot
from apportion.models.edit import edited
from apportion.models.snapshot import read, write
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import cluster
from properties.configs import config
from properties.edits import edited_document, random_edits, sizing, with_ends
from properties.trials import Fault, Property, Tally, on_clusters, shards

APART = "what-if and fresh plan apart"
UNTRUE = "differences that are untrue"
EDITED = "edits told twice"


def pods_by_group(snapshot: Snapshot, made: Plan) -> Counter[str]:
    """Count who runs after the plan, from its rows alone."""
    gone = [e.pod for e in made.evictions]
    out: Counter[str] = Counter()
    for p in snapshot.pods:
        if p.group is not None and p.state == "running" and p.key not in gone:
            out[p.group] += 1
    out.update(b.group for b in made.binds)
    out.update(n.group for n in made.nominations)
    return out


def untrue(answer: WhatIf) -> Iterator[str]:
    """Yield what the difference says that the two plans do not."""
    before, after = pods_by_group(*answer.base), pods_by_group(*answer.changed)
    d = answer.difference
    more = {g for g in after if after[g] > before[g]}
    less = {g for g in before if after[g] < before[g]}
    if set(d.starts_more) != more or set(d.starts_less) != less:
        yield f"starts: {d.starts_more} {d.starts_less} instead of {more} {less}"
    lacking = [without_place(*side) for side in (answer.base, answer.changed)]
    known = [set(s.groups_by_key) for s, _ in (answer.base, answer.changed)]
    for g in d.waits_less:
        if lacking[1][g] > lacking[0][g] or g not in known[0] & known[1]:
            yield f"{g} does not wait less"
    for g in d.waits_more:
        if lacking[1][g] < lacking[0][g] or g not in known[0] & known[1]:
            yield f"{g} does not wait more"
    gated = {p.group for s, _ in (answer.base, answer.changed) for p in s.pods if p.gates}
    for g in known[0] & known[1] - gated:
        if lacking[1][g] != lacking[0][g] and g not in (*d.waits_less, *d.waits_more):
            yield f"nothing is said of {g}, of which {lacking[0][g]} and {lacking[1][g]} wait"


def without_place(snapshot: Snapshot, made: Plan) -> Counter[str]:
    """Count, by group, the pods that wait, as the plan itself says it, and those it evicts."""
    del snapshot
    out = Counter({str(h.group): len(h.pods) for h in made.held})
    out.update(e.group for e in made.evictions)
    return out


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    seed = int(snapshot.digest[-8:], 16)
    edits = random_edits(snapshot, seed)
    edits += [] if len(edits) > 2 else sizing(edited(snapshot, edits), seed)

    answer = whatif(snapshot, settings, edits, process=solver)

    other, made = answer.changed
    tally.note(made)
    said = [str(e) for e in edits]
    fresh = read(write(other))
    if fresh != other:
        yield Fault(APART, f"{said}: the edited cluster is not what is read back")
    if plan(fresh, settings, process=solver) != made:
        yield Fault(APART, f"{said}: a fresh plan of the edited cluster is another one")
    if plan(snapshot, settings, process=solver) != answer.base[1]:
        yield Fault(APART, f"{said}: a fresh plan of the cluster is another one")
    for broken in violations_of(made, scene_of(other, settings)):
        yield Fault("plans illegal", f"{said}: {broken}")
    for wrong in untrue(answer):
        yield Fault(UNTRUE, f"{said}: {wrong}")
    twice = edited_document(snapshot, edits)
    if twice is not None:
        tally.counts[EDITED] += 1
        if twice.digest != other.digest:
            yield Fault("edits that differ from their document", f"{said}")


def made(seed: int) -> tuple[Snapshot, Config]:
    return with_ends(cluster(seed), seed), config(seed)


@pytest.mark.parametrize("seeds", shards(100, 910_000))
def test_what_if_is_a_fresh_plan_of_the_edited_cluster(
    seeds: list[int], solver: SolverProcess, tally: Tally
) -> None:
    asked = partial(faults, solver, tally)
    on_clusters(seeds, tally, Property(made, asked))
