"""A plan with moves, from the plan of the cluster in which the moved pods leave and wait."""

from collections.abc import Mapping
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..models import Bind, Eviction, GroupKey, Move, NodeName, Nomination, Plan, PodKey
from ..policies.cost import age_s, lost_work
from ..policies.evictable import victim_priority
from ..policies.goals import goals_for
from ..policies.scene import Scene
from .assemble import assemble
from .certificate import certified
from .decode import Decision
from .greedy import rank_and_place
from .leveling import levels_of
from .moves import is_right, make_room
from .orderly import Ordered, put_in_order
from .rows import TierResult
from .search import Clock

if TYPE_CHECKING:
    from .beside import Beside
    from .entry import Answer


def plan_with_moves(
    scene: Scene, answer: "Answer", clock: Clock, name: "Beside[str]"
) -> Plan | None:
    """Return the plan with moves that start more of what is held; None where there are none.

    Parameters
    ----------
    scene
        The cluster as it is.
    answer
        The plan without moves: what it starts and whom it evicts stay as they are.
    clock
        What is left of the budget.
    name
        The digest of the snapshot, or "".
    """
    before = answer.decision.judged
    moved = make_room(before, clock) if before is not None else None
    if before is None or moved is None:
        return None
    outcome, world = moved.outcome, moved.outcome.scene
    outcome.levels = levels_of(world, rank_and_place(world))
    ordered = put_in_order(outcome, clock)
    if not is_right(before, ordered.outcome, moved.for_whom):
        ordered = Ordered(outcome, (), False)
    outcome = ordered.outcome
    tiers = [TierResult(g, g.measure(outcome), None) for g in goals_for(scene.config, scene.rules)]
    status = answer.solver.status
    places = {k: world.index[n] for k, n in outcome.places.items()}
    found = changed(
        answer,
        decision=Decision(places, outcome.evicted, outcome),
        tiers=certified(outcome, tiers),
        solver=replace(
            answer.solver,
            status="feasible" if status == "optimal" else status,
            order_proven=ordered.proven,
            exchanges=answer.solver.exchanges + len(ordered.exchanges),
        ),
        nothing_helps=False,
        late=None,
    )
    return with_moves(assemble(world, found, clock, name), scene, moved.for_whom)


def with_moves(made: Plan, scene: Scene, for_whom: Mapping[PodKey, GroupKey]) -> Plan:
    """Return the plan for the cluster as it is: who is moved is evicted, and promised a place.

    Parameters
    ----------
    made
        The plan of the cluster of the moves.
    scene
        The cluster as it is.
    for_whom
        By moved pod, the group that starts thanks to it.
    """
    starts: dict[PodKey, Bind | Nomination] = {b.pod: b for b in made.binds}
    starts |= {n.pod: n for n in made.nominations}
    moves = [
        Move(k, starts[k].group, starts[k].node, to, starts[k].devices, starts[k].advisory)
        for k, to in sorted(for_whom.items())
    ]
    evictions = [*made.evictions, *(_eviction(scene, m) for m in moves)]
    return replace(
        made,
        binds=tuple(b for b in made.binds if b.pod not in for_whom),
        nominations=tuple(n for n in made.nominations if n.pod not in for_whom),
        evictions=tuple(sorted(evictions, key=lambda e: (e.group, e.pod))),
        moves=tuple(moves),
    )


def _eviction(scene: Scene, move: Move) -> Eviction:
    pod = scene.pods[move.pod]
    return Eviction(
        move.pod, move.group, pod.node or NodeName(""), (move.room_for,),
        f"is to run on {move.node} instead, so that {move.room_for} finds room",
        {
            "priority": victim_priority(scene.roster[move.group]), "gangBroken": 0,
            "lostDeviceSeconds": lost_work(scene, pod) // 1000, "ageSeconds": age_s(scene, pod),
        },
    )  # fmt: skip
