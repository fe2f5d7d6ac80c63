"""First fit: the plain pass beside every time: pod by pod, the first node that takes it.

By priority, then age; labels, taints, room, devices, hard spreading and limits of queues hold; a
gang that does not get its minimum gives everything back. It evicts nothing, looks at no due, and
promises nothing: what it does is what a loop over pods does in the time, with arrays for the nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.models import Group, GroupKey, Node, Pod, PodKey, PodSpec, QueueName, Snapshot

GPU = "nvidia.com/gpu"
Mask = NDArray[np.bool_]
Row = NDArray[np.int64]


def first_fit(snapshot: Snapshot) -> dict[PodKey, str]:
    """Return the node of every pod that the pass starts."""
    return _Pass(snapshot).run()


@dataclass
class _Placed:
    pod: Pod
    node: int
    row: Row
    devices: tuple[int, ...]


class _Pass:
    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.nodes = snapshot.nodes
        self.index = {n.name: i for i, n in enumerate(self.nodes)}
        named = {r for n in self.nodes for r in n.allocatable}
        self.resources = sorted(named | {"pods"})
        self.room: Row = np.array(
            [[n.allocatable[r] for r in self.resources] for n in self.nodes], dtype=np.int64
        ).reshape(len(self.nodes), len(self.resources))
        cards = max((len(n.devices) for n in self.nodes), default=0)
        self.cards: Row = np.zeros((len(self.nodes), cards), dtype=np.int64)
        for i, n in enumerate(self.nodes):
            self.cards[i, : len(n.devices)] = 1000
        self.rows: dict[int, Row] = {}
        self.masks: dict[int, Mask] = {}
        self.domains: dict[str, tuple[Row, int]] = {}
        self.counts: dict[tuple[int, int], Row] = {}
        self.queues = snapshot.queues_by_name
        self.use: dict[QueueName, Row] = {}
        self.limits = {q.name: self._limits(q.capability) for q in snapshot.queues if q.capability}

    def run(self) -> dict[PodKey, str]:
        waiting: dict[GroupKey, list[Pod]] = {}
        for p in self.snapshot.pods:
            if p.holds and p.node is not None and p.node in self.index:
                self._stand(p, self.index[p.node])
            elif p.state == "pending" and p.group is not None:
                waiting.setdefault(p.group, []).append(p)
        groups = self.snapshot.groups_by_key
        order = sorted(waiting, key=lambda g: (-groups[g].priority, groups[g].created_s, g))
        out: dict[PodKey, str] = {}
        for key in order:
            for x in self._group(groups[key], waiting[key]):
                out[x.pod.key] = self.nodes[x.node].name
        return out

    def _stand(self, pod: Pod, node: int) -> None:
        row = self._row(pod.spec)
        self.room[node] -= row
        if len(pod.devices) and pod.spec.share is not None:
            self.cards[node, list(pod.devices)] -= pod.spec.requests[GPU] // pod.spec.share.devices
        elif (whole := pod.spec.requests[GPU] // 1000) and self.nodes[node].devices:
            idle = np.flatnonzero(self.cards[node] == 1000)[:whole]
            self.cards[node, idle] = 0
        if pod.group is not None:
            self._count(self.snapshot.group(pod.group).queue, row, 1)

    def _group(self, group: Group, pods: list[Pod]) -> list[_Placed]:
        done: list[_Placed] = []
        for pod in pods:
            at = self._place(group, pod)
            if at is not None:
                done.append(at)
        if len(done) >= group.effective_minimum:
            return done
        for x in reversed(done):
            self._undo(group, x)
        return []

    def _place(self, group: Group, pod: Pod) -> _Placed | None:
        spec = pod.spec
        row = self._row(spec)
        if not self._within(group.queue, row):
            return None
        able = self._mask(spec) & (self.room >= row).all(axis=1)
        gpus = spec.requests[GPU]
        each = gpus // spec.share.devices if spec.share is not None else 1000
        number = spec.share.devices if spec.share is not None else gpus // 1000
        if gpus and self.cards.shape[1]:
            able &= (self.cards >= each).sum(axis=1) >= number
        for k, c in enumerate(spec.spread):
            if c.hard:
                of, number_of = self._domain(c.topology_key)
                counts = self.counts.setdefault((id(spec), k), np.zeros(number_of, dtype=np.int64))
                here = np.where(of >= 0, counts[of], 1 << 40)
                able &= here + 1 - counts.min() <= c.max_skew
        if not able.any():
            return None
        i = int(able.argmax())
        devices: tuple[int, ...] = ()
        if gpus and self.cards.shape[1]:
            devices = tuple(int(d) for d in np.flatnonzero(self.cards[i] >= each)[:number])
            self.cards[i, list(devices)] -= each
        self.room[i] -= row
        self._count(group.queue, row, 1)
        self._spread(spec, i, 1)
        return _Placed(pod, i, row, devices)

    def _undo(self, group: Group, x: _Placed) -> None:
        spec = x.pod.spec
        self.room[x.node] += x.row
        if x.devices:
            each = spec.requests[GPU] // spec.share.devices if spec.share is not None else 1000
            self.cards[x.node, list(x.devices)] += each
        self._count(group.queue, x.row, -1)
        self._spread(spec, x.node, -1)

    # What is computed once for equal pods

    def _row(self, spec: PodSpec) -> Row:
        if id(spec) not in self.rows:
            row = np.array([spec.requests[r] for r in self.resources], dtype=np.int64)
            row[self.resources.index("pods")] = 1
            self.rows[id(spec)] = row
        return self.rows[id(spec)]

    def _mask(self, spec: PodSpec) -> Mask:
        if id(spec) not in self.masks:
            self.masks[id(spec)] = np.array([_takes(n, spec) for n in self.nodes], dtype=np.bool_)
        return self.masks[id(spec)]

    def _domain(self, key: str) -> tuple[Row, int]:
        if key not in self.domains:
            names: dict[str, int] = {}
            of = [
                names.setdefault(n.labels[key], len(names)) if key in n.labels else -1
                for n in self.nodes
            ]
            self.domains[key] = (np.array(of, dtype=np.int64), max(1, len(names)))
        return self.domains[key]

    def _spread(self, spec: PodSpec, node: int, times: int) -> None:
        for k, c in enumerate(spec.spread):
            if c.hard and (id(spec), k) in self.counts:
                self.counts[id(spec), k][self._domain(c.topology_key)[0][node]] += times

    # Queues

    def _limits(self, capability: Mapping[str, int]) -> Row:
        most = 1 << 62
        return np.array([capability.get(r, most) for r in self.resources], dtype=np.int64)

    def _path(self, queue: QueueName) -> list[QueueName]:
        out: list[QueueName] = []
        at: QueueName | None = queue
        while at is not None and at in self.queues and at not in out:
            out.append(at)
            at = self.queues[at].parent
        return out

    def _count(self, queue: QueueName, row: Row, times: int) -> None:
        for q in self._path(queue):
            if q in self.limits:
                before = self.use.get(q)
                self.use[q] = times * row if before is None else before + times * row

    def _within(self, queue: QueueName, row: Row) -> bool:
        for q in self._path(queue):
            if q in self.limits:
                used = self.use.get(q)
                after = row if used is None else used + row
                if (after[row > 0] > self.limits[q][row > 0]).any():
                    return False
        return True


def _takes(node: Node, spec: PodSpec) -> bool:
    """Say whether labels and taints let the pod onto the node."""
    if not node.takes_pods or any(node.labels.get(k) != v for k, v in spec.node_selector):
        return False
    terms = spec.node_affinity
    if terms is not None and not any(t.matches(node.labels, node.name) for t in terms):
        return False
    return all(
        any(
            (not t.key or t.key == taint.key)
            and (t.operator == "Exists" or t.value == taint.value)
            and (not t.effect or t.effect == taint.effect)
            for t in spec.tolerations
        )
        for taint in node.taints
        if taint.effect != "PreferNoSchedule"
    )
