"""Plans with moves are legal, lose nothing, start something, and come to rest."""

from collections import Counter
from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from apportion.adapters.plan_check import scene_of, violations_of
from apportion.adapters.settle import apply_plan
from apportion.models import Amounts, Config, Group, Plan, Pod, PodKey, PodSpec, PodState, Snapshot
from apportion.policies.moves import REST_S
from apportion.solver.entry import plan
from apportion.solver.process import SolverProcess
from properties.clusters import NOW, SMALL, Size, cluster
from properties.trials import ILLEGAL, Fault, Tally

TRIES = 200
"""So many clusters are drawn until one has its room in pieces."""
MOST = 30
"""Cycles until rest, at most."""


def in_pieces(seed: int, size: Size = SMALL) -> Snapshot:
    """Return a cluster in which one more group waits, for more than is free on any one node.

    All of them together have the room, and what runs has done so for long enough to be moved.
    """
    rng = Random(f"in pieces {seed}")
    found = (_with_wide(cluster(rng.randrange(10**6), size), rng) for _ in range(TRIES))
    return next(s for s in found if s is not None)


def _with_wide(seen: Snapshot, rng: Random) -> Snapshot | None:
    scene = scene_of(seen, Config())
    cpu = scene.ledger.column.get("cpu")
    if cpu is None:  # nobody asks for any
        return None
    free = scene.room_later[:, cpu].clip(min=0)
    ask = int(free.max()) + 1000
    if ask > min(free.sum(), scene.allocatable[:, cpu].max()) or not seen.queues:
        return None
    leaves = [q.name for q in seen.queues if scene.tree.is_leaf(q.name)]
    group = Group("wide", "wide", rng.choice(leaves), created_s=NOW - rng.choice((1, 5000)))
    spec = PodSpec(Amounts({"cpu": ask}))
    pod = Pod("wide", "wide-0", spec, PodState.PENDING, group.key, created_s=group.created_s)
    return replace(
        seen,
        pods=tuple(sorted((*map(_rested, seen.pods), pod), key=lambda p: p.key)),
        groups=tuple(sorted((*seen.groups, group), key=lambda g: g.key)),
    )


def _rested(pod: Pod) -> Pod:
    """Return the pod as one that has run for long enough to be moved, if it runs at all."""
    return replace(pod, started_s=NOW - 2 * REST_S) if pod.state is PodState.RUNNING else pod


def faults(
    solver: SolverProcess, tally: Tally, snapshot: Snapshot, settings: Config
) -> Iterator[Fault]:
    """Give what is wrong with plans with moves, cycle by cycle until nothing changes."""
    moved: Counter[PodKey] = Counter()
    for _ in range(MOST):
        without = plan(snapshot, replace(settings, moves=0), process=solver)
        made = plan(snapshot, settings, process=solver)
        tally.counts["plans with moves"] += bool(made.moves)
        for v in violations_of(made, scene_of(snapshot, settings)):
            yield Fault(ILLEGAL, str(v))
        yield from _lost(without, made)
        moved.update(made.moved.keys())
        after = apply_plan(snapshot, made)
        if (after.pods, after.nominations) == (snapshot.pods, snapshot.nominations):
            break
        snapshot = after
    else:
        yield Fault("no rest", f"not in {MOST} cycles")
    for pod, n in moved.items():
        if n > 1:
            yield Fault("to and fro", f"{pod} was moved {n} times")


def _lost(without: Plan, made: Plan) -> Iterator[Fault]:
    """Give what a plan with moves has less than the one without."""
    if not made.moves:
        if (made.binds, made.evictions) != (without.binds, without.evictions):
            yield Fault("another plan", "nothing is moved, and the plan is another one")
        return
    if not without.places.keys() < made.places.keys():
        yield Fault("for nothing", "what starts is not all that does without moves, and more")
    gone = {e.pod for e in made.evictions} - made.moved.keys()
    if gone != {e.pod for e in without.evictions}:
        yield Fault("others leave", f"evicted besides who is moved: {sorted(gone)}")
