"""Explain: how long it takes to say why a group waits, and whether what is said is so.

Clusters of large.py after some cycles, so that what waits is held and not only new; some of the
waiting groups are given wishes that no node meets. The plan that holds them is made before.
"""

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from apportion.adapters.ask import explain as asking
from apportion.adapters.ask.difference import GroupState, states_of
from apportion.adapters.ask.explain import Explanation
from apportion.models import Amounts, Config, GroupKey, Plan, PodState, Snapshot
from apportion.models.advance import advance
from apportion.models.edit import edited
from apportion.models.edits import Edit
from apportion.models.snapshot import snapshot_of
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess

from .instances import GPU
from .large import Large, large
from .subjects import Row, Subject, register

PLANNED = Config(engine="greedy", deterministic=True)
"""For the plan that is explained and those that judge: no clock cuts the order list short."""
WISHES = ("large", "label", "model", "large", "label", "model", "many")
SETTLING = Config(engine="greedy", budget_ms=2000)
CYCLES = 3
SPOILED = 0.1
"""Part of the waiting groups that is given a wish which cannot be met."""
PHASES: tuple[tuple[str, Any, str], ...] = (
    ("plan", asking, "plan"),
    ("conflict", asking, "conflict_of"),
    ("rivals", asking, "order_of"),
    ("changes", asking, "changes_for"),
)


@dataclass(frozen=True)
class Case:
    """Clusters of a size, and how many of their held groups are asked about."""

    nodes: int
    waiting: int
    groups: int
    short: int
    """How many in the short round."""
    wanted_s: float


CASES = (Case(200, 800, 60, 8, 1.0), Case(2_000, 2_000, 24, 3, 5.0))
LIMIT = 0.7
"""Part of the time wanted that may go into looking for changes; a draft begun by then is ended."""
EACH = 12
"""Groups of one cluster."""


@dataclass
class World:
    """A cluster, and the plan that holds some of its groups."""

    snapshot: Snapshot
    plan: Plan

    @property
    def held(self) -> list[GroupKey]:
        return [h.group for h in self.plan.held if h.pods]


def world(nodes: int, waiting: int, seed: int, process: SolverProcess) -> World:
    """Return a cluster after some cycles, with the plan of the next one."""
    snapshot = large(Large(nodes, waiting, 20, fill=0.95, seed=seed))
    for cycle in range(CYCLES):
        if cycle == 1:
            snapshot = spoiled(snapshot, random.Random(seed))
        made = plan(snapshot, SETTLING, process=process)
        snapshot = advance(snapshot, made.places, {e.pod for e in made.evictions})
    return World(snapshot, plan(snapshot, PLANNED, process=process))


def spoiled(snapshot: Snapshot, rng: random.Random) -> Snapshot:
    """Give some waiting groups more to ask for than there is: of a node, a label, or a number."""
    waits = {p.group for p in snapshot.pods if p.ours and p.state is PodState.PENDING}
    waits -= {p.group for p in snapshot.pods if p.state is PodState.RUNNING}
    chosen = {g for g in sorted(waits, key=str) if rng.random() < SPOILED}
    how = {g: rng.choice(WISHES) for g in sorted(chosen, key=str)}
    pods = []
    for p in snapshot.pods:
        spec = p.spec
        if p.group not in chosen:
            pass
        elif how[p.group] == "large":
            asks = {**spec.requests, "cpu": 400_000, GPU: 16_000}
            spec = replace(spec, requests=Amounts(asks), share=None)
        elif how[p.group] == "label":
            spec = replace(spec, node_selector=(("gpu.model", "none"),))
        elif how[p.group] == "model":
            asks = {**spec.requests, GPU: 8_000}
            spec = replace(
                spec, requests=Amounts(asks), node_selector=(("gpu.model", "t4"),), share=None
            )
        pods.append(p if spec is p.spec else replace(p, spec=spec))
    sizes = Counter(p.group for p in pods)
    groups = [
        replace(g, minimum=sizes[g.key] + 3) if how.get(g.key) == "many" else g
        for g in snapshot.groups
    ]
    fields = {f: getattr(snapshot, f) for f in snapshot.__struct_fields__}
    return snapshot_of(**{**fields, "pods": pods, "groups": groups})


