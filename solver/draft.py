"""A draft: a plan under construction, with exact room, quota and rights after every step.

What it accepts is legal as far as it sees; the checker has the last word.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..models import GroupKey, NodeName, Pod, PodKey, PodState, QueueName
from ..policies.evictable import evictable, given_up, victim_priority
from ..policies.fitting import Field
from ..policies.ledger import Matrix
from ..policies.limits import limits_of
from ..policies.members import Members, Standing
from ..policies.places import Places, places_of
from ..policies.quota import non_preemptible_use
from ..policies.rights import asks_of, cross_branches
from ..policies.scene import Scene
from ..policies.standing import MEASURES, standing_of
from ..policies.tracker import Choice, Mask

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
        if node not in self.claimed or pod.group not in self.claimed[node]:
            self.base[node] = self.base[node] - self.scene.row(pod)
        self.places[pod.key] = node
        self.started.setdefault(pod.group, []).append(pod)
        self._account([pod], 1)

    def take_back(self, pod: Pod) -> None:
        """Undo :meth:`put`."""
        assert pod.group is not None
        node = self.places.pop(pod.key)
        self.field.add(pod, node, -1)
        if node not in self.claimed or pod.group not in self.claimed[node]:
            self.base[node] = self.base[node] + self.scene.row(pod)
        self.started[pod.group].remove(pod)
        if not self.started[pod.group]:
            del self.started[pod.group]
        self._account([pod], -1)

    def evict(self, pod: Pod, node: int | None, for_all: bool = False) -> None:
        """Evict the running pod; ``for_all``: anybody may use its room."""
        if node is not None:
            self.field.add(pod, node, -1)
            if for_all:
                self.base[node] = self.base[node] + self.scene.row(pod)
        self.evicted[pod.key] = -1 if node is None else node
        self._account([pod], -1)

    def spare(self, pod: Pod) -> None:
        """Undo :meth:`evict` of a pod that was not evicted for all."""
        node = self.evicted.pop(pod.key)
        if node >= 0:
            self.field.add(pod, node, 1)
        self._account([pod], 1)

    # Placing on what is free

    def open_room(self, group: GroupKey) -> Matrix:
        """Return the room that the group may use: freed room only where it has a claim."""
        room = np.minimum(self.field.room, np.maximum(self.base, 0))
        for i, groups in self.claimed.items():
            if group in groups:
                room[i] = self.field.room[i]
        return room

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
        while waiting:
            progress = False
            for p in list(waiting):
                spots = self._spots(p)
                if spots is None:
                    continue
                self.put(p, spots)
                done.append((p, spots))
                waiting.remove(p)
                progress = True
            if not progress:
                for p, _ in reversed(done):
                    self.take_back(p)
                return None
        return done

    def _spots(self, pod: Pod) -> int | None:
        """Return the best node for the pod on open room, or None."""
        assert pod.group is not None
        mask = self.field.candidates(pod)
        if not mask.any():
            return None
        row = self.scene.row(pod)
        asked = np.flatnonzero(row)
        room = self.open_room(pod.group)
        mask &= (room[:, asked] >= row[asked]).all(axis=1)
        if not mask.any():
            return None
        indices = np.flatnonzero(mask)
        nominated = pod.nominated
        at = self.scene.index.get(nominated) if nominated is not None else None
        if at is not None and mask[at]:
            return at
        return int(indices[self._best(indices, row)])

    def _best(self, indices: "np.ndarray[tuple[int], np.dtype[np.intp]]", row: Matrix) -> int:
        """Score nodes: least left over of what is asked (tight), most (spread), best alignment."""
        capacity = np.maximum(self.scene.allocatable[indices].astype(float), 1.0)
        left = (self.field.room[indices] - row).astype(float) / capacity
        asked = np.flatnonzero(row)
        if self.score == "spread":
            return int(np.argmax(left[:, asked].min(axis=1)))
        if self.score == "align":
            want = row.astype(float) / capacity
            have = self.field.room[indices].astype(float) / capacity
            angle = (want * have).sum(axis=1) / np.maximum(np.linalg.norm(have, axis=1), 1e-9)
            return int(np.argmax(angle))
        # Tight: prefer nodes already in use, then the least left over, devices first.
        now = self._waits(indices, row)
        return int(np.argmin(now * 100 + left[:, asked].sum(axis=1) + 0.001 * left.sum(axis=1)))

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
    scene, table = draft.scene, draft.table
    g = scene.snapshot.group(group)
    if not g.may_preempt:
        return []
    from ..policies.outcome import Outcome

    nodes = scene.nodes
    places = {k: nodes[i].name for k, i in draft.places.items()}
    asks = asks_of(scene, scene.roster[group])
    row = draft.ask(pods)
    standings = places_of(table, Outcome(scene, places, set(draft.evicted)))
    out: list[Prey] = []
    for m in scene.roster.values():
        left = tuple(p for p in m.running if p.key not in draft.evicted)
        if not left or m.key == group or given_up(scene, m) or m.key in draft.started:
            continue
        able = tuple(p for p in left if evictable(scene, p))
        if not able:
            continue
        priority = victim_priority(m)
        whole = len(able) == len(left)
        surplus = (
            0
            if m.standing is not Standing.WHOLE
            else len(left) - max(m.need, sum(m.role_need.values()))
        )
        if m.group.queue == g.queue:
            if (
                scene.config.evictions != "none"
                and priority < g.priority
                and (whole or surplus > 0)
            ):
                inside = bool(standings.items_of_group.get(m.key)) and all(
                    standings.of(i).is_in for i in standings.items_of_group[m.key]
                )
                out.append(
                    Prey(m.key, "own", able, min(surplus, len(able)), whole, priority, inside)
                )
            continue
        if scene.config.priority_everywhere and priority > g.priority:
            continue
        singles, takes_whole = _cross(draft, standings, g.queue, m, asks, row, surplus, able, whole)
        if singles or takes_whole:
            out.append(Prey(m.key, "cross", able, singles, takes_whole, priority, False))
    return out


def _cross(
    draft: Draft,
    standings: Places,
    queue: QueueName,
    m: Members,
    asks: Sequence[int],
    row: Matrix,
    surplus: int,
    able: Sequence[Pod],
    whole: bool,
) -> tuple[int, bool]:
    """Return what a claimant of another queue may take: single pods, and whether the whole."""
    table = draft.table
    best = (0, False)
    for measure in MEASURES:
        branches = cross_branches(draft.scene, queue, m.group.queue, asks, measure)
        if branches is None:
            continue
        most = table.floors[measure]
        if any(
            draft.use[q][r] + row[r] > most[q][r]
            for q in branches.claimant
            for r in asks
            if r in table.columns
        ):
            continue
        running = len(m.running)
        already = running - sum(p.key not in draft.evicted for p in m.running)
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
    return {p.key: i for p, i in scene.holders if p.state is PodState.RUNNING}
