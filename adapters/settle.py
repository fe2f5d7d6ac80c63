"""Settling: cycle after cycle on a pretend cluster, until nothing changes for five cycles.

An evicted pod is gone and comes back pending under its name, with a new start and its group's age;
a moved pod comes back with a promise; a bound pod runs at once; terminating pods are gone after the
first cycle; promises are carried over; budgets are computed anew.
"""

from collections.abc import Callable

from msgspec.structs import replace

from ..models import Config, Plan, Pod, PodKey, PodState, Snapshot
from ..models.advance import advance
from ..models.plan import Settled
from ..solver.entry import plan
from ..solver.process import SolverProcess

QUIET = 5
"""Cycles in a row that must change nothing."""


def apply_plan(snapshot: Snapshot, made: Plan) -> Snapshot:
    """Return the cluster after a plan has been carried out and all that leaves has left."""
    return advance(
        snapshot,
        {b.pod: b.node for b in made.binds},
        {e.pod for e in made.evictions},
        {**{n.pod: n.node for n in made.nominations}, **made.moved},
        {a.group for a in made.admissions},
        made.devices,
        made.allocations,
    )


def settle(
    snapshot: Snapshot,
    config: Config,
    most: int = 30,
    process: SolverProcess | None = None,
    watch: Callable[[int, Plan, Snapshot], None] | None = None,
) -> Plan:
    """Repeat cycles until nothing has changed for five of them, at most ``most``.

    Returns the plan of the first cycle, with ``settled`` filled in.
    """
    first: Plan | None = None
    evicted: list[PodKey] = []
    quiet = cycles = 0
    while cycles < most and quiet < QUIET:
        made = plan(snapshot, config, process=process)
        cycles += 1
        first = first if first is not None else made
        if watch is not None:
            watch(cycles, made, snapshot)
        evicted += [e.pod for e in made.evictions]
        after = apply_plan(snapshot, made)
        quiet = quiet + 1 if _same(snapshot, after) else 0
        snapshot = after
    assert first is not None
    running = {p.key: _place(p) for p in snapshot.pods if p.state is PodState.RUNNING}
    return replace(first, settled=Settled(cycles, quiet >= QUIET, running, tuple(evicted)))


def _place(pod: Pod) -> dict[str, object]:
    """Return where a running pod is, with its devices where they are known."""
    return {"node": pod.node, **({"gpus": list(pod.devices)} if pod.devices else {})}


def _same(a: Snapshot, b: Snapshot) -> bool:
    return (
        a.pods == b.pods
        and a.nominations == b.nominations
        and a.groups == b.groups
        and a.claims == b.claims
    )
