"""An outcome: a scene after a plan, as the plain-Python halves of the rules judge it."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..models import Allocation, GroupKey, NodeName, Plan, Pod, PodKey, PodState, QueueName
from .ledger import Matrix
from .scene import Scene

if TYPE_CHECKING:
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
        self.kept_places: object | None = None
        """Where work stands, once somebody has asked."""
        self.kept_rights: object | None = None
        self.kept_remaining: object | None = None
        self.kept_field: object | None = None

    @classmethod
    def of_plan(cls, scene: Scene, plan: Plan) -> "Outcome":
        out = cls(
            scene,
            plan.places,
            {e.pod for e in plan.evictions},
            {b.pod for b in plan.binds},
            {e.pod: e.beneficiaries for e in plan.evictions},
            plan.devices,
        )
        out.allocations = plan.allocations
        return out

    @cached_property
    def started(self) -> Mapping[GroupKey, tuple[Pod, ...]]:
        """Pods that start, by group; pods the snapshot does not know are left out."""
        out: dict[GroupKey, list[Pod]] = {}
        for key in sorted(self.places):
            p = self.scene.pods.get(key)
            if p is not None and p.group is not None:
                out.setdefault(p.group, []).append(p)
        return {g: tuple(ps) for g, ps in out.items()}

    @cached_property
    def losses(self) -> Mapping[GroupKey, tuple[Pod, ...]]:
        """Pods that are evicted, by group."""
        out: dict[GroupKey, list[Pod]] = {}
        for key in sorted(self.evicted):
            p = self.scene.pods.get(key)
            if p is not None and p.group is not None:
                out.setdefault(p.group, []).append(p)
        return {g: tuple(ps) for g, ps in out.items()}

    def kept(self, group: GroupKey) -> tuple[Pod, ...]:
        """Return the group's running pods that stay."""
        return tuple(p for p in self.scene.roster[group].running if p.key not in self.evicted)

    def after(self, group: GroupKey) -> tuple[Pod, ...]:
        """Return the group's pods that run after the plan."""
        return (*self.kept(group), *self.started.get(group, ()))

    @cached_property
    def standing_pods(self) -> tuple[tuple[Pod, int], ...]:
        """Every pod that stands on a known node after the plan, with the node's index."""
        scene = self.scene
        stay = [
            (p, i)
            for p, i in (*scene.holders, *scene.reserved)
            if p.state is not PodState.TERMINATING and p.key not in self.evicted
        ]
        return (*stay, *self.new_pods)

    @cached_property
    def new_pods(self) -> tuple[tuple[Pod, int], ...]:
        """Pods that start, with their node's index; unknown pods and nodes are left out."""
        scene = self.scene
        return tuple(
            (scene.pods[k], scene.index[n])
            for k, n in sorted(self.places.items())
            if k in scene.pods and n in scene.index
        )

    @cached_property
    def room(self) -> Matrix:
        """What is free once everybody has left and come, one row a node; may be negative."""
        room = self.scene.room_later.copy()
        for p, i in self.scene.holders:
            if p.key in self.evicted:
                room[i] = room[i] + self.scene.row(p)
        for p, i in self.new_pods:
            room[i] = room[i] - self.scene.row(p)
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
        memo = self.scene.memo
        if "use before" not in memo:
            memo["use before"] = self._queue_sum(running(self.scene))
        before: Mapping[QueueName, Matrix] = memo["use before"]
        return before

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


def running(scene: Scene) -> list[Pod]:
    """Return our running pods, on whatever node."""
    return [p for p in scene.snapshot.pods if p.ours and p.state is PodState.RUNNING]
