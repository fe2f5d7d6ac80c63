"""Priority matters: small clusters as in arXiv 2511.08373, made anew from the paper's description.

4 to 32 equal nodes, 4 or 8 pods a node, 1 to 4 priorities, 90 to 105 % of cpu and memory requested;
single pods of uniformly drawn requests, all waiting: nothing runs, and nothing has to move. Beside
the plan stand the plain pass and the paper's formulation (a 0-1 variable for each pod and node; the
priorities from the top, each as many pods as can be, then kept) with the same budget.
"""

import os
import random
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python import cp_model

from apportion.adapters.plan_check import scene_of
from apportion.models import (
    Amounts,
    Config,
    Group,
    Node,
    NodeName,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    Queue,
    QueueName,
    Snapshot,
    snapshot_of,
)
from apportion.policies.fairness import Work
from apportion.policies.legality import verify
from apportion.policies.levels import TIERS
from apportion.policies.outcome import Outcome
from apportion.solver.entry import plan
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of
from apportion.solver.process import SolverProcess

from .first_fit import first_fit
from .instances import GIB, NOW_S
from .subjects import Row, Subject, register

MIB = GIB // 1024
QUEUE = QueueName("default")


@dataclass(frozen=True)
class Small:
    """One instance of the paper."""

    nodes: int
    pods_a_node: int
    priorities: int
    requested: int
    """Percent of the cluster's cpu and memory."""
    seed: int


def small(of: Small) -> Snapshot:
    """Return the cluster: nodes are cut to what the pods ask for, so that the percentage holds."""
    rng = random.Random(f"{of}")
    count = of.nodes * of.pods_a_node
    asks = [(rng.randint(100, 1000), rng.randint(100, 1000)) for _ in range(count)]
    cpu = sum(c for c, _ in asks) * 100 // (of.requested * of.nodes)
    memory = sum(m for _, m in asks) * 100 // (of.requested * of.nodes)
    amounts = Amounts({"cpu": cpu, "memory": memory * MIB, "pods": 110})
    groups, pods = [], []
    for k, (c, m) in enumerate(asks):
        g = Group("small", f"p{k:03d}", QUEUE, priority=rng.randrange(of.priorities) * 100,
                  created_s=NOW_S - count + k)  # fmt: skip
        spec = PodSpec(Amounts({"cpu": c, "memory": m * MIB}))
        groups.append(g)
        pods.append(Pod("small", g.name, spec, PodState.PENDING, g.key, priority=g.priority,
                        created_s=g.created_s))  # fmt: skip
    return snapshot_of(
        taken_at_s=NOW_S, groups=groups, pods=pods, queues=[Queue(QUEUE)],
        nodes=[Node(NodeName(f"node-{i:02d}"), amounts) for i in range(of.nodes)],
    )  # fmt: skip


def instances(seeds: int) -> Iterator[Small]:
    for nodes in (4, 8, 16, 32):
        for pods in (4, 8):
            for priorities in (1, 2, 4):
                for requested in (90, 95, 100, 105):
                    for seed in range(seeds):
                        yield Small(nodes, pods, priorities, requested, seed)


Grid = list[list[int]]
"""By pod and node, whether it starts there."""


