"""Reclearing: the nodes that a group clears, and whom it evicts there, are chosen anew together.

The hunt takes one node after the other, as if each were the last. Here everything but the victims
of one group and the places of its pods stays as it is, and a small model chooses among the nodes:
how many pods go onto each, for whom, within the budgets, first things first. What comes out counts
only where the checker bears it and it is better as a whole; it gives no bounds.
"""

from collections import Counter
from collections.abc import Sequence

from ..models import GroupKey
from ..policies.api import Objective
from ..policies.legality import verify
from ..policies.levels import Levels
from ..policies.scene import Scene
from .clearing import Clearing, Option, options_of
from .decode import Decision, outcome_of
from .draft import Draft
from .prey import prey_of
from .process import SolverProcess
from .reach import cells_of
from .rows import vector_of
from .search import Clock

LEAST = 2
"""Fewer victims than these were chosen well enough by the hunt."""
FEW_CELLS = 2000
"""Where the whole model has fewer cells than these, the search finds what is better itself."""
SHARE = 0.5
"""Part of the time that is left to others."""
GROUPS = 8
"""So many groups are looked at, those with most victims first."""
PART, MOST_S, LEAST_S = 0.25, 3.0, 0.4
"""Part of the time that is left for one solve, how long it may take at most; with less time than
the last nothing is begun."""


def recleared(
    scene: Scene,
    levels: Levels,
    goals: Sequence[Objective],
    draft: Draft,
    greedy: Decision,
    process: SolverProcess,
    clock: Clock,
) -> Decision:
    """Return a better plan where other victims make one, else the plan as it was."""
    if greedy.places != draft.places or not draft.takers or cells_of(scene) < FEW_CELLS:
        return greedy
    left = clock.left()
    if (left is not None and left < LEAST_S) or clock.is_nearly_out():
        return greedy
    if not process.wait(_limit(clock)):
        return greedy
    best = greedy
    reached = vector_of(outcome_of(scene, greedy, levels), goals)
    for group in _claimants(draft):
        now = clock.left()
        if left is not None and now is not None and now < SHARE * left:
            break
        change = _Change(draft, group)
        for last in (True, False):
            chosen = change.choose(process, clock, last)
            if chosen is None:
                break
            change.make(chosen)
            after = Decision(dict(draft.places), frozenset(draft.evicted))
            outcome = outcome_of(scene, after, levels)
            value = vector_of(outcome, goals)
            if value > reached and not verify(outcome):
                best, reached = Decision(after.places, after.evicted, outcome), value
                break
            change.undo()
    return best


def _limit(clock: Clock) -> float | None:
    left = clock.left()
    return None if left is None else max(0.0, min(MOST_S, PART * left))


def _claimants(draft: Draft) -> list[GroupKey]:
    victims = Counter(draft.takers.values())
    return [g for g, n in victims.most_common(GROUPS) if n >= LEAST]


class _Change:
    """The pods of one group on nodes that it clears, and its victims there."""

    def __init__(self, draft: Draft, group: GroupKey) -> None:
        self._draft, self._group, self._scene = draft, group, draft.scene
        mine = [k for k, taker in draft.takers.items() if taker == group]
        cleared = {draft.evicted[k] for k in mine}
        pods = [p for p in draft.started.get(group, ()) if draft.places[p.key] in cleared]
        self._before = [(p, draft.places[p.key]) for p in pods]
        nodes = {i for _, i in self._before}
        self._victims = [
            (draft.scene.pods[k], draft.evicted[k]) for k in mine if draft.evicted[k] in nodes
        ]
        self._now = (self._before, self._victims)

    def choose(self, process: SolverProcess, clock: Clock, last: bool) -> list[Option] | None:
        """Return other nodes and victims; None where its pods are not alike, or there is no time.

        ``last``: as many as can be of the last pods of the victims' queue go first.
        """
        left = clock.left()
        pods = [p for p, _ in self._before]
        alike = pods and all(p.spec is pods[0].spec for p in pods)
        if not alike or (left is not None and left <= 0):
            return None
        spec = pods[0].spec
        if spec.sees_pods or spec.claims or self._scene.bonds.of_group(self._group):
            return None
        self._leave()
        preys = prey_of(self._draft, self._group, pods)
        options = [] if preys is None else options_of(self._draft, self._group, pods[0], preys)
        model = Clearing(self._draft, len(pods), options, preys) if preys is not None else None
        self._return()
        return None if model is None else model.solve(process, _limit(clock), last)

    def _leave(self) -> None:
        starts, victims = self._now
        for p, _ in starts:
            self._draft.take_back(p)
        for v, _ in victims:
            self._draft.spare(v)
        if self._group not in self._draft.takers.values():
            self._draft.waive(self._group)

    def _return(self) -> None:
        starts, victims = self._now
        for v, i in victims:
            self._draft.evict(v, i, taker=self._group)
        for p, i in starts:
            self._draft.put(p, i)

    def make(self, chosen: Sequence[Option]) -> None:
        """Let the pods start there, and these victims leave."""
        nodes = [o.node for o in chosen for _ in range(o.count)]
        self._leave()
        self._now = (
            [(p, i) for (p, _), i in zip(self._before, nodes, strict=True)],
            [(v, o.node) for o in chosen for v in o.victims],
        )
        self._return()

    def undo(self) -> None:
        self._leave()
        self._now = (self._before, self._victims)
        self._return()
