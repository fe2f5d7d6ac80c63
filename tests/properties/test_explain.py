"""Explanations of random held groups: conflicts are minimal, rivals stand, changes do."""

from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from msgspec.structs import replace
from ortools.sat.python import cp_model

from apportion.adapters.ask.changes import Change
from apportion.adapters.ask.explain import explain
from apportion.adapters.ask.rivals import Order
from apportion.models import Config, GroupKey, Plan, Snapshot, snapshot_of
from apportion.models.advance import advance
from apportion.models.amounts import ZERO
from apportion.models.edit import edited
from apportion.models.edits import AddNodes, Edit, SetMinimum, SetQueue
from apportion.models.snapshot import read, write
from apportion.policies.evictable import evictable
from apportion.policies.holds import holds
from apportion.policies.members import Standing
from apportion.policies.order import objections
from apportion.policies.outcome import Outcome
from apportion.policies.registry import rules_for
from apportion.policies.scene import Scene
from apportion.policies.standing import standing_of
from apportion.solver.alone import Alone
from apportion.solver.conflict import Conflict, conflict_of
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from apportion.solver.subjects import Subject
from properties.clusters import SMALL, cluster
from properties.configs import config
from properties.trials import Fault, Property, Tally, on_clusters, shards

CONFLICT, ORDER, CHANGE = "wrong conflicts", "wrong rivals", "wrong changes"
BY_RULES, BY_ORDER, CHANGES = "held by rules", "held by order", "changes tried again"
RIVALS = "with rivals"


def can_hold(told: Alone, subjects: Sequence[Subject]) -> bool:
    """Say whether rows can hold together, by a model of our own."""
    model = cp_model.CpModel()
    board = told.board
    xs = [
        model.new_int_var(low, high, "")
        for low, high in zip(board.lower, board.upper_, strict=True)
    ]
    rows = [*told.hard, *(r for s in subjects for r in told.rows[s])]
    for row in rows:
        total = sum(c * xs[v] for v, c in zip(row.vars, row.coefs, strict=True))
        made = model.add(total == row.bound if row.equal else total <= row.bound)
        if row.given:
            made.only_enforce_if([_literal(model, xs[v]) for v in row.given])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE)
    return status != cp_model.INFEASIBLE


def _literal(model: cp_model.CpModel, x: cp_model.IntVar) -> cp_model.IntVar:
    flag = model.new_bool_var("")
    model.add(x == 1).only_enforce_if(flag)
    model.add(x == 0).only_enforce_if(~flag)
    return flag


def conflict_faults(conflict: Conflict) -> Iterator[str]:
    subjects = conflict.subjects
    if not conflict.minimal:
        yield "not proven minimal"
    if can_hold(conflict.told, subjects):
        yield f"{subjects} can hold together"
    for s in subjects:
        if not can_hold(conflict.told, [x for x in subjects if x != s]):
            yield f"{subjects} cannot hold even without {s}"


def rival_faults(outcome: Outcome, key: GroupKey, order: Order) -> Iterator[str]:
    """Check that there is room in their stead, that the list does not object, and each claim."""
    scene = outcome.scene
    g = scene.snapshot.group(key)
    asked = [o for o in objections(outcome) if o.group == key]
    if asked:
        yield f"the order list objects: {asked[0]}"
    for r in order.rivals:
        h = scene.snapshot.group(r.group)
        m, own = scene.roster[r.group], h.queue == g.queue
        runs = r.way.startswith("running")
        facts = {
            "priority": own
            and (top(scene, r.group) >= g.priority if runs else h.priority > g.priority),
            "age": own and h.created_s <= g.created_s,
            "later": own and (top(scene, r.group) if runs else h.priority) < g.priority,
            "shape": own and h.created_s > g.created_s,
            "repair": m.standing is Standing.BROKEN,
            "fixed": not all(evictable(scene, p) for p in m.running),
            "polite": not g.may_preempt,
            "settings": scene.config.evictions != "all",
            "budget": True,
        }
        if not facts.get(r.claim, not own):
            yield f"{r.group}: {r.claim} is not so"
    if order.rivals and not order.says.startswith("it would start"):
        yield from obstacle_faults(outcome, key, [r.group for r in order.rivals])