def formulation(snapshot: Snapshot, budget_s: float) -> tuple[Grid | None, bool]:
    """Solve as the paper does; return what starts where, and whether it is proven."""
    end = time.monotonic() + budget_s
    model = cp_model.CpModel()
    x = [[model.new_bool_var("") for _ in snapshot.nodes] for _ in snapshot.pods]
    for row in x:
        model.add_at_most_one(row)
    for j, n in enumerate(snapshot.nodes):
        for r, unit in (("cpu", 1), ("memory", MIB)):
            uses = [(x[i][j], p.spec.requests[r] // unit) for i, p in enumerate(snapshot.pods)]
            model.add(sum(v * a for v, a in uses) <= n.allocatable[r] // unit)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = len(os.sched_getaffinity(0))
    best: Grid | None = None
    for priority in sorted({p.priority for p in snapshot.pods}, reverse=True):
        total = sum(v for row, p in zip(x, snapshot.pods, strict=True) for v in row
                    if p.priority == priority)  # fmt: skip
        left = end - time.monotonic()
        if left <= 0:
            return best, False
        model.maximize(total)
        solver.parameters.max_time_in_seconds = left
        status = solver.solve(model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            best = [[solver.value(v) for v in row] for row in x]
            model.clear_hints()
            for row, values in zip(x, best, strict=True):
                for v, value in zip(row, values, strict=True):
                    model.add_hint(v, value)
        if status != cp_model.OPTIMAL:
            return best, False
        model.add(total >= round(solver.objective_value))
    return best, True


Places = Mapping[PodKey, NodeName]


def places_of(snapshot: Snapshot, best: Grid | None) -> Places:
    return {
        p.key: n.name
        for p, row in zip(snapshot.pods, best or (), strict=best is not None)
        for n, value in zip(snapshot.nodes, row, strict=True)
        if value
    }


def _counts(snapshot: Snapshot, started: Collection[PodKey]) -> tuple[int, ...]:
    """Return how many pods start at each priority, the highest first."""
    out = {p.priority: 0 for p in snapshot.pods}
    for key in started:
        out[snapshot.pods_by_key[key].priority] += 1
    return tuple(n for _, n in sorted(out.items(), reverse=True))


class Judge:
    """Measures plans by our own tiers of work, which are no sums of pods but of what they ask for.

    A plan by work is often one of fewer, larger pods.
    """

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self._scene = scene_of(snapshot, config)
        self._levels = levels_of(self._scene, rank_and_place(self._scene))

    def work(self, places: Places) -> tuple[int, ...]:
        """Return the values of the tiers; raises if the places break a rule."""
        outcome = Outcome(self._scene, places, frozenset())
        outcome.levels = self._levels
        wrong = verify(outcome)
        if wrong:
            raise ValueError(f"what is compared breaks {wrong[0]}")
        return tuple(Work(t).measure(outcome) for t in TIERS)


@dataclass
class _Tally:
    n: int = 0
    proven: int = 0
    proven_theirs: int = 0
    better: int = 0
    worse: int = 0
    """By work, against the paper's formulation."""
    fewer: int = 0
    """By pods and priority, against it."""
    worse_than_plain: int = 0
    """By work."""
    fewer_than_plain: int = 0


def rows(short: bool, runs: int) -> list[Row]:
    """Measure by number of pods; both budgets in the full round."""
    del runs  # every instance once: there are many
    out: list[Row] = []
    seeds, budgets = (1, (1.0,)) if short else (6, (1.0, 10.0))
    chosen = list(instances(seeds))
    if short:
        chosen = [s for s in chosen if s.nodes <= 8 and s.requested in (95, 105)]
    for budget in budgets:
        for pods in sorted({s.nodes * s.pods_a_node for s in chosen}):
            out.append(_row([s for s in chosen if s.nodes * s.pods_a_node == pods], pods, budget))
    return out


def _row(chosen: list[Small], pods: int, budget: float) -> Row:
    tally, config = _Tally(), Config(budget_ms=int(1000 * budget))
    row = Row(f"{pods} pods, {budget:g} s", pods=pods, waiting=pods, started=0, started_plain=0)
    theirs_s: list[float] = []
    for of in chosen:
        snapshot = small(of)
        t = time.perf_counter()
        passed = {k: NodeName(n) for k, n in first_fit(snapshot).items()}
        row.plain.append(time.perf_counter() - t)
        with SolverProcess(config.memory_limit_mib) as process:
            process.wait()
            t = time.perf_counter()
            made = plan(snapshot, config, process=process)
            row.seconds.append(time.perf_counter() - t)
        t = time.perf_counter()
        best, proven = formulation(snapshot, budget)
        theirs_s.append(time.perf_counter() - t)
        theirs, judge = places_of(snapshot, best), Judge(snapshot, config)
        work = judge.work(made.places)
        tally.n += 1
        admitted = [t for t in made.objective if t.name in TIERS]
        tally.proven += all(t.gap == 0 for t in admitted)
        tally.proven_theirs += proven
        tally.better += work > judge.work(theirs)
        tally.worse += work < judge.work(theirs)
        tally.worse_than_plain += work < judge.work(passed)
        counts = _counts(snapshot, made.places)
        tally.fewer += counts < _counts(snapshot, theirs)
        tally.fewer_than_plain += counts < _counts(snapshot, passed)
        row.started = (row.started or 0) + len(made.binds)
        row.started_plain = (row.started_plain or 0) + len(passed)
        row.nodes = max(row.nodes, of.nodes)
    row.engine = "exact"
    row.note = (
        f"{tally.n} instances: admission proven in {100 * tally.proven / tally.n:.0f} %, by the "
        f"paper's formulation {100 * tally.proven_theirs / tally.n:.0f} %; more work than it in "
        f"{tally.better}, less in {tally.worse}, less than the plain pass in "
        f"{tally.worse_than_plain}; fewer pods by priority than these in {tally.fewer} and in "
        f"{tally.fewer_than_plain}"
    )
    row.wanted = "80 % proven in 1 s, 95 % in 10 s; never worse"
    row.more = {**vars(tally), "formulationSeconds": theirs_s}
    return row


register(
    Subject(
        "priority matters",
        "Small clusters as in arXiv 2511.08373: one row a size, over all its instances.",
        rows,
    )
)
