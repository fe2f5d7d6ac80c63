"""Prey: what a group could evict by right, as the draft stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from ..models import GroupKey, Pod, PodKey, PodState, QueueName
from ..policies.evictable import evictable, given_up, victim_priority
from ..policies.ledger import Matrix
from ..policies.members import Members, Standing
from ..policies.places import Places, places_of
from ..policies.rights import Branches, asks_of, cross_branches
from ..policies.scene import Scene
from ..policies.standing import MEASURES, Measure
from .draft import Draft


@dataclass(frozen=True, slots=True)
class _Runner:
    """A running group of which something may be evicted, as it is before the plan."""

    members: Members
    able: tuple[Pod, ...]
    priority: int


_RUNNERS: "WeakKeyDictionary[Scene, list[_Runner]]" = WeakKeyDictionary()


def _runners(scene: Scene) -> list[_Runner]:
    """Return the groups that could ever lose something, in the order of the roster."""
    if scene not in _RUNNERS:
        _RUNNERS[scene] = [
            _Runner(m, able, victim_priority(m))
            for m in scene.roster.values()
            if m.running and not given_up(scene, m)
            if (able := tuple(p for p in m.running if evictable(scene, p)))
        ]
    return _RUNNERS[scene]


@dataclass(frozen=True, slots=True)
class Prey:
    """A running group of which something may be evicted for a claimant."""

    group: GroupKey
    right: str
    pods: tuple[Pod, ...]
    single: int
    """How many single pods may go while it stays whole."""
    whole: bool
    priority: int
    inside: bool


def prey_of(draft: Draft, group: GroupKey, pods: Sequence[Pod]) -> list[Prey]:
    """Return what the group could evict, were it to start these pods now."""
    scene = draft.scene
    g = scene.snapshot.group(group)
    if not g.may_preempt:
        return []
    asks = asks_of(scene, scene.roster[group])
    row = draft.ask(pods)
    standings = _Standings(draft)
    ways: dict[QueueName, list[tuple[Measure, Branches]]] = {}
    out: list[Prey] = []
    for runner in _runners(scene):
        m, able, priority = runner.members, runner.able, runner.priority
        if m.key == group or m.key in draft.started:
            continue
        own = m.group.queue == g.queue
        if own and (scene.config.evictions == "none" or priority >= g.priority):
            continue
        if not own and m.group.queue not in ways:
            ways[m.group.queue] = _ways(draft, g.queue, m.group.queue, asks, row)
        if not own and not ways[m.group.queue]:
            continue
        left = len(m.running)
        if m.key in draft.losing:
            left = sum(p.key not in draft.evicted for p in m.running)
            able = tuple(p for p in able if p.key not in draft.evicted)
            if not able:
                continue
        whole = len(able) == left
        surplus = 0
        if m.standing is Standing.WHOLE:
            surplus = left - max(m.need, sum(m.role_need.values()))
        if own:
            if whole or surplus > 0:
                places = standings.places
                inside = bool(places.items_of_group.get(m.key)) and all(
                    places.of(i).is_in for i in places.items_of_group[m.key]
                )
                out.append(
                    Prey(m.key, "own", able, min(surplus, len(able)), whole, priority, inside)
                )
            continue
        found = ways[m.group.queue]
        singles, takes_whole = _cross(standings.places, m, found, asks, left, surplus, able, whole)
        if singles or takes_whole:
            out.append(Prey(m.key, "cross", able, singles, takes_whole, priority, False))
    return out


class _Standings:
    """Where work stands in the draft; found out only if somebody asks."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    @cached_property
    def places(self) -> Places:
        from ..policies.outcome import Outcome

        names, evicted = self._draft.outcome_parts()
        return places_of(self._draft.table, Outcome(self._draft.scene, names, evicted))


def _ways(
    draft: Draft, queue: QueueName, victim: QueueName, asks: Sequence[int], row: Matrix
) -> list[tuple[Measure, Branches]]:
    """Return by which measures a claimant could have a right to work of the other queue."""
    out: list[tuple[Measure, Branches]] = []
    for measure in MEASURES:
        branches = cross_branches(draft.scene, queue, victim, asks, measure)
        if branches is None:
            continue
        most = draft.table.floors[measure]
        if not any(
            draft.use[q][r] + row[r] > most[q][r]
            for q in branches.claimant
            for r in asks
            if r in draft.table.columns
        ):
            out.append((measure, branches))
    return out


def _cross(
    standings: Places,
    m: Members,
    ways: Sequence[tuple[Measure, Branches]],
    asks: Sequence[int],
    left: int,
    surplus: int,
    able: Sequence[Pod],
    whole: bool,
) -> tuple[int, bool]:
    """Return what a claimant of another queue may take: single pods, and whether the whole."""
    best = (0, False)
    running = len(m.running)
    already = running - left
    for measure, branches in ways:
        singles = 0
        while singles < min(surplus, len(able)) and standings.may_lose(
            m.key, branches.victim, already + singles + 1, running + 1, measure, asks
        ):
            singles += 1
        takes = whole and standings.may_lose(
            m.key, branches.victim, running, running, measure, asks
        )
        best = (max(best[0], singles), best[1] or takes)
    return best


def running_on(scene: Scene) -> Mapping[PodKey, int]:
    """Return the node index of every running pod of ours on a known node."""
    if scene not in _RUNNING_ON:
        _RUNNING_ON[scene] = {p.key: i for p, i in scene.holders if p.state is PodState.RUNNING}
    return _RUNNING_ON[scene]


_RUNNING_ON: "WeakKeyDictionary[Scene, Mapping[PodKey, int]]" = WeakKeyDictionary()
