"""Again: a plan of a cluster that is a little different, as the greedy engine makes any plan.

In two steps, as the first tells cheaply, and mostly rightly, what becomes of one group.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..models import GroupKey
from ..policies.evictable import given_up_pods
from ..policies.exchange import exchange, wanted
from ..policies.fitting import Field
from ..policies.outcome import Outcome
from ..policies.scene import Scene
from .decode import outcome_of
from .entry import settle_greedy
from .greedy import rank_and_place
from .heap import one_cycle
from .leveling import levels_of
from .orderly import put_in_order
from .search import Clock


def drafted(scene: Scene) -> Outcome:
    """Return the greedy engine's plan before it is put in order."""
    with one_cycle():
        ranking = rank_and_place(scene)
        levels = levels_of(scene, ranking)
        return outcome_of(scene, settle_greedy(scene, ranking, levels), levels)


@dataclass
class _Until(Clock):
    """A clock that is out when somebody says so."""

    stop: Callable[[], bool] = lambda: False

    def left(self) -> float | None:
        return 0.0 if self.stop() else None


def finished(draft: Outcome, stop: Callable[[], bool] = lambda: False) -> Outcome | None:
    """Return the greedy engine's plan, as any plan by its settings that no clock cuts short.

    None where ``stop`` says that time is over before the order list was gone through.
    """
    with one_cycle():
        ordered = put_in_order(draft, _Until(None, stop=stop))
    return ordered.outcome if ordered.proven or not stop() else None


def is_promising(draft: Outcome, key: GroupKey, has: int) -> bool:
    """Guess whether more than ``has`` pods of the group run or have places in the plan."""
    if len(draft.after(key)) > has:
        return True
    found = exchange(draft, key, ())
    return found is not None and len(found.after(key)) > has


def has_room_beside(scene: Scene, before: Outcome, key: GroupKey) -> bool:
    """Say whether nodes have places for the group beside what starts and runs by the plan before.

    Whether its queue and the others bear that is not asked: a yes is a good guess, no more.
    """
    left = _carried(scene, before)
    world = scene.world(left.evicted)
    world.present.extend(left.new_pods)
    field = Field(scene, left.room, world)
    return any(field.place(pods).places is not None for pods in wanted(left, key))


def _carried(scene: Scene, before: Outcome) -> Outcome:
    pods, index = scene.pods, scene.index
    places = {
        k: n for k, n in before.places.items()
        if n in index and k in pods and pods[k].state == "pending"
    }  # fmt: skip
    gone = {k for k in before.evicted if k in pods and pods[k].state == "running"}
    gone |= given_up_pods(scene)
    return Outcome(scene, places, gone, bound=())
