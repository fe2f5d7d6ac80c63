"""Priority instances: small clusters as in arXiv 2511.08373, from the paper's description.

4 to 32 equal nodes, 4 or 8 pods a node, 1 to 4 priorities, 90 to 105 % of cpu and memory requested;
single pods of uniformly drawn requests, all waiting: nothing runs, and nothing has to move. Also
the paper's formulation (a 0-1 variable for each pod and node; the priorities from the top, each as
many pods as can be, then kept), and what plans are compared by: work level by level, as our order
has it, and pods by priority, as the paper has it.
"""

import os
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

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
from apportion.solver.greedy import rank_and_place
from apportion.solver.leveling import levels_of

from .instances import GIB, NOW_S

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
    """Yield all instances, seed after seed, each in an order in which any stretch is a mixture."""
    kinds = list(product((4, 8, 16, 32), (4, 8), (1, 2, 4), (90, 95, 100, 105)))
    for seed in range(seeds):
        random.Random(seed).shuffle(kinds)
        for kind in kinds:
            yield Small(*kind, seed)


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


def counts_of(snapshot: Snapshot, started: Collection[PodKey]) -> tuple[int, ...]:
    """Return how many pods start at each priority, the highest first."""
    out = {p.priority: 0 for p in snapshot.pods}
    for key in started:
        out[snapshot.pods_by_key[key].priority] += 1
    return tuple(n for _, n in sorted(out.items(), reverse=True))


def cannot_be_more(snapshot: Snapshot, counts: Sequence[int]) -> bool:
    """Say whether no plan starts more pods by priority: by the room of all nodes together.

    Of each priority the smallest pods by one resource, beside the smallest of those before.
    """
    by: dict[int, list[Pod]] = {}
    for p in snapshot.pods:
        by.setdefault(p.priority, []).append(p)
    ordered = [by[priority] for priority in sorted(by, reverse=True)]
    room = {r: sum(n.allocatable[r] for n in snapshot.nodes) for r in ("cpu", "memory")}
    for pods, count in zip(ordered, counts, strict=True):
        if count < len(pods):
            asks = {r: sorted(p.spec.requests[r] for p in pods) for r in room}
            if all(sum(asks[r][: count + 1]) <= left for r, left in room.items()):
                return False
        room = {
            r: left - sum(sorted(p.spec.requests[r] for p in pods)[:count])
            for r, left in room.items()
        }
    return True


class Judge:
    """Measures plans by our own levels of work, which count what pods ask for, not pods.

    A plan by work is often one of fewer, larger pods.
    """

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self._scene = scene_of(snapshot, config)
        self._levels = levels_of(self._scene, rank_and_place(self._scene))

    def work(self, places: Places) -> tuple[int, ...]:
        """Return the work of each level, first things first; raises if the places break a rule."""
        outcome = Outcome(self._scene, places, frozenset())
        outcome.levels = self._levels
        wrong = verify(outcome)
        if wrong:
            raise ValueError(f"what is compared breaks {wrong[0]}")
        return tuple(
            Work(t).measure_at(outcome, level) for t in TIERS for level in self._levels.order(t)
        )
