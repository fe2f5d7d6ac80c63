"""A draft: a plan under construction, with exact room, quota and rights after every step.

What it accepts is legal as far as it sees; the checker has the last word.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from ..models import GroupKey, NodeName, Pod, PodKey, QueueName
from ..policies.fitting import Field
from ..policies.ledger import Matrix
from ..policies.limits import limits_of
from ..policies.quota import non_preemptible_use
from ..policies.scene import Scene
from ..policies.standing import standing_of
from .footing import Pledges
from .fragments import fragments_of
from .gone import Gone
from .herd import Herd, herd_of
from .leftovers import Leftovers
from .placing import place_all
from .pools import Pools, limited_queues, open_quotas
from .scores import Nodes, Score
from .spots import Spots
from .standings import Standings
from .ways import Ways

Spares = Literal["returning", "own"]
"""Whom evictions spare above all: whoever would come back by right, or only work of the claimant's
own queue that is inside its entitlement."""


class Draft:
    """Places and evictions so far; every step can be taken back."""

    def __init__(self, scene: Scene, score: Score = "tight", spares: Spares = "returning") -> None:
        self.scene = scene
        self.spares = spares
        self.table = standing_of(scene)
        self.limits = limits_of(scene)
        self.score = score
        self.fragments = fragments_of(scene)
        """What places cost the expected mix, where that is a goal."""
        self.departures = 0
        """How many evictions there were, those that were taken back too."""
        self.places: dict[PodKey, int] = {}
        self.evicted: dict[PodKey, int] = {}
        self.use = {q: np.array(v, dtype=object) for q, v in self.limits.use.items()}
        self.fixed_use = {
            q: np.array(v, dtype=object) for q, v in non_preemptible_use(scene).items()
        }
        self.started: dict[GroupKey, list[Pod]] = {}
        # Room that anybody may use, and room that includes what victims have freed.
        self.field = Field(scene, scene.room_later, scene.world())
        self.pools = Pools(scene.room_later)
        """Room of nodes that may be used, by whom."""
        self._limited = {q: k for k, q in enumerate(limited_queues(self.limits))}
        self._quotas = Pools(open_quotas(self.limits, list(self._limited)))
        """Quota of limited queues that may be used, by whom."""
        self._takers: dict[PodKey, GroupKey] = {}
        """For whom a pod is evicted, where its room is not for all."""
        self._sources: dict[PodKey, list[tuple[Pools, int, bool]]] = {}
        """By pod that starts, the pools that it takes from, and whether from what was freed."""
        self.claims_of: dict[GroupKey, set[int]] = {}
        """Nodes on which a group has a right to what was freed."""
        self.pledges = Pledges()
        self.growing: set[GroupKey] = set()
        """Groups that run and start more pods."""
        self._restless: set[GroupKey] = set()
        """Groups that start other pods than the standings know."""
        self.changes: list[int] = []
        """Nodes whose room changed, in the order of the changes."""
        self._spots: dict[tuple[int, GroupKey | None], Spots] = {}
        """By spec, and by group where it has a right to what was freed somewhere."""
        self._asked: dict[int, Matrix] = {}
        self._limits_of: dict[QueueName, list[tuple[int, int]]] = {}

    def forget(self) -> None:
        """Let go what was found out: it knows the draft, which would know it for ever."""
        self._spots.clear()
        for name in ("ways", "leftovers"):
            vars(self).pop(name, None)

    @cached_property
    def herd(self) -> Herd:
        """Running groups of which something may be evicted."""
        return herd_of(self.scene)

    @cached_property
    def gone(self) -> Gone:
        """What of the herd is evicted."""
        return Gone(self.scene, self.herd)

    @cached_property
    def leftovers(self) -> Leftovers:
        """What victims have freed and those for whom they leave do not use."""
        return Leftovers(self)

    @cached_property
    def _standings(self) -> Standings:
        self._restless.update(self.started)
        return Standings(self.table, self.herd)

    @cached_property
    def ways(self) -> Ways:
        """By which ways claimants could take what runs."""
        return Ways(self)

    @property
    def standings(self) -> Standings:
        """Where running work stands as the draft is now."""
        known = self._standings
        if self._restless:
            known.update(self._restless, self.started)
            self._restless.clear()
        return known

    # Quota

    def ask(self, pods: Sequence[Pod]) -> Matrix:
        """Return what the pods ask for, in Python's integers."""
        if len(pods) == 1:
            return self._whole_row(pods[0])
        return np.array([int(v) for v in self.scene.rows(pods)], dtype=object)

    def _whole_row(self, pod: Pod) -> Matrix:
        spec = id(pod.spec)
        if spec not in self._asked:
            self._asked[spec] = np.array([int(v) for v in self.scene.row(pod)], dtype=object)
        return self._asked[spec]

    def quota_gap(self, group: GroupKey, row: Matrix) -> dict[QueueName, Matrix]:
        """Return by queue how much of each resource is missing below a limit; {} if none is."""
        g = self.scene.roster[group].group
        gaps: dict[QueueName, Matrix] = {}
        for q in self.scene.tree.path(g.queue):
            tops = self._tops(q)
            use = self.use[q]
            own = self._quotas.own(self._limited[q], group) if tops else ()
            if any(row[r] and row[r] > min(most - use[r], max(0, own[r])) for r, most in tops):
                gap = np.zeros(len(row), dtype=object)
                for r, most in tops:
                    if row[r]:
                        gap[r] = max(0, row[r] - min(most - use[r], max(0, own[r])))
                gaps[q] = gap
        return gaps

    def _tops(self, queue: QueueName) -> list[tuple[int, int]]:
        """Return the columns in which a queue is limited, with the limits."""
        if queue not in self._limits_of:
            limit = self.limits.limit[queue]
            self._limits_of[queue] = [
                (r, max(most, 0)) for r, most in enumerate(limit) if most is not None
            ]
        return self._limits_of[queue]

    def beyond_due(self, group: GroupKey, row: Matrix) -> bool:
        """Say whether non-preemptible work would pass a named due."""
        g = self.scene.roster[group].group
        if g.preemptable:
            return False
        return any(
            row[r] and self.fixed_use[q][r] + row[r] > due
            for q in self.scene.tree.path(g.queue)
            for r, due in self.limits.due_named(q).items()
        )

    def breaks_pledge(self, group: GroupKey, row: Matrix) -> bool:
        """Say whether earlier evictions would no longer be by right."""
        path = self.scene.tree.path(self.scene.roster[group].group.queue)
        return not self.pledges.bear(self, path, row)

    # Taking and giving back

    def _account(self, pods: Iterable[Pod], sign: int) -> None:
        for p in pods:
            self._account_row(p, sign * self.scene.row(p))

    def _account_row(self, pod: Pod, row: Matrix) -> None:
        if pod.group is None:
            return
        g = self.scene.roster[pod.group].group
        for q in self.scene.tree.path(g.queue):
            self.use[q] = self.use[q] + row  # a new one: who has kept the last sees that it changed
            if not g.preemptable:
                self.fixed_use[q] = self.fixed_use[q] + row

    def put(self, pod: Pod, node: int) -> None:
        """Start the pod there."""
        self.put_alike((pod,), node)

    def put_alike(self, pods: Sequence[Pod], node: int) -> None:
        """Start pods of one spec and one group there."""
        pod = pods[0]
        assert pod.group is not None
        self.changes.append(node)
        self.field.add_all(pods, node)
        row = self.scene.row(pod) if len(pods) == 1 else len(pods) * self.scene.row(pod)
        sources: list[tuple[Pools, int, bool]] = []
        for pools, at in self._pools_of(pod, node):
            frees = pools.frees(at, pod.group)
            pools.add(at, pod.group if frees else None, -row)
            sources.append((pools, at, frees))
        for p in pods:
            self._sources[p.key] = sources
            self.places[p.key] = node
            if self.fragments is not None:
                self.fragments.put(p, node)
        self.started.setdefault(pod.group, []).extend(pods)
        self._restless.add(pod.group)
        if self.scene.roster[pod.group].running:
            self.growing.add(pod.group)
        self._account_row(pod, row)

    def put_run(self, pods: Sequence[Pod], node: int) -> None:
        """Start pods of one spec there, each the only one of its group, which has freed nothing.

        No queue of theirs is limited, and they come from one queue.
        """
        self.changes.append(node)
        self.field.add_all(pods, node)
        row = self.scene.row(pods[0])
        self.pools.add(node, None, -len(pods) * row)
        for p in pods:
            assert p.group is not None
            self._sources[p.key] = [(self.pools, node, False)]
            self.places[p.key] = node
            self.started[p.group] = [p]
            self._restless.add(p.group)
            if self.fragments is not None:
                self.fragments.put(p, node)
        self._account_row(pods[0], len(pods) * row)

    def take_back(self, pod: Pod) -> None:
        """Undo :meth:`put`."""
        assert pod.group is not None
        node = self.places.pop(pod.key)
        self.changes.append(node)
        self.field.add(pod, node, -1)
        if self.fragments is not None:
            self.fragments.take_back(pod, node)
        for pools, at, frees in self._sources.pop(pod.key):
            pools.add(at, pod.group if frees else None, self.scene.row(pod))
        self.started[pod.group].remove(pod)
        if not self.started[pod.group]:
            del self.started[pod.group]
            self.growing.discard(pod.group)
        self._restless.add(pod.group)
        self._account([pod], -1)

    def _pools_of(self, pod: Pod, node: int) -> list[tuple[Pools, int]]:
        """Return the pools that a pod takes from, or gives back to: its node's, its queues'."""
        out = [(self.pools, node)] if node >= 0 else []
        if self._limited and pod.group is not None:
            path = self.scene.tree.path(self.scene.roster[pod.group].group.queue)
            out += [(self._quotas, self._limited[q]) for q in path if q in self._limited]
        return out

    def evict(
        self, pod: Pod, node: int | None, for_all: bool = False, taker: GroupKey | None = None
    ) -> None:
        """Evict the running pod; ``for_all``: anybody may use its room, else the taker."""
        self.departures += 1
        if node is not None:
            self.changes.append(node)
            self.field.add(pod, node, -1)
            if taker is not None and not for_all:
                self.claims_of.setdefault(taker, set()).add(node)
        if for_all or taker is not None:
            for pools, at in self._pools_of(pod, -1 if node is None else node):
                pools.add(at, None if for_all else taker, self.scene.row(pod))
        if taker is not None and not for_all:
            self._takers[pod.key] = taker
            if node is not None:
                self.leftovers.note(pod, node, taker, 1)
        self.evicted[pod.key] = -1 if node is None else node
        self.gone.note(pod, 1)
        self._account([pod], -1)

    def spare(self, pod: Pod) -> None:
        """Undo :meth:`evict` of a pod that was not evicted for all."""
        node = self.evicted.pop(pod.key)
        self.gone.note(pod, -1)
        if node >= 0:
            self.changes.append(node)
            self.field.add(pod, node, 1)
        taker = self._takers.pop(pod.key, None)
        if taker is not None:
            for pools, at in self._pools_of(pod, node):
                pools.add(at, taker, -1 * self.scene.row(pod))
            if node >= 0:
                self.leftovers.note(pod, node, taker, -1)
        self._account([pod], 1)

    def withdraw(self, group: GroupKey) -> None:
        """Take back all that the group starts, and let stay whom it takes.

        So with others that use what is left of these.
        """
        for heir in self.leftovers.heirs_of(group):
            self.withdraw(heir)
        for p in list(self.started.get(group, ())):
            self.take_back(p)
        for key in [k for k, taker in self._takers.items() if taker == group]:
            self.spare(self.scene.pods[key])
        self.waive(group)

    @property
    def takers(self) -> Mapping[PodKey, GroupKey]:
        """For whom each pod is evicted whose room is not for all."""
        return self._takers

    def takers_of(self, victim: GroupKey) -> set[GroupKey]:
        """Return for whom pods of a group are evicted."""
        pods = self.scene.pods
        return {taker for k, taker in self._takers.items() if pods[k].group == victim}

    def bears_back(self, taker: GroupKey, pods: Sequence[Pod]) -> bool:
        """Say whether limited queues bear what the taker uses, pods of one group there again."""
        row = self.scene.rows(pods)
        return all(
            (self._quotas.own(at, taker)[row > 0] >= row[row > 0]).all()
            for _, at in self._pools_of(pods[0], -1)
        )

    def waive(self, group: GroupKey) -> None:
        """Forget the group's right to what was freed."""
        self.leftovers.give_back(group)
        for node in self.claims_of.pop(group, ()):
            self.pools.waive(node, group)
            self.changes.append(node)
        for at in self._limited.values():
            self._quotas.waive(at, group)

    # Placing on what is free

    def open_room(self, group: GroupKey, nodes: Nodes | None = None) -> Matrix:
        """Return the room that the group may use, on some nodes or on all.

        Of what was freed, it is what the group has freed itself.
        """
        at: Nodes | slice = slice(None) if nodes is None else nodes
        room = np.minimum(self.field.room[at], np.maximum(self.pools.common[at], 0))
        mine = self.claims_of.get(group)
        if not mine:
            return room
        own = sorted(mine) if nodes is None else np.flatnonzero(np.isin(nodes, list(mine))).tolist()
        for k in own:
            room[k] = self.open_room_on(group, k if nodes is None else int(nodes[k]))
        return room

    def open_room_on(self, group: GroupKey | None, node: int) -> Matrix:
        """Return the room that the group may use on one node; None: that anybody may."""
        own = self.pools.own(node, group)
        if not self.pools.frees(node, group):
            own = np.maximum(own, 0)
        return np.asarray(np.minimum(self.field.room[node], own))

    def place_all(self, pods: Sequence[Pod]) -> list[tuple[Pod, int]] | None:
        """Place all the pods on open room; None, and nothing, if some fail (see placing.py)."""
        return place_all(self, pods)

    def spots_of(self, pod: Pod) -> Spots:
        group = pod.group if self.claims_of.get(pod.group or GroupKey("")) else None
        return self._spots_for(pod, group)

    def spots_of_all(self, pod: Pod) -> Spots:
        """Return the spots for such pods on room that anybody may use."""
        return self._spots_for(pod, None)

    def _spots_for(self, pod: Pod, group: GroupKey | None) -> Spots:
        key = (id(pod.spec), group)
        if key not in self._spots:
            self._spots[key] = Spots(self, pod, group)
        return self._spots[key]

    # Standing

    def outcome_parts(self) -> tuple[dict[PodKey, NodeName], set[PodKey]]:
        nodes = self.scene.nodes
        return {k: nodes[i].name for k, i in self.places.items()}, set(self.evicted)