@dataclass
class Tally:
    """What was found, and what of it is so."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    phases: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self) -> str:
        c = self.counts
        share = ", ".join(f"{k} {c[k]}" for k in sorted(c))
        total = sum(self.phases.values()) or 1.0
        where = ", ".join(f"{k} {100 * v / total:.0f} %" for k, v in self.phases.most_common(12))
        p90 = statistics.quantiles(self.cpu, n=10)[-1] if len(self.cpu) > 1 else self.cpu[0]
        return (
            f"{len(self.cpu)} explanations; seconds of one processor: median "
            f"{statistics.median(self.cpu):.2f}, p90 {p90:.2f}, most {max(self.cpu):.2f}; "
            f"{share}; of the time: {where}"
        )


@contextmanager
def watched(phases: Counter[str]) -> Iterator[None]:
    """Add up the processor time of the parts of an explanation."""

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            t = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                phases[name] += time.process_time() - t  # type: ignore[assignment]  # seconds

        return call

    saved = [(where, name, vars(where)[name]) for _, where, name in PHASES if name in vars(where)]
    names = {name: phase for phase, _, name in PHASES}
    for where, name, function in saved:
        setattr(where, name, timed(names[name], function))
    try:
        yield
    finally:
        for where, name, function in saved:
            setattr(where, name, function)


def ask(
    of: World,
    key: GroupKey,
    tally: Tally,
    process: SolverProcess,
    config: Config,
    judge: bool,
    limit_s: float,
) -> Explanation:
    """Explain one group, and judge what is said about it by plans of the edited clusters."""
    with watched(tally.phases):
        t, u = time.perf_counter(), time.process_time()
        found = asking.explain(
            of.snapshot, config, key, process=process, known=of.plan,
            stop=lambda: time.process_time() - u >= limit_s,
        )  # fmt: skip
        tally.seconds.append(time.perf_counter() - t)
        tally.cpu.append(time.process_time() - u)
    c = tally.counts
    c[f"held by {found.held_by or 'nothing'}"] += 1
    c["conflicts proven minimal"] += found.held_by == "rules" and found.minimal
    c["with rivals"] += found.order is not None and bool(found.order.rivals)
    c["with changes"] += bool(found.changes)
    c["changes"] += len(found.changes)
    c["proven smallest"] += sum(x.smallest for x in found.changes)
    c["kinds left out"] += len(found.left_out)
    for change in found.changes if judge else ():
        c["changes planned anew"] += 1
        c["and it starts"] += starts(of, key, change.edits, found.state, config, process)
    return found


def starts(
    of: World, key: GroupKey, edits: Sequence[Edit], before: GroupState, config: Config,
    process: SolverProcess,
) -> bool:  # fmt: skip
    """Say whether a plan of the edited cluster starts more of the group."""
    other = edited(of.snapshot, edits)
    made = plan(other, config, process=process)
    return states_of(other, made).get(key, GroupState()).has > before.has


def rows(short: bool, runs: int) -> list[Row]:
    """Measure every size; ``runs`` other than 1 ask about all groups."""
    out: list[Row] = []
    for case in CASES:
        many = case.short if short else case.groups
        tally = Tally()
        nodes = pods = waiting = 0
        with SolverProcess() as process:
            process.wait()
            seed, left = 1, many
            while left > 0:
                of = world(case.nodes, case.waiting, seed, process)
                nodes, pods = case.nodes, len(of.snapshot.pods)
                waiting = sum(p.state is PodState.PENDING for p in of.snapshot.pods)
                held = of.held
                random.Random(seed).shuffle(held)
                for key in held[: min(EACH, left)]:
                    limit = LIMIT * case.wanted_s
                    ask(of, key, tally, process, PLANNED, True, limit)
                    left -= 1
                seed += 1
        out.append(
            Row(
                f"{case.nodes} nodes", nodes, pods, waiting, tally.seconds, tally.cpu,
                note=tally.note(), wanted=f"median {case.wanted_s:.0f} s",
                more={"phases": dict(tally.phases), "counts": dict(tally.counts)},
            )
        )  # fmt: skip
    return out


register(
    Subject("explain", "Why a group waits and what would start it, 200 and 2,000 nodes.", rows)
)
