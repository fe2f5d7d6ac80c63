"""Whatever changes in a cluster: where a held group is said to wait on, no full plan starts it."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from apportion.adapters.live.still_held import StillHeld
from apportion.models import (
    Amounts,
    Group,
    HostPort,
    Plan,
    Pod,
    PodSpec,
    PodState,
    PodTerm,
    Snapshot,
    snapshot_of,
)
from oracle.build import NOW, Members, budget, foreign, node, only, queue, snapshot

from .test_gathered import with_equal_specs_once
from .worlds import GREEDY, planned

PORT = {"host_ports": (HostPort(80),)}
SPECS: tuple[dict[str, Any], ...] = (
    *[{}] * 6,
    PORT,
    {"anti_affinity": (PodTerm("host", only("waits"), None),)},
    {"anti_affinity": (PodTerm("zone", only("waits"), None),)},
)
ENDS = (PodState.SUCCEEDED, PodState.FAILED, PodState.TERMINATING)


def busy(rng: Random) -> Snapshot:
    """Return a cluster that is nearly full, of limits, ports, budgets, and work that waits."""
    names = [f"n{i}" for i in range(rng.randint(2, 5))]
    free = {n: rng.randint(3, 8) for n in names}
    parts: list[Any] = [
        node(n, cpu, pods=rng.choice((20, 5)), labels={"host": n, "zone": f"z{i % 2}"})
        for i, (n, cpu) in enumerate(free.items())
    ]
    queues = ("q0", "q1")[: rng.randint(1, 2)]
    able: dict[str, Any] = {"reclaimable": rng.random() < 0.8, "preempts": rng.random() < 0.6}
    for q in queues:
        most = {"cpu": 1000 * rng.randint(4, 20)} if rng.random() < 0.4 else {}
        kept = {"cpu": 1000 * rng.randint(1, 4)} if rng.random() < 0.15 else {}
        parts.append(
            queue(q, due=rng.choice((None, 2, 8)), capability=most, guarantee=Amounts(kept), **able)
        )
    for i in range(rng.randint(4, 14)):
        at, cpu, spec = rng.choice(names), rng.choice((1, 1, 2, 3)), rng.choice(SPECS)
        if free[at] < cpu:
            continue
        free[at] -= cpu
        if rng.random() < 0.25:
            state = rng.choice((*[PodState.RUNNING] * 2, PodState.TERMINATING, PodState.PENDING))
            one = foreign(f"f{i}", cpu, at, state, **spec)
            is_promised = state is PodState.PENDING
            parts.append(replace(one, node=None, nominated=one.node) if is_promised else one)
            continue
        parts.append(
            Members(
                f"r{i}", rng.choice(queues), cpu=cpu, on=[at], priority=rng.choice((0, 0, 5)),
                preemptable=rng.random() < 0.8, spec=spec,
                pod={"protected_until_s": rng.choice((None, NOW + 1, NOW + 3))},
            )
        )  # fmt: skip
        parts += [budget(f"r{i}", rng.choice((0, 1)))] if rng.random() < 0.15 else []
    for i in range(rng.randint(1, 3)):
        size = rng.choice((1, 3, 4, 6))
        parts.append(
            Members(
                f"g{i}", rng.choice(queues), cpu=rng.choice((1, 2, 3, 4, 9)), waiting=size,
                minimum=rng.choice((1, size, size)), priority=rng.choice((0, 3)),
                may_preempt=rng.random() < 0.8, preemptable=rng.random() < 0.8,
                spec=PORT if rng.random() < 0.25 else {}, pod={"labels": {"app": "waits"}},
            )
        )  # fmt: skip
    return with_equal_specs_once(snapshot(*parts))


class Moment:
    """A cluster some seconds after a plan, while it changes."""

    def __init__(self, seen: Snapshot, made: Plan, rng: Random) -> None:
        self.rng = rng
        places = made.places
        self.pods = {
            p.key: replace(p, state=PodState.RUNNING, node=places[p.key], started_s=seen.taken_at_s)
            if p.key in places
            else p
            for p in seen.pods
        }
        self.groups = {g.key: g for g in seen.groups}
        self.nodes, self.queues, self.budgets = seen.nodes, seen.queues, seen.budgets
        self.at_s = seen.taken_at_s + rng.choice((0, 0, 1, 2))

    def snapshot(self) -> Snapshot:
        left = {p.group for p in self.pods.values()}
        return with_equal_specs_once(
            snapshot_of(
                taken_at_s=self.at_s, nodes=self.nodes, queues=self.queues, budgets=self.budgets,
                groups=[g for g in self.groups.values() if g.key in left],
                pods=list(self.pods.values()),
            )
        )  # fmt: skip

    def some_pod(self, *states: PodState) -> Pod | None:
        """Return a pod in one of these states of which no gang is broken, were it gone."""
        pods = [p for p in self.pods.values() if p.state in states and not self._needs(p)]
        return self.rng.choice(pods) if pods else None

    def some_group(self) -> Group | None:
        """Return a group; None where all of them have ended."""
        return self.rng.choice([*self.groups.values()]) if self.groups else None

    def _needs(self, pod: Pod) -> bool:
        return pod.group is not None and self.groups[pod.group].minimum > 1

    def ends(self) -> None:
        if (p := self.some_pod(PodState.RUNNING)) is not None:
            self.pods[p.key] = replace(p, state=self.rng.choice(ENDS))

    def goes(self) -> None:
        if (p := self.some_pod(PodState.RUNNING, PodState.TERMINATING)) is not None:
            del self.pods[p.key]

    def is_replaced(self) -> None:
        """Let one go, and another pod have as much where it was: somebody else's, or of a queue."""
        p = self.some_pod(PodState.RUNNING)
        if p is None:
            return
        del self.pods[p.key]
        name = f"o{len(self.pods)}-{p.name}"
        other = foreign(name, 0, str(p.node))
        if p.group is not None and self.rng.random() < 0.4:
            one = Members(name, self.groups[p.group].queue, on=[str(p.node)])
            self.groups[one.group.key] = one.group
            other = one.pods[0]
        self.pods[other.key] = replace(other, spec=PodSpec(p.spec.requests))

    def a_promise_ends(self) -> None:
        """Let a pod that another scheduler has promised a place run there, or go, or have none."""
        promised = [p for p in self.pods.values() if p.nominated is not None and not p.ours]
        if not promised:
            return
        p = self.rng.choice(promised)
        runs = replace(p, state=PodState.RUNNING, node=p.nominated, nominated=None)
        self.pods[p.key] = self.rng.choice((runs, replace(p, nominated=None)))
        if self.rng.random() < 0.3:
            del self.pods[p.key]

    def comes(self) -> None:
        names = [q.name for q in self.queues]
        one = Members(
            f"c{self.at_s}-{len(self.pods)}", self.rng.choice(names), cpu=self.rng.choice((1, 2)),
            waiting=1, priority=self.rng.choice((0, 2, 5)), created_s=self.at_s,
        )  # fmt: skip
        self.groups[one.group.key] = one.group
        self.pods |= {p.key: p for p in one.pods}

    def is_unready(self) -> None:
        if (p := self.some_pod(PodState.RUNNING)) is not None:
            self.pods[p.key] = replace(p, ready=not p.ready)

    def budgets_change(self) -> None:
        self.budgets = tuple(replace(b, allowed=1 - b.allowed) for b in self.budgets)

    def needs_fewer(self) -> None:
        if (g := self.some_group()) is not None:
            self.groups[g.key] = replace(g, minimum=max(1, g.minimum - 1))

    def matters_more(self) -> None:
        if (g := self.some_group()) is not None:
            self.groups[g.key] = replace(g, priority=9)

    def limits_go(self) -> None:
        self.queues = tuple(replace(q, capability={}) for q in self.queues)

    def node_grows(self) -> None:
        n = self.rng.choice(self.nodes)
        more = Amounts({**n.allocatable, "cpu": n.allocatable["cpu"] + 2000})
        self.nodes = tuple(replace(m, allocatable=more) if m is n else m for m in self.nodes)


