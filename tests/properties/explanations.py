"""Explanations judged: conflicts are minimal, exchanges fail as said, changes start the group."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice, product

from msgspec.structs import replace
from ortools.sat.python import cp_model

from apportion.adapters.ask.change import Change
from apportion.adapters.ask.explain import Explanation, explain
from apportion.adapters.ask.rivals import Order
from apportion.models import Config, GroupKey, Plan, Reclaims, Snapshot, snapshot_of
from apportion.models.advance import advance
from apportion.models.amounts import ZERO
from apportion.models.edit import edited
from apportion.models.edits import Edit
from apportion.models.snapshot import read, write
from apportion.policies.evictable import evictable
from apportion.policies.exchange import exchange
from apportion.policies.givers import Giver, starters, takeable
from apportion.policies.members import Standing
from apportion.policies.min_runtime import has_yet_to_run
from apportion.policies.objection import Objection
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
from oracle.envy import objections as counting
from oracle.search import Oversize
from properties.smaller import all_less

NAMED = "it would start"
"""So begins what is said of an exchange that is legal, and fails by the order list."""
MOST_WAYS, FEW = 12, 7


@dataclass(frozen=True)
class Told:
    """A change that is told, planned afresh."""

    kind: str
    says: str
    starts: bool
    smallest: bool
    """As the explanation says."""
    enumerated: bool = False
    """All smaller ones of its kind were planned, or there is none."""
    smaller: str = ""
    """One of them that starts the group as well."""


@dataclass(frozen=True)
class Judged:
    """One explanation, and what is wrong with it."""

    group: str
    held_by: str
    exchange: str = ""
    """How it is held by the order: an exchange by name, obstacles, or none at all."""
    by_brute_force: bool = False
    """Every exchange was tried by the brute force as well."""
    changes: tuple[Told, ...] = ()
    left_out: tuple[str, ...] = ()
    conflict_faults: tuple[str, ...] = ()
    order_faults: tuple[str, ...] = ()

    @property
    def change_faults(self) -> tuple[str, ...]:
        return (
            *(f"{c.says} does not start {self.group}" for c in self.changes if not c.starts),
            *(f"{c.says}: {c.smaller} starts {self.group} as well"
              for c in self.changes if c.smallest and c.smaller),
        )  # fmt: skip


@dataclass
class Case:
    """A cluster, and the plan that holds some of its groups."""

    snapshot: Snapshot
    settings: Config
    plan: Plan
    process: SolverProcess
    is_small: bool = True
    """Every smaller change is tried, and every exchange by the brute force."""

    @cached_property
    def outcome(self) -> Outcome:
        scene = Scene(self.snapshot, self.settings, rules_for(self.settings))
        return Outcome.of_plan(scene, self.plan)

    @cached_property
    def objections(self) -> Sequence[Objection]:
        return list(objections(self.outcome))

    @cached_property
    def counting(self) -> Sequence[tuple[GroupKey, str]] | None:
        """Return who objects to the plan, by the brute force; None where it cannot tell."""
        followed = self.settings.evictions == "all" and not self.settings.off
        if not (self.is_small and followed):
            return None
        gone = [e.pod for e in self.plan.evictions]
        try:
            found = counting(self.snapshot, self.settings, self.plan.places, gone)
        except Oversize:
            return None
        return [(o.group, f"item {o.item}, {o.why}, {o.gives_way}") for o in found]

    def starts(self, key: GroupKey, edits: Sequence[Edit]) -> bool:
        """Say whether a fresh plan of the edited cluster starts more of the group."""
        other = read(write(edited(self.snapshot, edits)))
        made = plan(other, self.settings, process=self.process)
        return _stand(other, made, key) > _stand(self.snapshot, self.plan, key)


def _stand(of: Snapshot, made: Plan, key: GroupKey) -> int:
    """Count the group's pods that run or have a place."""
    gone = {e.pod for e in made.evictions}
    mine = [p for p in of.pods if p.group == key]
    kept = sum(p.state == "running" and p.key not in gone for p in mine)
    return kept + sum(p.key in made.places for p in mine)


def judged(
    of: Case, key: GroupKey, changes: bool = True, stop: Callable[[], bool] = lambda: False
) -> Judged:
    """Explain a group, and judge all that is said of it."""
    scene = of.outcome.scene
    found = explain(
        of.snapshot, of.settings, key, process=of.process, known=of.plan, changes=changes, stop=stop
    )
    in_conflict: list[str] = []
    if found.held_by != "hold":
        could = bool(standing_of(scene).could_run[key])
        conflict = conflict_of(scene, key, of.process)
        if could == (conflict is not None) or (found.held_by == "rules") == could:
            in_conflict.append(f"could run: {could}, held by {found.held_by}, and {conflict}")
        if conflict is not None:
            in_conflict += conflict_faults(conflict, found)
    brute = found.order is not None and of.counting is not None
    return Judged(
        key, found.held_by, _exchange(found.order), brute,
        tuple(_told(of, key, c) for c in found.changes), found.left_out, tuple(in_conflict),
        tuple(order_faults(of, key, found.order) if found.order is not None else ()),
    )  # fmt: skip


