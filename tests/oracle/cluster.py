"""A snapshot in numbers: pods, groups, nodes and queues as indices, amounts as vectors.

Readings of the contract that are fixed here:

* "Enough members succeeded" makes a need of 0 as well.
* Terminating pods, foreign ones too, are gone: a plan is judged by the state it ends in.
* Every queue on the way to the root must be open, without hold, and admit the namespace.
* "The larger of the group's and its pods'" priority is one for all of the group that runs: its
  running pods count, the pending ones do not.
* Where the queues of two groups lie one below the other, neither has a branch towards the other:
  work that runs in an inner queue itself is no victim for those below.
* In the order of giving groups up, one that a budget does not bear is passed over, not the end.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from apportion.models import Choice as ModelChoice
from apportion.models import (
    Config,
    Group,
    Node,
    Pod,
    PodState,
    Queue,
    QueueState,
    Snapshot,
    Taint,
)
from oracle.amount import Vec, plus

NEW, WHOLE, BROKEN = "new", "whole", "broken"
ROOT = -1
NOWHERE = -2
"""The queue of groups whose queue does not exist."""


class Cluster:
    """The snapshot and the configuration, compiled once."""

    def __init__(self, snapshot: Snapshot, config: Config) -> None:
        self.snapshot, self.config = snapshot, config
        self.nodes: tuple[Node, ...] = snapshot.nodes
        self.node_index: dict[str, int] = {n.name: i for i, n in enumerate(self.nodes)}
        self.pods: tuple[Pod, ...] = snapshot.pods
        self.pod_index: dict[str, int] = {p.key: i for i, p in enumerate(self.pods)}
        self.groups: tuple[Group, ...] = snapshot.groups
        self.group_index = {g.key: i for i, g in enumerate(self.groups)}
        self.resources = _resources(snapshot)
        self.slot = len(self.resources)
        """Index of the pod slot, after the resources proper."""
        self.zero: Vec = (0,) * (self.slot + 1)
        self.size = [self.vector(p.footprint) for p in self.pods]
        self.asks = [self.asked(v) for v in self.size]
        self.allocatable = [self.vector(n.allocatable) for n in self.nodes]
        self.capacity = self.sum_of(
            v for v, n in zip(self.allocatable, self.nodes, strict=True) if n.takes_pods
        )
        self._read_pods()
        self._read_queues()
        self._read_groups()
        self._read_victims()
        self._read_places()

    def vector(self, amounts: Mapping[str, int]) -> Vec:
        return tuple(amounts.get(r, 0) for r in (*self.resources, "pods"))

    def asked(self, size: Vec) -> tuple[int, ...]:
        """Resources proper of which the size asks anything."""
        return tuple(r for r in range(self.slot) if size[r] > 0)

    def sum_of(self, parts: Iterable[Vec]) -> Vec:
        out = self.zero
        for v in parts:
            out = plus(out, v)
        return out

    # pods

    def _read_pods(self) -> None:
        self.group_of = [
            self.group_index[p.group] if p.group is not None else -1 for p in self.pods
        ]
        self.node_of = [self.node_index.get(p.node or "", -1) for p in self.pods]
        running = [i for i, p in enumerate(self.pods) if p.state is PodState.RUNNING]
        self.ours = frozenset(i for i in running if self.group_of[i] >= 0)
        self.sitting = tuple(i for i in running if self.node_of[i] >= 0)
        """Running pods on known nodes, ours and foreign."""
        self.fixed_for_good = frozenset(
            i for i, g in enumerate(self.group_of) if g >= 0 and not self.groups[g].preemptable
        )
        """Pods of groups that are not preemptable, running or not."""
        self.budgets_of = [
            tuple(b for b, budget in enumerate(self.snapshot.budgets) if budget.covers(p))
            for p in self.pods
        ]
        self.nominated = frozenset(
            self.pod_index[k] for k, _ in self.snapshot.nominations if k in self.pod_index
        )

    # queues

    def _read_queues(self) -> None:
        self.queues: list[Queue] = list(self.snapshot.queues)
        known: dict[str, int] = {q.name: i for i, q in enumerate(self.queues)}
        self.parent = [known.get(q.parent or "", ROOT) for q in self.queues]
        for q in range(len(self.queues)):
            if _is_on_cycle(q, self.parent):
                self.parent[q] = ROOT
        self.queue_of = [known.get(g.queue, NOWHERE) for g in self.groups]
        self.children: dict[int, list[int]] = {q: [] for q in range(ROOT, len(self.queues))}
        for q, p in enumerate(self.parent):
            self.children[p].append(q)
        self.path = {q: self._path(q) for q in range(len(self.queues))} | {NOWHERE: ()}
        """From the queue itself to its ancestor below the root."""
        shares = [self.config.queues.get(q.name) for q in self.queues]
        self.capability: list[dict[int, int]] = []
        self.deserved: list[dict[int, int]] = []
        self.own_guarantee: list[Vec] = []
        for q, queue in enumerate(self.queues):
            s = shares[q]
            self.capability.append(
                self._named(queue.capability, s.capability_percent if s else {}, lower=True)
            )
            self.deserved.append(self._named(queue.deserved, s.deserved_percent if s else {}))
            guarantee = self._named(queue.guarantee, s.guarantee_percent if s else {})
            self.own_guarantee.append((*(guarantee.get(r, 0) for r in range(self.slot)), 0))
        self.within = ["groups" if s is None else s.within for s in shares]
        self.namespaces = [
            queue.namespaces if s is None or s.namespaces is None else frozenset(s.namespaces)
            for queue, s in zip(self.queues, shares, strict=True)
        ]

    def _path(self, q: int) -> tuple[int, ...]:
        out = []
        while q != ROOT:
            out.append(q)
            q = self.parent[q]
        return tuple(out)

    def _named(
        self, own: Mapping[str, int], percent: Mapping[str, int], lower: bool = False
    ) -> dict[int, int]:
        index = {r: i for i, r in enumerate((*self.resources, "pods"))}
        out = {index[r]: v for r, v in own.items()}
        for r, share in percent.items():
            if r in index:
                amount = self.capacity[index[r]] * share // 100
                out[index[r]] = min(amount, out.get(index[r], amount)) if lower else amount
        return out

    def branches(self, a: int, b: int) -> tuple[int, int] | None:
        """Return the children of the lowest common ancestor towards two queues, if both exist."""
        for x, y in zip(self.path[a][::-1], self.path[b][::-1], strict=False):
            if x != y:
                return x, y
        return None

    # groups

    def _read_groups(self) -> None:
        n = len(self.groups)
        members: list[list[int]] = [[] for _ in range(n)]
        for i, g in enumerate(self.group_of):
            if g >= 0:
                members[g].append(i)
        self.running: list[tuple[int, ...]] = []
        self.pending: list[tuple[int, ...]] = []
        self.group_asks: list[tuple[int, ...]] = []
        """What any running or pending member asks for."""
        self.need: list[int] = []
        self.role_need: list[dict[str, int]] = []
        self.done: list[list[str]] = []
        """Roles of members that have succeeded."""
        for g, group in enumerate(self.groups):
            ranked = sorted(members[g], key=self.rank)
            by_state = {s: tuple(i for i in ranked if self.pods[i].state is s) for s in PodState}
            self.running.append(by_state[PodState.RUNNING])
            self.pending.append(by_state[PodState.PENDING])
            here = (*self.running[g], *self.pending[g])
            self.group_asks.append(self.asked(self.sum_of(self.size[i] for i in here)))
            done = by_state[PodState.SUCCEEDED]
            self.need.append(max(0, group.effective_minimum - len(done)))
            done_of = [self.pods[i].role for i in done]
            self.done.append(done_of)
            self.role_need.append(
                {r: max(0, k - done_of.count(r)) for r, k in sorted(group.role_minimum.items())}
            )
        self.state = [self._state(g) for g in range(n)]
        self.held = [self._held(g) for g in range(n)]
        now, grace = self.snapshot.taken_at_s, self.config.grace_s
        self.grace_over = [
            g.broken_since_s is None or now - g.broken_since_s >= grace for g in self.groups
        ]

    def _read_victims(self) -> None:
        now, budgets = self.snapshot.taken_at_s, self.snapshot.budgets
        self.under_several = frozenset(
            i for i in self.ours if sum(b.selects(self.pods[i]) for b in budgets) > 1
        )
        """No API server evicts these."""
        self.evictable = frozenset(
            i
            for i in self.ours
            if self.pods[i].preemptable
            and self.groups[self.group_of[i]].preemptable
            and not self.pods[i].critical
            and i not in self.under_several
            and (self.pods[i].protected_until_s or now) <= now
            and self.queue_of[self.group_of[i]] != NOWHERE
        )
        self.victim_priority = [
            self.priority_of(g, self.running[g]) for g in range(len(self.groups))
        ]
        self.elastic_running: list[tuple[int, ...]] = []
        for g in range(len(self.groups)):
            minimum = self.minimum_of(g, self.running[g])
            self.elastic_running.append(tuple(i for i in self.running[g] if i not in minimum))

    def priority_of(self, g: int, lost: Iterable[int]) -> int:
        """Return the larger of the group's and the lost pods' priorities."""
        return max([self.groups[g].priority, *(self.pods[i].priority for i in lost)])

    def is_fresh(self, mine: int, h: int) -> bool:
        """Say whether the group has run for less than it may before queue ``mine`` takes it all."""
        way = self.path[self.queue_of[h]]
        if mine == self.queue_of[h]:
            said = [self.queues[q].preempt_min_runtime_s for q in way]
        else:
            common = set(way) & set(self.path[mine])
            branch = max((n for n, q in enumerate(way) if q not in common), default=0)
            said = [self.queues[q].reclaim_min_runtime_s for q in way[branch:]]
        least = [s for s in said if s is not None]
        starts = [s for i in self.running[h] if (s := self.pods[i].started_s) is not None]
        return bool(least and starts) and self.snapshot.taken_at_s - min(starts) < least[0]

    def given_up(self, started: AbstractSet[int]) -> frozenset[int]:
        """Return the pods of broken groups that go for nobody where these pods start."""
        left = [b.allowed for b in self.snapshot.budgets]
        out: set[int] = set()
        for g in sorted(range(len(self.groups)), key=lambda g: self.groups[g].key):
            pods = self.running[g]
            if self.state[g] != BROKEN or not self.grace_over[g]:
                continue
            if any(self.pods[i].critical or i in self.under_several for i in pods):
                continue
            after = list(left)
            for i in pods:
                for b in self.budgets_of[i]:
                    after[b] -= 1
            if all(n >= 0 or n == m for n, m in zip(after, left, strict=True)):
                left = after
                if started.isdisjoint(self.pending[g]):
                    out.update(pods)
        return frozenset(out)

    def rank(self, pod: int) -> tuple[bool, int, int, str, str]:
        p = self.pods[pod]
        return (pod not in self.nominated, -p.task_priority, p.created_s, p.name, p.namespace)

    def needs_nobody(self, g: int) -> bool:
        return self.satisfies(g, ())

    def satisfies(self, g: int, pods: Iterable[int]) -> bool:
        """Say whether these members reach what the group needs, in total and per role."""
        roles = [self.pods[i].role for i in pods]
        return (
            len(roles) >= self.need[g]
            and all(roles.count(r) >= k for r, k in self.role_need[g].items())
            and all(_is_met(c, [*roles, *self.done[g]]) for c in self.groups[g].choices)
        )

    def minimum_of(self, g: int, members: Iterable[int]) -> tuple[int, ...]:
        """Pick the minimum from the members in their order: each role's need, then the rest.

        Where some of many parts are needed: all, but for the last ones that can be done without.
        """
        members = list(members)
        if self.groups[g].choices and self.satisfies(g, members):
            left = list(members)
            for i in members[::-1]:
                if self.satisfies(g, [j for j in left if j != i]):
                    left.remove(i)
            return tuple(left)
        chosen: list[int] = []
        for role, k in self.role_need[g].items():
            chosen += [i for i in members if self.pods[i].role == role][:k]
        rest = [i for i in members if i not in chosen]
        return tuple(chosen + rest[: max(0, self.need[g] - len(chosen))])

    def _state(self, g: int) -> str:
        if self.satisfies(g, self.running[g]):
            return WHOLE
        return BROKEN if self.running[g] else NEW

    def _held(self, g: int) -> str:
        group, leaf = self.groups[g], self.queue_of[g]
        if group.hold:
            return "the group is on hold"
        if leaf == NOWHERE or self.children[leaf]:
            return f"queue {group.queue} is missing or no leaf"
        for q in self.path[leaf]:
            queue, allowed = self.queues[q], self.namespaces[q]
            if queue.state is not QueueState.OPEN:
                return f"queue {queue.name} is {queue.state}"
            if queue.hold:
                return f"queue {queue.name} is on hold"
            if allowed is not None and group.namespace not in allowed:
                return f"queue {queue.name} does not admit namespace {group.namespace}"
        return ""

    # places

    def _read_places(self) -> None:
        self.allowed: dict[int, tuple[int, ...]] = {}
        """Nodes of each pending pod by the rules that concern one pod and one node."""
        by_spec: dict[int, tuple[int, ...]] = {}
        for g in range(len(self.groups)):
            for i in self.pending[g]:
                spec = id(self.pods[i].spec)
                if spec not in by_spec:
                    by_spec[spec] = tuple(
                        n for n, node in enumerate(self.nodes) if not refusal(self.pods[i], node)
                    )
                self.allowed[i] = by_spec[spec]
        from oracle.devices import GPU, beyond_charges

        more = [self.vector({GPU: v} if v else {}) for v in beyond_charges(self.snapshot)]
        self.offers = [plus(a, b) for a, b in zip(self.allocatable, more, strict=True)]
        """What may be charged on each node."""
        self.base = [self.zero] * len(self.nodes)
        """What sits on each node now."""
        for i in self.sitting:
            self.base[self.node_of[i]] = plus(self.base[self.node_of[i]], self.size[i])
        kinds: dict[object, int] = {}
        read = _label_keys(self.snapshot)
        guarded = set[str]().union(
            *(b.selector.keys() for b in self.snapshot.budgets if b.selector)
        )
        self.kind: dict[int, int] = {}
        """Interchangeable pending or running pods have one kind."""
        for i in (*self.allowed, *sorted(self.ours)):
            p = self.pods[i]
            keys = read if i in self.allowed else read | guarded  # budgets guard what runs
            mark = (
                self.group_of[i],
                p.role,
                p.subgroups,
                p.spec,
                tuple(sorted((k, v) for k, v in p.labels.items() if k in keys)),
                (p.namespace, p.priority, p.preemptable, p.critical, p.protected_until_s),
                i in self.nominated,
                None
                if i in self.allowed
                else (self.node_of[i], p.created_s, p.started_s, p.devices, p.cells, p.claimed),
            )
            self.kind[i] = kinds.setdefault(mark, len(kinds))
        self.wary = frozenset(
            i
            for i, p in enumerate(self.pods)
            if p.spec.host_ports
            or p.spec.anti_affinity
            or any(v.claim and (v.sharing or v.keys) for v in p.spec.volumes)
        )
        """Pods that may clash with others."""
        self.required = [self._required(g) for g in self.groups]
        """Per group: subgroup ("" for all) and the required level, as node name to domain."""
        self.leveled = any(self.required)
        self.social = any(
            p.spec.host_ports
            or p.spec.affinity
            or p.spec.anti_affinity
            or p.spec.spread
            or p.spec.share
            for p in self.pods
        )
        self.social |= bool(self.wary)
        self.social |= any(n.numa is not None and n.numa.strict for n in self.nodes)
        """Some pod, or some node's kubelet, cares about who else is where."""
        self.storing = any(v.driver for p in self.pods for v in p.spec.volumes)
        """Some pod has a volume that has to be attached."""
        self.claiming = any(p.spec.claims for p in self.pods)
        """Some pod claims devices."""
        self.bounded = any(v.made_in for p in self.pods for v in p.spec.volumes)
        """Some pod needs claims that a quota bounds."""

    def _required(self, group: Group) -> list[tuple[str, dict[str, str]]]:
        asked = [(s.name, s.topology) for s in group.subgroups]
        if group.topology is not None:
            asked.append(("", group.topology))
        out = []
        for name, request in asked:
            if request.required:
                levels = [
                    x
                    for t in self.snapshot.topologies
                    if t.name == request.topology
                    for x in t.levels
                    if x.name == request.required
                ]
                domains = levels[0].domains if levels else {}
                out.append((name, {n: d for d, nodes in domains.items() for n in nodes}))
        return out

    def is_in(self, pod: int, subgroup: str) -> bool:
        """Say whether the pod, one of the group, is in the subgroup."""
        return not subgroup or subgroup in self.pods[pod].subgroups