def obstacle_faults(outcome: Outcome, key: GroupKey, rivals: Sequence[GroupKey]) -> Iterator[str]:
    """Check, on an edited cluster, that the nodes would have room in their stead."""
    snapshot, scene = outcome.scene.snapshot, outcome.scene
    own = {p.key for p in scene.roster[key].running}
    made = advance(snapshot, outcome.places, outcome.evicted - own)
    stays = [p for p in made.pods if p.group == key or (p.holds and p.group not in rivals)]
    fixed = [replace(p, group=None) if p.group != key else p for p in stays]
    groups = [x for x in made.groups if x.key == key]
    queues = [replace(q, capability={}, deserved={}, guarantee=ZERO) for q in made.queues]
    other = snapshot_of(
        taken_at_s=made.taken_at_s, nodes=made.nodes, queues=queues, groups=groups, pods=fixed,
        topologies=made.topologies,
    )  # fmt: skip
    alone = Scene(other, replace(scene.config, queues={}), scene.rules)
    if not standing_of(alone).could_run[key]:
        yield f"even without {rivals} there is no room for it"


def top(scene: Scene, key: GroupKey) -> int:
    m = scene.roster[key]
    return max([m.group.priority, *(p.priority for p in (*m.running, *m.pending))])


def less(change: Change) -> list[Edit] | None:
    """Return the next smaller change of the kind; None where there is none, or not told here."""
    edits = list(change.edits)
    last = edits[-1]
    if isinstance(last, AddNodes) and last.count > 1:
        return [*edits[:-1], AddNodes(last.like, last.count - 1)]
    if isinstance(last, SetMinimum):
        return [*edits[:-1], SetMinimum(last.group, last.minimum + 1)]
    if isinstance(last, SetQueue) and len(edits) == 1 and last.amount:
        return [SetQueue(last.queue, last.setting, last.resource, last.amount - 1)]
    return None


def change_faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config, key: GroupKey,
    changes: Sequence[Change],
) -> Iterator[str]:  # fmt: skip
    def stand(of: Snapshot, made: Plan) -> int:
        """Count the group's pods that run or have a place."""
        gone = {e.pod for e in made.evictions}
        mine = [p for p in of.pods if p.group == key]
        kept = sum(p.state == "running" and p.key not in gone for p in mine)
        return kept + sum(p.key in made.places for p in mine)

    before = stand(snapshot, plan(snapshot, settings, process=solver))

    def starts(edits: Sequence[Edit]) -> bool:
        other = read(write(edited(snapshot, edits)))
        return stand(other, plan(other, settings, process=solver)) > before

    for c in changes:
        tally.counts[CHANGES] += 1
        if not starts(c.edits):
            yield f"{c.says} does not start {key}"
        smaller = less(c) if c.smallest else None
        if smaller is not None and starts(smaller):
            yield f"less than {c.says} starts {key}"


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    made = plan(snapshot, settings, process=solver)
    tally.note(made)
    scene = Scene(snapshot, settings, rules_for(settings))
    outcome = Outcome.of_plan(scene, made)
    held = [h.group for h in made.held if h.pods]
    for n, key in enumerate(held[:4]):
        m = scene.roster[key]
        if not m.pending or next(iter(holds(scene, key)), None) is not None:
            continue
        could = bool(standing_of(scene).could_run[key])
        conflict = conflict_of(scene, key, solver)
        if could == (conflict is not None):
            yield Fault(CONFLICT, f"{key} could run: {could}, and {conflict}")
        if conflict is not None:
            tally.counts[BY_RULES] += 1
            yield from (Fault(CONFLICT, f"{key}: {w}") for w in conflict_faults(conflict))
        found = explain(snapshot, settings, key, process=solver, changes=n == 0)
        if found.order is not None:
            tally.counts[BY_ORDER] += 1
            tally.counts[RIVALS] += bool(found.order.rivals)
            if made.solver.order_proven:
                yield from (
                    (Fault(ORDER, f"{key}: {w}") for w in rival_faults(outcome, key, found.order))
                    if found.order.rivals
                    else ()
                )
        for w in change_faults(solver, tally, snapshot, settings, key, found.changes):
            yield Fault(CHANGE, w)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", shards(40, 920_000, 10))
def test_explanations_are_true(seeds: list[int], solver: SolverProcess, tally: Tally) -> None:
    asked = partial(faults, solver, tally)

    def made(seed: int) -> tuple[Snapshot, Config]:
        return cluster(seed, SMALL), config(seed)

    on_clusters(seeds, tally, Property(made, asked))
