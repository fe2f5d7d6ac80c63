"""The herd: running groups of which something may be evicted, as they are before a plan.

Everything is in arrays, one place a runner (a group) or one a pod, so that a hunt looks at all of
them at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..models import GroupKey, Pod, PodKey, QueueName
from ..policies.budgets import covering_of
from ..policies.cost import age_s, milli_of, run_s
from ..policies.evictable import evictable_flags, given_up, victim_priority
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
        pods, found = scene.snapshot.pods, np.flatnonzero(evictable_flags(scene)).tolist()
        self._place = {id(pods[k]): k for k in found}
        """Where pods that may be evicted are in the snapshot, by their identity."""
        place = self._place
        self.runners: list[Runner] = [
            Runner(m, able, victim_priority(m))
            for m in scene.roster.values()
            if m.running and not given_up(scene, m)
            if (able := tuple([p for p in m.running if id(p) in place]))
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
        """Node index of every pod that may be evicted, of those on a known node."""
        return dict(zip(self.pods.at, self.pods.node.tolist(), strict=True))

    @cached_property
    def on(self) -> Mapping[int, list[tuple[int, Pod]]]:
        """By node the runners' pods that may be evicted; nodes in the order of the runners."""
        pods = self.pods
        on = list(zip(pods.runner.tolist(), pods.pods, strict=True))
        first = np.searchsorted(pods.node, pods.nodes).tolist()
        end = np.searchsorted(pods.node, pods.nodes, side="right").tolist()
        return {i: on[a:b] for i, a, b in zip(pods.nodes.tolist(), first, end, strict=True)}

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
        place = self._place
        found = [place[id(p)] for r in self.runners for p in r.able]
        return Pods(self._scene, self, np.array(found, dtype=np.int64))


class Pods:
    """The runners' pods on known nodes, node by node, on each the cheapest first."""

    def __init__(self, scene: Scene, herd: Herd, found: Numbers) -> None:
        """``found``: where the pods are in the snapshot, runner by runner."""
        of = scene.columns
        runner = np.repeat(np.arange(len(herd.runners)), herd.able)
        runner, found = runner[of.node[found] >= 0], found[of.node[found] >= 0]
        some = [scene.snapshot.pods[k] for k in found.tolist()]
        age = np.array([age_s(scene, p) for p in some], dtype=np.int64)
        ran = np.array([run_s(scene, p) for p in some], dtype=np.float64)
        held = np.array([milli_of(s) for s in of.specs], dtype=np.float64)
        lost = held[of.spec[found]] * ran
        node = of.node[found]
        self.nodes: Numbers = node[np.sort(np.unique(node, return_index=True)[1])]
        """The nodes, in the order of the runners on them."""
        order = np.lexsort((age, lost, herd.running[runner], herd.priority[runner], node))
        self.pods = [some[k] for k in order.tolist()]
        self.node, self.runner = node[order], runner[order]
        self.lost, self.age = lost[order], age[order]
        self.rows: Matrix = scene.spec_rows[of.spec[found[order]]]
        self.at: dict[PodKey, int] = {p.key: n for n, p in enumerate(self.pods)}


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
