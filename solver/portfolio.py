"""The portfolio: greedy with other scores of nodes and other victims; the best plan is kept.

No way to choose is the best on every cluster. Each further plan costs less than the first, as what
follows from the scene is known by then; it is made only where no search uses the time better.
"""

from collections.abc import Callable, Sequence

from ..policies.api import Objective
from ..policies.levels import Levels
from ..policies.scene import Scene
from .decode import Decision, outcome_of
from .draft import Draft, Spares
from .greedy import Ranking, rank_and_place
from .reach import is_within_reach
from .rows import vector_of
from .scores import Score
from .search import Clock

OTHERS: tuple[tuple[Score, Spares], ...] = (
    ("tight", "own"),
    ("align", "returning"),
    ("spread", "returning"),
)
"""What is tried besides, those first that were better than the first plan most often."""
NEAR: tuple[tuple[Score, Spares], ...] = (("first", "returning"), ("align", "returning"))
"""What is tried where a search follows: nobody who packs pod by pod shall have a better plan, and
what fits best is the better start where more is asked for than there is."""
SHARE, NEAR_SHARE = 0.8, 0.3
"""Part of the time left that a further plan may take, were it to take as long as the first; and
where a search follows."""


def best_of(
    scene: Scene,
    levels: Levels,
    goals: Sequence[Objective],
    first: tuple[Draft, Decision],
    settle: Callable[[Scene, Ranking, Levels], Decision],
    clock: Clock,
) -> tuple[Draft, Decision]:
    """Return the first plan or a better one; of few where a search would find better ones.

    ``levels`` are those of the first: plans are compared by the vector of the contract. ``settle``
    makes a legal decision of a draft.
    """
    draft, decision = first
    near = is_within_reach(scene, clock)
    others, share = (NEAR, NEAR_SHARE) if near else (OTHERS, SHARE)
    if not _has_time(clock, clock.spent(), share) or (near and all_starts(scene, decision)):
        return first
    reached = vector_of(outcome_of(scene, decision, levels), goals)
    took = clock.spent()  # a further plan is made and measured, too
    for score, spares in others:
        if not _has_time(clock, took, share):
            break
        ranking = rank_and_place(scene, score, spares)
        other = settle(scene, ranking, levels)
        value = vector_of(outcome_of(scene, other, levels), goals)
        if value > reached:
            draft, decision, reached = ranking.draft, other, value
    return draft, decision


def all_starts(scene: Scene, decision: Decision) -> bool:
    """Say whether every pod that waits starts."""
    return all(p.key in decision.places for m in scene.roster.waiting for p in m.pending)


def _has_time(clock: Clock, took_s: float, share: float) -> bool:
    left = clock.left()
    return left is not None and took_s <= share * left