def _exchange(order: Order | None) -> str:
    if order is None:
        return ""
    if order.room:
        return "plan cut short"
    named = "by name" if order.says.startswith(NAMED) else "obstacles"
    return named if order.rivals else "none"


def _told(of: Case, key: GroupKey, change: Change) -> Told:
    less = all_less(of.snapshot, key, change.edits) if of.is_small else None
    smaller = next((x for x in less or () if of.starts(key, x)), ())
    return Told(
        change.kind, change.says, of.starts(key, change.edits), change.smallest,
        less is not None, " and ".join(map(str, smaller)),
    )  # fmt: skip


# Conflicts


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


def conflict_faults(conflict: Conflict, found: Explanation) -> Iterator[str]:
    """Drop each member of a conflict in its turn."""
    subjects = conflict.subjects
    if not (conflict.minimal and found.minimal):
        yield "not proven minimal"
    if not found.conflict:
        yield "no conflict is told"
    if can_hold(conflict.told, subjects):
        yield f"{subjects} can hold together"
    for s in subjects:
        if not can_hold(conflict.told, [x for x in subjects if x != s]):
            yield f"{subjects} cannot hold even without {s}"


# The order


def order_faults(of: Case, key: GroupKey, order: Order) -> Iterator[str]:
    """Check that the list does not object, that the exchange is as named, and each claim."""
    if not of.plan.solver.order_proven:
        return
    yield from (f"the order list objects: {o}" for o in of.objections if o.group == key)
    for group, says in of.counting or ():
        if group == key:
            yield f"the brute force objects: {says}"
    yield from claim_faults(of.outcome, key, order)
    if order.says.startswith(NAMED):
        yield from exchange_faults(of.outcome, key, order)
    elif order.rivals:
        yield from obstacle_faults(of.outcome, key, [r.group for r in order.rivals])
    elif not order.room:
        yield from _some_exchange(of.outcome, key)


def claim_faults(outcome: Outcome, key: GroupKey, order: Order) -> Iterator[str]:
    scene = outcome.scene
    g = scene.snapshot.group(key)
    for r in order.rivals:
        h = scene.snapshot.group(r.group)
        m, own = scene.roster[r.group], h.queue == g.queue
        runs = r.way.startswith("running")
        queue = scene.tree.queues.get(g.queue)
        lower = queue is not None and queue.reclaims is Reclaims.LOWER
        facts = {
            "priority": (own or lower or scene.config.priority_everywhere)
            and (top(scene, r.group) >= g.priority if runs else h.priority > g.priority),
            "age": own and h.created_s <= g.created_s,
            "later": own and (top(scene, r.group) if runs else h.priority) < g.priority,
            "shape": own and h.created_s > g.created_s,
            "repair": m.standing is Standing.BROKEN,
            "fixed": not all(evictable(scene, p) for p in m.running),
            "polite": not g.may_preempt,
            "settings": scene.config.evictions != "all",
            "budget": True,
            "runtime": has_yet_to_run(scene, g.queue, m),
        }
        if not facts.get(r.claim, not own):
            yield f"{r.group}: {r.claim} is not so"


def top(scene: Scene, key: GroupKey) -> int:
    m = scene.roster[key]
    return max([m.group.priority, *(p.priority for p in (*m.running, *m.pending))])


def exchange_faults(outcome: Outcome, key: GroupKey, order: Order) -> Iterator[str]:
    """Check that the exchange is legal, and that none of the rivals could stay."""
    pool = _pool(outcome, key)
    names = [(r.group, r.way, r.pods) for r in order.rivals]
    alike = [[g for g in pool if (g.group, g.way, len(g.pods)) == name] for name in names]
    ways = [some for some in product(*alike) if len(set(map(_pods, some))) == len(some)]
    legal = [some for some in islice(ways, MOST_WAYS) if exchange(outcome, key, some) is not None]
    if not legal:
        yield f"the exchange with {names} is not legal"
    for some in legal[:1]:
        for g in some:
            fewer = [x for x in some if x is not g]
            if fewer and exchange(outcome, key, fewer) is not None:
                yield f"of {names}, {g} could stay"


def _pods(of: Giver) -> tuple[str, ...]:
    return tuple(p.key for p in of.pods)


def _pool(outcome: Outcome, key: GroupKey) -> list[Giver]:
    new = [g for g in starters(outcome) if g.group != key]
    return [*new, *takeable(outcome, key)]


def _some_exchange(outcome: Outcome, key: GroupKey) -> Iterator[str]:
    """Look for an exchange where none is said to be legal; large pools are left out."""
    pool = _pool(outcome, key)
    for n in range(1, len(pool) + 1) if len(pool) <= FEW else ():
        for some in combinations(pool, n):
            if exchange(outcome, key, some) is not None:
                yield f"there is an exchange, with {', '.join(map(str, some))}"
                return


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
