"""A draft: a plan under construction, with exact room, quota and rights after every step.

What it accepts is legal as far as it sees; the checker has the last word.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, NodeName, Pod, PodKey, PodState, QueueName
from ..policies.evictable import evictable, given_up, victim_priority
from ..policies.fitting import Field
from ..policies.ledger import Matrix
from ..policies.limits import limits_of
from ..policies.members import Members, Standing
from ..policies.places import Places, places_of
from ..policies.quota import non_preemptible_use
from ..policies.rights import Branches, asks_of, cross_branches
from ..policies.scene import Scene
from ..policies.standing import MEASURES, Measure, standing_of
from ..policies.tracker import Choice, Mask

Scores = NDArray[np.float64]
TRIES = 60
"""Up to so many choices of domains are tried for one request."""


@dataclass
class Step:
    """What one accepted request did, so that it can be undone."""

    group: GroupKey
    places: dict[PodKey, int] = field(default_factory=dict)
    evicted: dict[PodKey, int] = field(default_factory=dict)


class Draft:
    """Places and evictions so far; ``offer`` tries to add pods of a group."""

    def __init__(self, scene: Scene, score: str = "tight") -> None:
        self.scene = scene
        self.table = standing_of(scene)
        self.limits = limits_of(scene)
        self.score = score
        self.places: dict[PodKey, int] = {}
        self.evicted: dict[PodKey, int] = {}
        self.losing: dict[GroupKey, int] = {}
        """How many pods are evicted, of groups that lose some."""
        self.group_of: dict[PodKey, GroupKey] = {}
        self.use = {q: np.array(v, dtype=object) for q, v in self.limits.use.items()}
        self.fixed_use = {
            q: np.array(v, dtype=object) for q, v in non_preemptible_use(scene).items()
        }
        self.started: dict[GroupKey, list[Pod]] = {}
        # Room that anybody may use, and room that includes what victims have freed.
        self.field = Field(scene, scene.room_later, scene.world())
        self.base = scene.room_later.copy()
        self.claimed: dict[int, set[GroupKey]] = {}
        """Groups with a right to what was freed on a node."""
        self._freed: dict[tuple[int, GroupKey], Matrix] = {}
        """What victims of a group have freed on a node, less what the group has put there."""
        self._takers: dict[PodKey, GroupKey] = {}
        """For whom a pod is evicted, where its room is not for all."""
        self._on_freed: set[PodKey] = set()
        """Pods that stand on what their group has freed."""
        self._tries = TRIES
        self._rows = {q: np.zeros(len(scene.ledger.resources), dtype=object) for q in self.use}

    # Quota

    def ask(self, pods: Sequence[Pod]) -> Matrix:
        return np.array([int(v) for v in self.scene.rows(pods)], dtype=object)

    def quota_gap(self, group: GroupKey, row: Matrix) -> dict[QueueName, Matrix]:
        """Return by queue how much of each resource is missing below a limit; {} if none is."""
        g = self.scene.snapshot.group(group)
        gaps: dict[QueueName, Matrix] = {}
        for q in self.scene.tree.path(g.queue):
            gap = np.zeros(len(row), dtype=object)
            for r, most in enumerate(self.limits.limit[q]):
                if most is not None and row[r]:
                    gap[r] = max(0, self.use[q][r] + row[r] - max(most, 0))
            if gap.any():
                gaps[q] = gap
        return gaps

    def beyond_due(self, group: GroupKey, row: Matrix) -> bool:
        """Say whether non-preemptible work would pass a named due."""
        g = self.scene.snapshot.group(group)
        if g.preemptable:
            return False
        return any(
            row[r] and self.fixed_use[q][r] + row[r] > due
            for q in self.scene.tree.path(g.queue)
            for r, due in self.limits.due_named(q).items()
        )

    # Taking and giving back

    def _account(self, pods: Iterable[Pod], sign: int) -> None:
        for p in pods:
            if p.group is None:
                continue
            g = self.scene.snapshot.group(p.group)
            row = self.scene.row(p)
            for q in self.scene.tree.path(g.queue):
                self.use[q] = self.use[q] + sign * row
                if not g.preemptable:
                    self.fixed_use[q] = self.fixed_use[q] + sign * row

    def put(self, pod: Pod, node: int) -> None:
        """Start the pod there."""
        assert pod.group is not None
        self.field.add(pod, node)
        if pod.group in self.claimed.get(node, ()):
            self._free(node, pod.group, -1 * self.scene.row(pod))
            self._on_freed.add(pod.key)
        else:
            self.base[node] = self.base[node] - self.scene.row(pod)
        self.places[pod.key] = node
        self.started.setdefault(pod.group, []).append(pod)
        self._account([pod], 1)

    def take_back(self, pod: Pod) -> None:
        """Undo :meth:`put`."""
        assert pod.group is not None
        node = self.places.pop(pod.key)
        self.field.add(pod, node, -1)
        if pod.key in self._on_freed:
            self._on_freed.discard(pod.key)
            self._free(node, pod.group, self.scene.row(pod))
        else:
            self.base[node] = self.base[node] + self.scene.row(pod)
        self.started[pod.group].remove(pod)
        if not self.started[pod.group]:
            del self.started[pod.group]
        self._account([pod], -1)

    def _free(self, node: int, group: GroupKey, row: Matrix) -> None:
        key = (node, group)
        self._freed[key] = self._freed[key] + row if key in self._freed else row

    def evict(
        self, pod: Pod, node: int | None, for_all: bool = False, taker: GroupKey | None = None
    ) -> None:
        """Evict the running pod; ``for_all``: anybody may use its room, else the taker."""
        if node is not None:
            self.field.add(pod, node, -1)
            if for_all:
                self.base[node] = self.base[node] + self.scene.row(pod)
            elif taker is not None:
                self.claimed.setdefault(node, set()).add(taker)
                self._free(node, taker, self.scene.row(pod))
                self._takers[pod.key] = taker
        self.evicted[pod.key] = -1 if node is None else node
        if pod.group is not None:
            self.losing[pod.group] = self.losing.get(pod.group, 0) + 1
        self._account([pod], -1)

    def spare(self, pod: Pod) -> None:
        """Undo :meth:`evict` of a pod that was not evicted for all."""
        node = self.evicted.pop(pod.key)
        if pod.group is not None:
            self.losing[pod.group] -= 1
            if not self.losing[pod.group]:
                del self.losing[pod.group]
        if node >= 0:
            self.field.add(pod, node, 1)
            taker = self._takers.pop(pod.key, None)
            if taker is not None:
                self._free(node, taker, -1 * self.scene.row(pod))
        self._account([pod], 1)

    # Placing on what is free

    def open_room(self, group: GroupKey) -> Matrix:
        """Return the room that the group may use: of what was freed, what it has freed itself."""
        room = np.minimum(self.field.room, np.maximum(self.base, 0))
        for i, groups in self.claimed.items():
            if group in groups:
                room[i] = self.open_room_on(group, i)
        return room

    def open_room_on(self, group: GroupKey, node: int) -> Matrix:
        """Return the room that the group may use on one node."""
        if group in self.claimed.get(node, ()):
            own = self.base[node] + self._freed.get((node, group), 0)
            return np.asarray(np.minimum(self.field.room[node], own))
        return np.asarray(np.minimum(self.field.room[node], np.maximum(self.base[node], 0)))

    def place_all(self, pods: Sequence[Pod]) -> list[tuple[Pod, int]] | None:
        """Place all the pods on open room, equal ones together; None, and nothing, if some fail.

        Pods that want to be near each other try one domain after the other.
        """
        choices = self.field.choices(pods)
        if not choices:
            return self._place_where_best(pods)
        assert pods[0].group is not None
        self._tries = TRIES
        return self._place_near(pods, choices, self.open_room(pods[0].group))

    def _place_near(
        self, pods: Sequence[Pod], choices: Sequence[Choice], room: Matrix
    ) -> list[tuple[Pod, int]] | None:
        if not choices:
            self._tries -= 1
            return self._place_where_best(pods)
        choice = choices[0]
        mine = [p for p in pods if p.key in choice.pods]
        for masks in (*choice.nearer, choice.domains):
            able = [m for m in masks if self.field.might_bear(mine, m, room)]
            for mask in sorted(able, key=lambda m: self._spare_room(m, mine)):
                if self._tries <= 0:
                    return None
                with self.field.confined(choice.pods, mask):
                    done = self._place_near(pods, choices[1:], room)
                if done is not None:
                    return done
        return None if choice.hard else self._place_near(pods, choices[1:], room)

    def _spare_room(self, mask: Mask, pods: Sequence[Pod]) -> float:
        """Return what a domain would have left of what the pods ask for: the least fits best."""
        row = self.scene.row(pods[0])
        asked = np.flatnonzero(row)
        whole = np.maximum(self.scene.allocatable[:, asked].astype(float).sum(axis=0), 1.0)
        left = np.maximum(self.field.room[mask][:, asked], 0).astype(float).sum(axis=0)
        return float((left / whole).sum())

    def _place_where_best(self, pods: Sequence[Pod]) -> list[tuple[Pod, int]] | None:
        done: list[tuple[Pod, int]] = []
        waiting = list(pods)
        spots: _Spots | None = None
        while waiting:
            left: list[Pod] = []
            for p in waiting:
                if spots is None or not spots.are_for(p):
                    spots = _Spots(self, p)
                node = spots.best(p)
                if node is None:
                    left.append(p)
                    continue
                self.put(p, node)
                spots.update(node)
                done.append((p, node))
            if len(left) == len(waiting):
                for p, _ in reversed(done):
                    self.take_back(p)
                return None
            waiting = left
        return done

    def scores(self, indices: "np.ndarray[tuple[int], np.dtype[np.intp]]", row: Matrix) -> Scores:
        """Score nodes: least left over of what is asked (tight), most (spread), best alignment.

        The lowest is the best.
        """
        capacity = np.maximum(self.scene.allocatable[indices].astype(float), 1.0)
        left = (self.field.room[indices] - row).astype(float) / capacity
        asked = np.flatnonzero(row)
        if self.score == "spread":
            return np.asarray(-left[:, asked].min(axis=1))
        if self.score == "align":
            want = row.astype(float) / capacity
            have = self.field.room[indices].astype(float) / capacity
            angle = (want * have).sum(axis=1) / np.maximum(np.linalg.norm(have, axis=1), 1e-9)
            return np.asarray(-angle)
        # Tight: prefer nodes already in use, then the least left over, devices first.
        now = self._waits(indices, row)
        return np.asarray(now * 100 + left[:, asked].sum(axis=1) + 0.001 * left.sum(axis=1))

    def _waits(self, indices: "np.ndarray[tuple[int], np.dtype[np.intp]]", row: Matrix) -> Mask:
        """Say where the pod would have to wait for terminating pods."""
        short = self.scene.room_later[indices] - self.scene.room_now[indices]
        room = self.field.room[indices] - short
        asked = np.flatnonzero(row)
        return np.asarray((room[:, asked] < row[asked]).any(axis=1), dtype=np.bool_)

    # Standing

    def outcome_parts(self) -> tuple[dict[PodKey, NodeName], set[PodKey]]:
        nodes = self.scene.nodes
        return {k: nodes[i].name for k, i in self.places.items()}, set(self.evicted)


class _Spots:
    """Nodes for equal pods of a group that come one after the other: only what changes is redone.

    A pod changes the room of its node alone; what other rules leave is asked anew for each.
    """

    def __init__(self, draft: Draft, pod: Pod) -> None:
        assert pod.group is not None
        self._draft = draft
        self._group = pod.group
        self._spec = pod.spec
        self._row = draft.scene.row(pod)
        self._asked = np.flatnonzero(self._row)
        room = draft.open_room(pod.group)
        self._fits: Mask = np.asarray(
            (room[:, self._asked] >= self._row[self._asked]).all(axis=1), dtype=np.bool_
        )
        self._scores = np.full(len(self._fits), np.inf)
        self._scored = np.zeros(len(self._fits), dtype=np.bool_)

    def are_for(self, pod: Pod) -> bool:
        return pod.spec is self._spec and pod.group == self._group

    def best(self, pod: Pod) -> int | None:
        """Return the best node for the pod on open room, or None."""
        if not self._fits.any():
            return None
        mask = self._fits & self._draft.field.allowed(pod)
        if not mask.any():
            return None
        nominated = pod.nominated
        at = self._draft.scene.index.get(nominated) if nominated is not None else None
        if at is not None and mask[at]:
            return at
        fresh = np.flatnonzero(mask & ~self._scored)
        if len(fresh):
            self._scores[fresh] = self._draft.scores(fresh, self._row)
            self._scored[fresh] = True
        return int(np.argmin(np.where(mask, self._scores, np.inf)))

    def update(self, node: int) -> None:
        """Take note that a pod went there."""
        room = self._draft.open_room_on(self._group, node)
        self._fits[node] = (room[self._asked] >= self._row[self._asked]).all()
        self._scored[node] = False


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
