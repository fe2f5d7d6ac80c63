"""Gathered: a snapshot in which pods that run, and need not be told apart, are one pod a node.

Where all that waits can start and nobody has to leave, who runs on a node does not matter to a
plan but for the room and the shares that they take. A plan for the gathered snapshot in which
something waits on is worth nothing: nobody can be a victim there. docs/design/live.md says more.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from msgspec.structs import replace

from ...models import (
    Amounts,
    Config,
    Group,
    GroupKey,
    Node,
    NodeName,
    Pod,
    PodKey,
    PodSpec,
    PodState,
    QueueName,
    Snapshot,
)
from ...policies.registry import built_in, rules_for

T = TypeVar("T")
FOR_EVER_S = 1 << 62
"""Gathered pods are protected until then: they cannot leave."""
WORTH = 2
"""So many times fewer pods there have to be: else they are as quickly planned as they are."""
NAME = "+gathered"
"""No object of a cluster has such a name."""
_BY_KEY = attrgetter("key")


@dataclass(frozen=True, slots=True)
class _Alike:
    """What pods are gathered by: whatever of them rules and goals see, if nobody is a victim."""

    node: NodeName
    namespace: str
    user: str = ""
    queue: QueueName | None = None
    """None: of other schedulers."""
    priority: int = 0
    pod_priority: int = 0
    preemptable: bool = False


@dataclass(slots=True)
class _Heap:
    """Pods that are gathered into one."""

    pods: dict[PodKey, Pod] = field(default_factory=dict)
    sums: Counter[str] = field(default_factory=Counter)
    made: tuple[Pod, Group | None] | None = None


@dataclass(slots=True)
class _Family:
    """A group and its pods, and where they are gathered; () where they are kept as they are."""

    group: Group | None = None
    pods: dict[PodKey, Pod] = field(default_factory=dict)
    heaped: tuple[tuple[PodKey, _Alike], ...] = ()


def is_safe_under(config: Config) -> bool:
    """Say whether all rules and goals are known to see no more of running pods than is kept."""
    own = {type(rule) for rule in rules_for(config)} <= set(built_in().values())
    return own and config.tiers.packing != "expected-fragmentation"


class Gathered:
    """Gathers the pods of one snapshot after the other, at a cost that follows what changed."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] = ()
        self._special: frozenset[str] = frozenset()
        self._forget()

    def _forget(self) -> None:
        self._pods: dict[PodKey, Pod] = {}
        self._groups: dict[GroupKey, Group] = {}
        self._families: defaultdict[GroupKey, _Family] = defaultdict(_Family)
        self._foreign: dict[PodKey, _Alike] = {}
        """Of the pods of others, those that are gathered."""
        self._kept: dict[PodKey, Pod] = {}
        self._kept_groups: dict[GroupKey, Group] = {}
        self._heaps: dict[_Alike, _Heap] = {}
        self._samples: dict[int, tuple[PodSpec, dict[GroupKey, None]]] = {}
        """By identity of a spec: groups that could be gathered but for one, the first, which shows
        that there are such pods."""

    def of(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the snapshot with pods gathered; None where they matter, or it saves nothing."""
        try:
            self._take(snapshot)
        except BaseException:
            self._forget()  # what broke off is no base for the next
            raise
        few = len(self._kept) + len(self._heaps)
        if few * WORTH > len(snapshot.pods) or snapshot.nominations or snapshot.quotas:
            return None
        if any(p.spec.sees_pods for p in self._kept.values() if not p.holds):
            return None
        made = [heap.made or _made(alike, heap) for alike, heap in self._heaps.items()]
        pods = sorted([*self._kept.values(), *(p for p, _ in made)], key=_BY_KEY)
        groups = [*self._kept_groups.values(), *(g for _, g in made if g is not None)]
        return replace(
            snapshot, pods=tuple(pods), groups=tuple(sorted(groups, key=_BY_KEY)), budgets=()
        )

    def _take(self, snapshot: Snapshot) -> None:
        """Bring what is known up to date."""
        if snapshot.nodes is not self._nodes:
            special = frozenset(str(n.name) for n in snapshot.nodes if tells_pods_apart(n))
            if special != self._special:
                self._forget()
            self._nodes, self._special = snapshot.nodes, special
        dirty: dict[GroupKey, None] = {}
        gone, come = differing(self._pods.values(), snapshot.pods)
        self._drop_pods([p.key for p in gone], dirty)
        self._put_pods(come, dirty)
        ended, begun = differing(self._groups.values(), snapshot.groups)
        for group in ended:
            del self._groups[group.key]
            dirty[group.key] = None
        for group in begun:
            self._groups[group.key] = group
            dirty[group.key] = None
        while dirty:
            dirty = self._settle(dirty)

    def _drop_pods(self, keys: Iterable[PodKey], dirty: dict[GroupKey, None]) -> None:
        for key in keys:
            old = self._pods.pop(key)
            self._kept.pop(key, None)
            if old.group is None:
                self._unheap([(key, self._foreign.pop(key))] if key in self._foreign else ())
            else:
                self._families[old.group].pods.pop(key)
                dirty[old.group] = None

    def _put_pods(self, pods: Iterable[Pod], dirty: dict[GroupKey, None]) -> None:
        for p in pods:
            self._pods[p.key] = p
            if p.group is not None:
                self._families[p.group].pods[p.key] = p
                dirty[p.group] = None
            elif p.state is PodState.RUNNING and self._is_plain(p) and p.node is not None:
                alike = _Alike(p.node, p.namespace)
                self._foreign[p.key] = alike
                self._heap(p, alike)
            else:
                self._kept[p.key] = p

    def _settle(self, dirty: Iterable[GroupKey]) -> dict[GroupKey, None]:
        """Gather or keep the pods of these groups; return others that are to be looked at then."""
        more: dict[GroupKey, None] = {}
        for key in dirty:
            family = self._families[key]
            self._unheap(family.heaped)
            family.heaped, family.group = (), self._groups.get(key)
            able = family.group is not None and self._may_be_gathered(family.group, family.pods)
            shown = self._shows(key, family, able, more)
            if able and not shown:
                self._kept_groups.pop(key, None)
                for pod in family.pods.values():
                    self._kept.pop(pod.key, None)
                runs = [p for p in family.pods.values() if p.state is PodState.RUNNING]
                family.heaped = tuple((p.key, _alike(p, family.group)) for p in runs)
                for pod, (_, alike) in zip(runs, family.heaped, strict=True):
                    self._heap(pod, alike)
                continue
            self._kept.update(family.pods)
            if family.group is None:
                self._kept_groups.pop(key, None)
            else:
                self._kept_groups[key] = family.group
            if family.group is None and not family.pods:
                del self._families[key]
        return more

    def _shows(
        self, key: GroupKey, family: _Family, able: bool, more: dict[GroupKey, None]
    ) -> bool:
        """Say whether the group is kept to show a spec of it; others may have to from now on."""
        specs = {id(p.spec): p.spec for p in family.pods.values()} if able else {}
        for known in [i for i, (_, groups) in self._samples.items() if key in groups]:
            if known not in specs:
                groups = self._samples[known][1]
                was_first = next(iter(groups)) == key
                del groups[key]
                if not groups:
                    del self._samples[known]
                elif was_first:
                    more[next(iter(groups))] = None
        for number, spec in specs.items():
            self._samples.setdefault(number, (spec, {}))[1][key] = None
        return any(next(iter(self._samples[i][1])) == key for i in specs)

    def _may_be_gathered(self, group: Group, pods: dict[PodKey, Pod]) -> bool:
        """Say whether all its pods run or have ended, and are plain, and none is missing."""
        if group.role_minimum or group.choices or group.broken_since_s is not None:
            return False
        runs = [p for p in pods.values() if p.state is PodState.RUNNING]
        ended = sum(p.state is PodState.SUCCEEDED for p in pods.values())
        failed = sum(p.state is PodState.FAILED for p in pods.values())
        if not runs or len(runs) + ended + failed < len(pods):
            return False
        return len(runs) + ended >= group.minimum and all(self._is_plain(p) for p in runs)

    def _is_plain(self, pod: Pod) -> bool:
        """Say whether nothing but amounts says what room the pod takes."""
        spec = pod.spec
        asks = (
            spec.host_ports, spec.volumes, spec.share, spec.aligned, spec.claims, spec.plugged,
            pod.devices, pod.cells, pod.claimed, pod.claim_names,
        )  # fmt: skip
        return not (any(asks) or spec.sees_pods or pod.node in self._special)

    def _heap(self, pod: Pod, alike: _Alike) -> None:
        heap = self._heaps.setdefault(alike, _Heap())
        heap.pods[pod.key] = pod
        heap.sums.update(pod.spec.requests.entries)
        heap.made = None

    def _unheap(self, pods: Iterable[tuple[PodKey, _Alike]]) -> None:
        for key, alike in pods:
            heap = self._heaps[alike]
            heap.sums.subtract(heap.pods.pop(key).spec.requests.entries)
            heap.made = None
            if not heap.pods:
                del self._heaps[alike]


def differing(before: Collection[T], now: Collection[T]) -> tuple[list[T], list[T]]:
    """Return what was there only before, and what is only now; an object is itself alone."""
    was, there = set(map(id, before)), set(map(id, now))
    return [a for a in before if id(a) not in there], [b for b in now if id(b) not in was]


def tells_pods_apart(node: Node) -> bool:
    """Say whether it matters which of the node's devices or cells a pod has."""
    of = (node.devices, node.blocks, node.numa, node.pool_devices, node.counters, node.plugged)
    return any(of)


def _alike(pod: Pod, group: Group | None) -> _Alike:
    assert group is not None
    assert pod.node is not None
    return _Alike(
        pod.node, pod.namespace, group.user, group.queue, group.priority, pod.priority,
        group.preemptable,
    )  # fmt: skip


def _made(alike: _Alike, heap: _Heap) -> tuple[Pod, Group | None]:
    """Return the pod for a heap, and its group; the slots of the others are among its requests."""
    first = next(iter(heap.pods))
    name = f"{NAME}-{first.partition('/')[2]}"
    group = None
    if alike.queue is not None:
        group = Group(
            alike.namespace, name, alike.queue, priority=alike.priority, user=alike.user,
            preemptable=alike.preemptable, implicit=True,
        )  # fmt: skip
    pod = Pod(
        alike.namespace,
        name,
        PodSpec(Amounts({**heap.sums, "pods": len(heap.pods) - 1})),
        PodState.RUNNING,
        None if group is None else group.key,
        node=alike.node,
        priority=alike.pod_priority,
        preemptable=alike.preemptable,
        protected_until_s=FOR_EVER_S,
    )
    heap.made = pod, group
    return heap.made