def _is_met(choice: ModelChoice, roles: list[str]) -> bool:
    parts = [roles.count(r) >= n for r, n in choice.roles.items()]
    return sum(parts) + sum(_is_met(c, roles) for c in choice.choices) >= choice.least


def refusal(pod: Pod, node: Node) -> str:
    """Say why the pod may never run on the node, whatever else is there; empty: it may."""
    if not node.ready or (node.unschedulable and not bears(pod, CORDON)):
        return "node takes no pods"
    if not selects(pod, node):
        return "node selector or affinity"
    if not tolerates(pod, node):
        return "taint"
    for v in pod.spec.volumes:
        if v.problem or (v.driver and v.driver not in node.drivers):
            return "volume"
        if not all(any(t.matches(node.labels, node.name) for t in of) for of in v.places):
            return "volume"
    from oracle.devices import hands_out

    return "" if hands_out(pod, node) else "devices are not handed out"


def selects(pod: Pod, node: Node) -> bool:
    spec = pod.spec
    if any(node.labels.get(k) != v for k, v in spec.node_selector):
        return False
    return spec.node_affinity is None or any(
        t.matches(node.labels, node.name) for t in spec.node_affinity
    )


def tolerates(pod: Pod, node: Node) -> bool:
    """Say whether every NoSchedule and NoExecute taint is tolerated, as kube-scheduler has it."""
    return all(
        bears(pod, taint) for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute")
    )


CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def bears(pod: Pod, taint: Taint) -> bool:
    """Say whether the pod tolerates the taint."""
    return any(
        t.effect in ("", taint.effect)
        and (t.key == taint.key or (not t.key and t.operator == "Exists"))
        and (t.operator == "Exists" or t.value == taint.value)
        for t in pod.spec.tolerations
    )


def _resources(snapshot: Snapshot) -> tuple[str, ...]:
    names: set[str] = set()
    for n in snapshot.nodes:
        names |= set(n.allocatable)
    for p in snapshot.pods:
        names |= set(p.spec.requests)
    for q in snapshot.queues:
        names |= {*q.capability, *q.deserved, *q.guarantee}
    return tuple(sorted(names - {"pods"}))


def _is_on_cycle(q: int, parent: list[int]) -> bool:
    at = parent[q]
    for _ in parent:
        if at in (ROOT, q):
            break
        at = parent[at]
    return at == q


def _label_keys(snapshot: Snapshot) -> frozenset[str]:
    """Keys of pod labels that some selector reads."""
    keys: set[str] = set()
    for p in snapshot.pods:
        for t in (*p.spec.affinity, *p.spec.anti_affinity):
            keys |= t.selector.keys() if t.selector else set()
        for c in p.spec.spread:
            keys |= c.selector.keys() if c.selector else set()
    return frozenset(keys)
