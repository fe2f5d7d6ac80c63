"""Draining: which nodes can be emptied without stopping what must not stop, and in what order.

A node is emptied by stopping all our pods on it; the plan of the cluster without the node says
whether they find places. Nodes are taken one after the other, each on the cluster that the ones
before have left: next comes the one of which most is placed again, then the one with fewest pods.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...models import Config, GroupKey, NodeName, Plan, Pod, PodKey, PodState, Snapshot
from ...models.advance import advance
from ...models.edit import edited
from ...models.edit_nodes import node_named
from ...models.edits import Cordon, Drain
from ...models.snapshot import API_VERSION
from ...models.value import Value, to_data
from ...policies.budget_overlap import unevictable
from ...policies.evictable import evictable
from ...policies.registry import rules_for
from ...policies.scene import Scene
from ...solver.entry import plan
from ...solver.process import SolverProcess

DAEMON = "DaemonSet/"


class Blocker(Value, frozen=True, omit_defaults=False):
    """A pod that must not stop, or of which we cannot say that it may."""

    pod: PodKey
    why: str


class Emptied(Value, frozen=True, omit_defaults=False):
    """A node that can be emptied, and what becomes of its pods."""

    node: NodeName
    pods: int
    """How many of ours have to stop."""
    moves: int
    """How many of them start at once elsewhere."""
    promised: int
    """How many are promised a place, once others have left theirs."""
    waits: tuple[PodKey, ...] = ()
    """Those of them that would wait, and whoever else would stop for them."""


class Kept(Value, frozen=True, omit_defaults=False):
    """A node that cannot be emptied now, and what keeps it."""

    node: NodeName
    blockers: tuple[Blocker, ...]


class Draining(Value, frozen=True, omit_defaults=False):
    """In which order nodes can be emptied, and which cannot."""

    emptied: tuple[Emptied, ...] = ()
    kept: tuple[Kept, ...] = ()


def draining(
    snapshot: Snapshot,
    config: Config,
    nodes: Sequence[str],
    *,
    process: SolverProcess | None = None,
) -> Draining:
    """Say which of the nodes can be emptied, in what order, and what becomes of their pods.

    What must not stop: pods of groups that may not be preempted, pods that are critical or cooling
    down, those whose budget bears no disruption, and foreign ones other than of a DaemonSet.
    The order is greedy: another one may place more.

    Raises
    ------
    InputError
        If there is no such node.
    """
    config = replace(config, moves=0)
    left = [node_named(snapshot, n).name for n in dict.fromkeys(nodes)]
    # None of those that can be emptied takes pods of the others meanwhile.
    world = edited(snapshot, [Cordon(n) for n in left])
    emptied: list[Emptied] = []
    while left:
        free = [n for n in left if not blockers_of(world, config, n)]
        if not free:
            break
        tried = [_without(world, config, n, process) for n in free]
        best, after = min(tried, key=lambda t: _cost(t[0]))
        emptied.append(best)
        left.remove(best.node)
        world = after
    kept = tuple(Kept(n, tuple(blockers_of(world, config, n))) for n in left)
    return Draining(tuple(emptied), kept)


def _cost(e: Emptied) -> tuple[int, int, int, str]:
    return (len(e.waits), e.promised, e.pods, e.node)


def blockers_of(snapshot: Snapshot, config: Config, node: NodeName) -> list[Blocker]:
    """Return what on the node must not stop, as things are."""
    scene = Scene(snapshot, config, rules_for(config))
    here = [p for p in snapshot.pods if p.node == node and p.state is PodState.RUNNING]
    out = [Blocker(p.key, why) for p in here if (why := _why_not(scene, p))]
    ours = [p for p in here if p.ours]
    for b in snapshot.budgets:
        covered = [p for p in ours if b.covers(p)]
        if len(covered) > b.allowed:
            said = f"budget {b.key} bears {b.allowed} disruptions"
            said += f"; emptying the node takes {len(covered)}"
            out += [Blocker(p.key, said) for p in covered]
    return out


def _why_not(scene: Scene, pod: Pod) -> str:
    if pod.group is None:
        if pod.owner.startswith(DAEMON):
            return ""
        return f"is of scheduler {pod.scheduler or 'unknown'}: whether it may stop is not known"
    if evictable(scene, pod):
        return ""
    if not scene.snapshot.group(pod.group).preemptable or not pod.preemptable:
        return "may not be preempted"
    if pod.critical:
        return "is critical"
    if pod.key in unevictable(scene):
        return "is under several budgets, so no eviction of it is granted"
    cooling = pod.protected_until_s is not None
    return "is cooling down" if cooling else "is of a queue that does not exist"


def _without(
    world: Snapshot, config: Config, node: NodeName, process: SolverProcess | None
) -> tuple[Emptied, Snapshot]:
    """Empty one node; return what becomes of its pods, and the cluster once that is done."""
    mine = {p.key for p in world.pods if p.node == node and p.ours and p.state == "running"}
    drained = edited(world, [Drain(node)])
    made = plan(drained, config, process=process)
    now, later = {b.pod for b in made.binds}, {n.pod for n in made.nominations}
    lost = _lost(world, drained, made)
    done = advance(
        drained, {b.pod: b.node for b in made.binds}, {e.pod for e in made.evictions},
        {n.pod: n.node for n in made.nominations}, {a.group for a in made.admissions},
        made.devices, made.allocations,
    )  # fmt: skip
    emptied = Emptied(node, len(mine), len(mine & now), len(mine & later), tuple(sorted(lost)))
    return emptied, done


def _lost(world: Snapshot, drained: Snapshot, made: Plan) -> list[PodKey]:
    """Return pods that ran and would run no more: of equal members of a group, any."""
    ran = Counter(p.group for p in world.pods if p.ours and p.state is PodState.RUNNING)
    gone = {e.pod for e in made.evictions}
    runs: Counter[GroupKey | None] = Counter(b.group for b in made.binds)
    runs.update(n.group for n in made.nominations)
    runs.update(
        p.group
        for p in drained.pods
        if p.ours and p.state is PodState.RUNNING and p.key not in gone
    )
    places = made.places
    out: list[PodKey] = []
    for group, n in ran.items():
        stopped = [
            p.key for p in world.pods
            if p.group == group and p.state is PodState.RUNNING and p.key not in places
            and (p.key in gone or drained.pods_by_key[p.key].state is PodState.PENDING)
        ]  # fmt: skip
        out += stopped[: max(0, n - runs[group])]
    return out


def to_document(found: Draining) -> dict[str, Any]:
    """Return the answer as plain data."""
    return {"apiVersion": API_VERSION, "kind": "Draining", **to_data(found)}