KINDS: tuple[Callable[[Moment], None], ...] = (
    *(Moment.ends, Moment.goes, Moment.comes) * 2,
    *(Moment.is_replaced,) * 4,
    *(Moment.is_unready, Moment.budgets_change, Moment.needs_fewer, Moment.matters_more),
    *(Moment.limits_go, Moment.node_grows, Moment.a_promise_ends, Moment.a_promise_ends),
)


@pytest.mark.parametrize(
    ("first", "worlds"),
    [
        pytest.param(0, 40, id="some"),
        pytest.param(1000, 1000, id="many", marks=pytest.mark.soak),
    ],
)
def test_what_is_said_to_wait_on_is_started_by_no_full_plan(first: int, worlds: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + worlds):
        rng, kept = Random(seed), StillHeld()
        now = busy(rng)
        made = planned(now)
        kept.note(now, GREEDY, made)
        held = {h.group for h in made.held}
        for step in range(4):
            moment = Moment(now, made, rng)
            for _ in range(rng.choice((1, 1, 2, 3))):
                rng.choice(KINDS)(moment)
            now = moment.snapshot()
            rest, made = kept.beside(now, GREEDY), planned(now)
            if rest is None:
                kept.note(now, GREEDY, made)
                held = {h.group for h in made.held}
                continue
            counts["waits on"] += 1
            gain = {*made.places, *(n.pod for n in made.nominations)}
            starts = {p.group for p in now.pods if p.key in gain} & held
            assert not starts, f"seed {seed}, step {step}"
    assert counts["waits on"] >= worlds / 2, counts
