"""A plan made beside what is still held is what a full plan would be, and nobody objects to it."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live import gathered as gathering
from apportion.adapters.live.planning import DIRECT, Solving
from apportion.adapters.plan_check import order_violations, scene_of
from apportion.adapters.plan_file import given
from apportion.models import Plan, PodKey, PodState, Snapshot, snapshot_of
from apportion.solver.entry import plan
from oracle.build import Members, budget, foreign, node, queue, snapshot

from .test_gathered import with_equal_specs_once
from .worlds import GREEDY

CONFIG = replace(GREEDY, polish_ms=1000)
ENDS = (PodState.SUCCEEDED, PodState.TERMINATING, None)


def busy(rng: Random) -> Snapshot:
    """Return a cluster that is nearly full, with one gang at least that has to wait."""
    nodes = [f"n{i}" for i in range(rng.randint(2, 5))]
    free = {n: [rng.randint(3, 8), rng.choice((0, 0, 4))] for n in nodes}
    parts: list[Any] = [node(n, cpu, gpus) for n, (cpu, gpus) in free.items()]
    queues = rng.choice((["q0"], ["q0", "q1"], ["q0", "q1", "q2"]))
    able: dict[str, Any] = {"reclaimable": rng.random() < 0.8, "preempts": rng.random() < 0.7}
    above = "top" if len(queues) > 2 and rng.random() < 0.5 else None
    parts += [queue("top")] if above else []
    for q in queues:
        most = {"cpu": 1000 * rng.randint(6, 30)} if rng.random() < 0.3 else {}
        more = {"weight": rng.choice((1, 1, 2)), "priority": rng.choice((0, 0, 1))}
        under = above if q != "q0" else None
        due = rng.choice((None, None, 4, 8))
        parts.append(queue(q, due=due, parent=under, capability=most, **able, **more))
    for i in range(rng.randint(4, 14)):
        at, cpu, gpus = rng.choice(nodes), rng.choice((1, 1, 2, 3)), rng.choice((0, 0, 1))
        if free[at][0] < cpu or free[at][1] < gpus:
            continue
        free[at] = [free[at][0] - cpu, free[at][1] - gpus]
        if rng.random() < 0.15:
            parts.append(foreign(f"f{i}", cpu, at))
            continue
        parts.append(
            Members(
                f"r{i}",
                rng.choice(queues),
                cpu=cpu,
                gpus=gpus,
                on=[at],
                priority=rng.choice((0, 0, 0, 5)),
                preemptable=rng.random() < 0.8,
                pod={"protected_until_s": rng.choice((None, None, 10_001, 10_003))},
            )
        )
        if rng.random() < 0.1:
            parts.append(budget(f"r{i}", rng.choice((0, 1))))
    for i in range(rng.randint(1, 3)):
        size = rng.choice((1, 3, 4, 6))
        parts.append(
            Members(
                f"g{i}",
                rng.choice(queues),
                cpu=rng.choice((2, 3, 4, 9)),
                waiting=size,
                gpus=rng.choice((0, 0, 1)),
                minimum=rng.choice((1, size, size)),
                priority=rng.choice((0, 0, 3)),
                may_preempt=rng.random() < 0.8,
                preemptable=rng.random() < 0.9,
            )
        )
    return with_equal_specs_once(snapshot(*parts))


def later(seen: Snapshot, made: Plan, rng: Random, step: int) -> Snapshot:
    """Return the cluster some seconds later: binds are done, some work ends, single pods come."""
    places, groups = made.places, list(seen.groups)
    pods = []
    ends = rng.random() < 0.5
    for p in seen.pods:
        if p.key in places:
            pods.append(replace(p, state=PodState.RUNNING, node=places[p.key], started_s=1))
        elif p.state is PodState.RUNNING and ends and rng.random() < 0.15:
            state = rng.choice(ENDS)
            pods += [replace(p, state=state)] if state is not None else []
        else:
            pods.append(p)
    left = {p.group for p in pods}
    groups = [g for g in groups if g.key in left]
    names = [q.name for q in seen.queues]
    for i in range(rng.randint(0, 2)):
        one = Members(
            f"s{step}-{i}", rng.choice(names), cpu=rng.choice((1, 1, 2)), waiting=1,
            priority=rng.choice((0, 0, 2, 5)), created_s=10_000 + step,
        )  # fmt: skip
        groups.append(one.group)
        pods += one.pods
    moved = snapshot_of(
        taken_at_s=seen.taken_at_s + rng.randint(0, 2), nodes=seen.nodes, queues=seen.queues,
        groups=groups, pods=pods, budgets=seen.budgets,
    )  # fmt: skip
    return with_equal_specs_once(moved)


def starts(made: Plan) -> set[PodKey]:
    return {b.pod for b in made.binds}


@pytest.mark.parametrize("seeds", [range(n, n + 20) for n in range(40, 100, 20)])
def test_plans_beside_what_is_held_are_those_of_the_whole(
    seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "WORTH", 1)
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng, solving = Random(seed), Solving()
        now = busy(rng)
        for step in range(5):
            made = solving(now, CONFIG, None)
            counts["plans"] += 1
            if made.solver.detail == DIRECT and made.held:
                whole = plan(now, CONFIG)
                scene = scene_of(now, CONFIG)
                told = given(replace(made, snapshot=now.digest))
                where = f"seed {seed}, step {step}"
                counts["beside"] += 1
                counts["starts"] += len(made.binds)
                assert starts(made) == starts(whole), where
                assert not whole.evictions, where
                assert not whole.nominations, where
                assert {h.group for h in made.held} == {h.group for h in whole.held}, where
                assert not list(order_violations(told, scene)), where
            now = later(now, made, rng, step)
    assert counts["beside"] >= len(seeds), counts
    assert counts["starts"] >= len(seeds), counts
