"""Again: a plan of a cluster that is a little different, made from the plan before, for one group.

What starts by the plan before does so again, where the rules still bear it, and the group takes
what room is left. Where that does not do, or where somebody leaves by the plan before, and might be
spared in a new one, the greedy engine plans the cluster afresh.
"""

from ..models import GroupKey
from ..policies.evictable import given_up_pods
from ..policies.exchange import exchange, spare, wanted
from ..policies.fitting import Field
from ..policies.legality import is_legal
from ..policies.objection import Patience
from ..policies.order import objection_against
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .decode import outcome_of
from .entry import settle_greedy
from .greedy import rank_and_place
from .heap import one_cycle
from .leveling import levels_of

TRIALS = 60
"""So many exchanges are tried on behalf of others with whom the group might compete."""
ROUNDS = 8
"""So many others may start beside the group before that is given up."""


def started_again(scene: Scene, before: Outcome, key: GroupKey, has: int) -> Outcome | None:
    """Return a legal plan in which more than ``has`` pods of the group run or have places.

    Nothing that waits in it has a better claim to that place, by the order list. None where no such
    plan was found; which is no proof that there is none.
    """
    with one_cycle():
        warm = None if before.evicted else _kept(scene, before)
        if warm is not None:
            found = _grown(warm, key, has)
            if found is not None:
                return _claimed(found, key, has)
        fresh = _afresh(scene)
        found = _grown(fresh, key, has)
        return None if found is None else _claimed(found, key, has)


def has_room_beside(scene: Scene, before: Outcome, key: GroupKey) -> bool:
    """Say whether nodes have places for the group beside what starts and runs by the plan before.

    Whether its queue and the others bear that is not asked: a yes is a good guess, no more.
    """
    left = _carried(scene, before)
    world = scene.world(left.evicted)
    world.present.extend(left.new_pods)
    field = Field(scene, left.room, world)
    return any(field.place(pods).places is not None for pods in wanted(left, key))


def _kept(scene: Scene, before: Outcome) -> Outcome | None:
    """Return the plan before, carried over; None where the rules do not bear it any more."""
    out = _carried(scene, before)
    for outcome in (out, spare(out)):
        if outcome is not None and is_legal(outcome):
            return outcome
    return None


def _carried(scene: Scene, before: Outcome) -> Outcome:
    pods, index = scene.pods, scene.index
    places = {
        k: n for k, n in before.places.items()
        if n in index and k in pods and pods[k].state == "pending"
    }  # fmt: skip
    gone = {k for k in before.evicted if k in pods and pods[k].state == "running"}
    gone |= given_up_pods(scene)
    return Outcome(scene, places, gone, bound=())


def _afresh(scene: Scene) -> Outcome:
    ranking = rank_and_place(scene)
    levels = levels_of(scene, ranking)
    return outcome_of(scene, settle_greedy(scene, ranking, levels), levels)


def _grown(outcome: Outcome, key: GroupKey, has: int) -> Outcome | None:
    """Return the plan in which the group has more: as it is, or with what idle room gives it."""
    if len(outcome.after(key)) > has:
        return outcome
    found = exchange(outcome, key, ())
    return found if found is not None and len(found.after(key)) > has else None


def _claimed(outcome: Outcome, key: GroupKey, has: int) -> Outcome | None:
    """Return the plan if the group may keep its place; others may start beside it."""
    for _ in range(ROUNDS):
        patience = Patience(TRIALS)
        against = objection_against(outcome, key, patience)
        if against is None:
            return None if patience.is_over else outcome
        beside = exchange(outcome, against.group, ())
        if beside is None or len(beside.after(key)) <= has:
            return None
        outcome = beside
    return None
