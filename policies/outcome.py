"""An outcome: a scene after a plan, as the plain-Python halves of the rules judge it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..models import Allocation, GroupKey, NodeName, Plan, Pod, PodKey, PodState, QueueName
from .columns import sums_by
from .ledger import Matrix
from .scene import Scene

if TYPE_CHECKING:
    from .givers import Giver
    from .levels import Levels


class Outcome:
    """Which pods start where and which are evicted; and what follows.

    ``places`` holds bound and nominated pods alike; ``bound`` those that start at once.
    """

    def __init__(
        self,
        scene: Scene,
        places: Mapping[PodKey, NodeName],
        evicted: Collection[PodKey] = (),
        bound: Collection[PodKey] | None = None,
        beneficiaries: Mapping[PodKey, tuple[GroupKey, ...]] | None = None,
        devices: Mapping[PodKey, tuple[int, ...]] | None = None,
    ) -> None:
        self.scene = scene
        self.places = dict(places)
        self.evicted = frozenset(evicted)
        self.bound = frozenset(self.places if bound is None else bound)
        self.beneficiaries = beneficiaries
        self.devices = dict(devices or {})
        """Devices that the plan names; the others are to be found."""
        self.allocations: Sequence[Allocation] | None = None
        """What a plan says that claims are given; None: it is still to be found."""
        self.levels: Levels | None = None
        """What the tiers of work measure by; set by the engine."""
        self.forget()

    def forget(self) -> None:
        """Let go what was found out: it knows the outcome, which would know it for ever."""
        self.kept_places: object | None = None
        """Where work stands, once somebody has asked."""
        self.kept_rights: object | None = None
        self.kept_remaining: object | None = None
        self.kept_takers: object | None = None
        self.kept_history: object | None = None
        self.kept_field: object | None = None
        self.kept_runners: Sequence[Giver] | None = None
        self.kept_takeable: dict[GroupKey, Sequence[Giver]] = {}

    def with_bound(self, bound: Collection[PodKey]) -> "Outcome":
        """Return the same plan with other pods that start at once, and all that is known of it."""
        out = Outcome.__new__(Outcome)
        vars(out).update(vars(self), bound=frozenset(bound))
        return out

    @classmethod
    def of_plan(cls, scene: Scene, plan: Plan) -> "Outcome":
        """Return the outcome of a plan; moved pods count as still where they run."""
        out = cls(
            scene,
            plan.places,
            {e.pod for e in plan.evictions} - plan.moved.keys(),
            {b.pod for b in plan.binds},
            {e.pod: e.beneficiaries for e in plan.evictions},
            plan.devices,
        )
        out.allocations = plan.allocations
        return out

    @cached_property
    def started(self) -> Mapping[GroupKey, tuple[Pod, ...]]:
        """Pods that start, by group; pods the snapshot does not know are left out."""
        return self._by_group(self.places)

    @cached_property
    def losses(self) -> Mapping[GroupKey, tuple[Pod, ...]]:
        """Pods that are evicted, by group."""
        return self._by_group(self.evicted)

    def _by_group(self, keys: Iterable[PodKey]) -> Mapping[GroupKey, tuple[Pod, ...]]:
        pods = self.scene.pods
        out: dict[GroupKey, list[Pod]] = {}
        for key in sorted(keys):
            p = pods.get(key)
            if p is not None and p.group is not None:
                out.setdefault(p.group, []).append(p)
        return {g: tuple(ps) for g, ps in out.items()}

    def kept(self, group: GroupKey) -> tuple[Pod, ...]:
        """Return the group's running pods that stay."""
        running = self.scene.roster[group].running
        if group not in self.losses:
            return running
        return tuple(p for p in running if p.key not in self.evicted)

    def after(self, group: GroupKey) -> tuple[Pod, ...]:
        """Return the group's pods that run after the plan."""
        return (*self.kept(group), *self.started.get(group, ()))

    @cached_property
    def standing_pods(self) -> tuple[tuple[Pod, int], ...]:
        """Every pod that stands on a known node after the plan, with the node's index."""
        staying = self.scene.staying
        if self.evicted:
            staying = tuple([of for of in staying if of[0].key not in self.evicted])
        return (*staying, *self.new_pods)

    @cached_property
    def new_pods(self) -> tuple[tuple[Pod, int], ...]:
        """Pods that start, with their node's index; unknown pods and nodes are left out."""
        pods, index = self.scene.pods, self.scene.index
        return tuple(
            [
                (pods[k], index[n])
                for k, n in sorted(self.places.items())
                if k in pods and n in index
            ]
        )

    @cached_property
    def new_nodes(self) -> NDArray[np.int64]:
        """The nodes of the pods that start, as an array."""
        return np.array([i for _, i in self.new_pods], dtype=np.int64)

    @cached_property
    def new_rows(self) -> Matrix:
        """What each of the pods that start takes, one row a pod."""
        number = self.scene.columns.number
        specs = np.array([number[id(p.spec)] for p, _ in self.new_pods], dtype=np.int64)
        rows: Matrix = self.scene.spec_rows[specs]
        return rows

    @cached_property
    def leaving(self) -> tuple[tuple[Pod, int], ...]:
        """Evicted pods that hold room on a known node, with its index."""
        index = self.scene.index
        found = (self.scene.pods.get(key) for key in sorted(self.evicted))
        return tuple(
            [(p, index[p.node]) for p in found if p is not None and p.holds and p.node in index]
        )

    @cached_property
    def cleared(self) -> frozenset[int]:
        """The nodes that somebody leaves: evicted, or terminating already."""
        of = self.scene.columns
        ending = of.node[of.holding & of.terminating].tolist()
        return frozenset((*ending, *(i for _, i in self.leaving)))

    @cached_property
    def room(self) -> Matrix:
        """What is free once everybody has left and come, one row a node; may be negative."""
        taken = sums_by(self.new_nodes, self.new_rows, len(self.scene.nodes))
        room: Matrix = self.scene.room_later - taken
        for p, i in self.leaving:
            room[i] = room[i] + self.scene.row(p)
        return room

    @cached_property
    def pods_by_node(self) -> Mapping[int, tuple[Pod, ...]]:
        out: dict[int, list[Pod]] = {}
        for p, i in self.standing_pods:
            out.setdefault(i, []).append(p)
        return {i: tuple(ps) for i, ps in out.items()}

    def _queue_sum(self, pods: Collection[Pod]) -> dict[QueueName, Matrix]:
        scene = self.scene
        groups = scene.snapshot.groups_by_key
        by_queue: dict[QueueName, list[Pod]] = {}
        for p in pods:
            if p.group is not None:
                by_queue.setdefault(groups[p.group].queue, []).append(p)
        out = {q: scene.ledger.zero() for q in scene.tree.queues}
        for queue, mine in by_queue.items():
            row = scene.rows(mine)
            for q in scene.tree.path(queue):
                out[q] = out[q] + row
        return out

    @cached_property
    def use_before(self) -> Mapping[QueueName, Matrix]:
        """Use of every queue of the tree before the plan, as rows."""
        return use_before(self.scene)

    @cached_property
    def use_after(self) -> Mapping[QueueName, Matrix]:
        """Use of every queue after the plan, nominated pods counted."""
        scene = self.scene
        gone = [
            p
            for key in self.evicted
            if (p := scene.pods.get(key)) is not None and p.ours and p.state is PodState.RUNNING
        ]
        come = [p for ps in self.started.values() for p in ps]
        less, more = self._queue_sum(gone), self._queue_sum(come)
        return {q: row - less[q] + more[q] for q, row in self.use_before.items()}


def use_before(scene: Scene) -> Mapping[QueueName, Matrix]:
    """Return what our running pods use, on whatever node, by queue of the tree."""
    return scene.once("use before", _running_use)


def _running_use(scene: Scene) -> Mapping[QueueName, Matrix]:
    return scene.sums_by_queue(scene.columns.running & scene.columns.ours)
