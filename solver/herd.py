"""The herd: running groups of which something may be evicted, as they are before a plan.

Everything is in arrays, one place a runner (a group) or one a pod, so that a hunt looks at all of
them at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, PodKey, PodState, QueueName
from ..policies.budgets import covering_of
from ..policies.cost import age_s, losses_of
from ..policies.evictable import evictable, given_up, victim_priority
from ..policies.eviction_cost import victim_weights
from ..policies.ledger import Matrix
from ..policies.members import Members, Standing
from ..policies.min_runtime import min_runtime_s, running_since_s
from ..policies.scene import Scene
from ..policies.standing import standing_of
from ..policies.tracker import Mask

Numbers = NDArray[np.int64]
_LONG_AGO_S = -(1 << 60)


@dataclass(frozen=True, slots=True)
class Runner:
    """A running group of which something may be evicted."""

    members: Members
    able: tuple[Pod, ...]
    priority: int


class Herd:
    """The runners of a scene, in the order of the roster."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.runners: list[Runner] = [
            Runner(m, able, victim_priority(m))
            for m in scene.roster.values()
            if m.running and not given_up(scene, m)
            if (able := tuple(p for p in m.running if evictable(scene, p)))
        ]
        self.at: dict[GroupKey, int] = {r.members.key: i for i, r in enumerate(self.runners)}
        self.queues: list[QueueName] = sorted({r.members.group.queue for r in self.runners})
        self.number: dict[QueueName, int] = {q: i for i, q in enumerate(self.queues)}
        """The place of a queue among those."""
        self.queue = self._each(lambda r: self.number[r.members.group.queue])
        self.nobody: Numbers = np.zeros(0, dtype=np.int64)
        self.of_queue = [np.flatnonzero(self.queue == k) for k in range(len(self.queues))]
        """The runners of each queue."""
        self._yet_to_run: dict[QueueName, Mask | None] = {}
        self.priority = self._each(lambda r: r.priority)
        self.running = self._each(lambda r: len(r.members.running))
        self.able = self._each(lambda r: len(r.able))
        self.floor = self._each(_floor)
        """How many members have to stay while others leave one by one."""
        lost = standing_of(scene).lost
        self.has_minimum: Mask = np.array(
            [r.members.key not in lost and bool(_minimum(r.members)) for r in self.runners],
            dtype=np.bool_,
        )

    def _each(self, of: "object") -> Numbers:
        assert callable(of)
        return np.array([of(r) for r in self.runners], dtype=np.int64)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What a pod of each runner counts among victims."""
        of = victim_weights(self._scene)
        weights = [of[r.priority, r.members.group.queue] for r in self.runners]
        return np.array(weights, dtype=np.float64)

    def yet_to_run(self, claimant: QueueName) -> Mask | None:
        """Say which runners may not go as a whole yet, for a group of the queue; None: all may."""
        if claimant not in self._yet_to_run:
            runtimes = [min_runtime_s(self._scene, claimant, q) for q in self.queues]
            found: Mask | None = None
            if any(runtimes):
                until_s = self._since_s + np.array(runtimes, dtype=np.int64)[self.queue]
                found = until_s > self._scene.snapshot.taken_at_s
            self._yet_to_run[claimant] = found
        return self._yet_to_run[claimant]

    @cached_property
    def _since_s(self) -> Numbers:
        """When runners started; where nobody knows, long ago."""
        starts = [running_since_s(r.members.running) for r in self.runners]
        return np.array([_LONG_AGO_S if s is None else s for s in starts], dtype=np.int64)

    @cached_property
    def node_of(self) -> Mapping[PodKey, int]:
        """Node index of every running pod of ours on a known node."""
        return {p.key: i for p, i in self._scene.holders if p.state is PodState.RUNNING}

    @cached_property
    def on(self) -> Mapping[int, list[tuple[int, Pod]]]:
        """By node the runners' pods that may be evicted, in the order of the runners."""
        out: dict[int, list[tuple[int, Pod]]] = {}
        for n, r in enumerate(self.runners):
            for p in r.able:
                node = self.node_of.get(p.key)
                if node is not None:
                    out.setdefault(node, []).append((n, p))
        return out

    @cached_property
    def guarded(self) -> Mapping[int, set[int]]:
        """By budget, the nodes with pods that it covers."""
        covering = covering_of(self._scene)
        out: dict[int, set[int]] = {}
        for i, on in self.on.items():
            for b in covering.count(p for _, p in on):
                out.setdefault(b, set()).add(i)
        return out

    @cached_property
    def pods(self) -> "Pods":
        return Pods(self._scene, self)


class Pods:
    """The runners' pods node by node, on each the cheapest first."""

    def __init__(self, scene: Scene, herd: Herd) -> None:
        flat = [(i, n, p) for i, on in herd.on.items() for n, p in on]
        node = np.array([i for i, _, _ in flat], dtype=np.int64)
        runner = np.array([n for _, n, _ in flat], dtype=np.int64)
        lost = np.array(losses_of(scene, [p for _, _, p in flat]), dtype=np.float64)
        age = np.array([age_s(scene, p) for _, _, p in flat], dtype=np.int64)
        order = np.lexsort((age, lost, herd.running[runner], herd.priority[runner], node))
        self.node, self.runner = node[order], runner[order]
        self.lost, self.age = lost[order], age[order]
        number = scene.columns.number
        specs = np.array([number[id(p.spec)] for _, _, p in flat], dtype=np.int64)
        self.rows: Matrix = scene.spec_rows[specs[order]]
        self.at: dict[PodKey, int] = {flat[k][2].key: n for n, k in enumerate(order)}


def _floor(r: Runner) -> int:
    m = r.members
    if m.standing is not Standing.WHOLE:
        return len(m.running)
    return m.least


def _minimum(m: Members) -> bool:
    """Say whether what runs has a minimum among its items."""
    return m.standing is Standing.BROKEN or bool(m.split(m.running)[0])


def herd_of(scene: Scene) -> Herd:
    """Return the scene's herd, made once."""
    return scene.once("herd", Herd)
