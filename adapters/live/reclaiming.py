"""Reclaiming: whether a held group may have a right to work of other queues, as shares are now.

Shares are worked out from sums over queues alone. Whether held groups could run on an emptied
cluster, and so count as demand, is not asked: their queues are judged by the most that they could
be entitled to, and all others by the least.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from ...models import (
    Amounts,
    Config,
    Group,
    GroupKey,
    Pod,
    PodSpec,
    PodState,
    QueueName,
    Reclaims,
    Snapshot,
    snapshot_of,
)
from ...models.devices import SHARED_GPU
from ...models.mig import PREFIX
from ...policies.entitlement import demand_of, dues_of, entitlements_of
from ...policies.ledger import Matrix
from ...policies.limits import limits_of
from ...policies.scene import Scene
from ...policies.tree import Tree
from .held_group import HeldGroup
from .takings import Takings

Measures = Sequence[Mapping[QueueName, Mapping[int, int]]]
"""Whole parts of dues and of entitlements, by queue and column."""


def nobody_reclaims(
    now: Snapshot,
    config: Config,
    tree: Tree,
    takings: Takings,
    waiting: Sequence[HeldGroup],
    keys: Collection[GroupKey],
) -> bool:
    """Say whether none of the held groups has a right to work of other queues.

    Newcomers are those that wait besides ``keys``, and start.
    """
    asking = [(w, of) for w in waiting if (of := _others(w.group, config, tree, takings))]
    if not asking:
        return True
    if any(takings.has_lower(w.group) for w in waiting):
        return False  # with these gone, its queue might be within its share
    shares = _Shares(now, config, takings, waiting, keys)
    return shares.are_plain and not any(shares.gives(w, o) for w, others in asking for o in others)


def _others(group: Group, config: Config, tree: Tree, takings: Takings) -> set[QueueName]:
    """Return the branches of work that the group might have a right to, whatever the shares."""
    queue = tree.queues.get(group.queue)
    if config.evictions != "all" or not group.may_preempt or queue is None:
        return set()
    if queue.reclaims is Reclaims.NEVER:
        return set()
    apart = (tree.apart(queue.name, q) for q in takings.lowest if q in tree)
    return {
        other[-1]
        for mine, other in apart
        if mine and other and all(tree.queues[q].reclaimable for q in other)
    }


class _Shares:
    """Dues and entitlements as they may be while newcomers start."""

    def __init__(
        self,
        now: Snapshot,
        config: Config,
        takings: Takings,
        waiting: Sequence[HeldGroup],
        keys: Collection[GroupKey],
    ) -> None:
        self._held = _sums((w.group.queue, p) for w in waiting for p in w.pods)
        groups = now.groups_by_key
        come = [p for p in now.pods if p.state is PodState.PENDING and p.ours]
        self._new = _sums(
            (groups[p.group].queue, p) for p in come if p.group and p.group not in keys
        )
        self._scene = Scene(_summed(now, takings, (self._held, self._new)), config, ())
        named = {r for of in (*takings.heaps.values(), *self._held.values()) for r in of}
        self.are_plain = not any(r == SHARED_GPU or r.startswith(PREFIX) for r in named)
        """False: parts of GPUs are charged in ways that sums do not show."""
        self._most: dict[QueueName, Measures] = {}

    def gives(self, w: HeldGroup, branch: QueueName) -> bool:
        """Say whether something of the branch may be beyond a measure that the group is within."""
        scene, queue = self._scene, w.group.queue
        limits, column = limits_of(scene), scene.ledger.column
        asked = [column[r] for r in w.asks if r in column and column[r] in self._columns]
        size = {column[r]: w.need * v for r, v in w.least.items() if r in column}
        after = self._after[branch]
        for most, least in zip(self._most_of(queue), self._least, strict=True):
            within = all(
                limits.use[queue][r] + size.get(r, 0) <= most[queue][r] for r in asked
            )  # fmt: skip
            if within and any(int(after[r]) > least[branch][r] for r in asked):
                return True
        return False

    @cached_property
    def _columns(self) -> frozenset[int]:
        ledger, named = self._scene.ledger, limits_of(self._scene).named
        width = len(ledger.resources)
        return frozenset(r for r in range(width) if r not in ledger.uncounted or r in named)

    @cached_property
    def _after(self) -> Mapping[QueueName, Matrix]:
        """What queues use at most once newcomers and held groups would have started."""
        scene, limits = self._scene, limits_of(self._scene)
        out = {q: scene.ledger.row({}) + limits.use[q] for q in scene.tree.queues}
        for of in (self._held, self._new):
            for queue, sums in of.items():
                for q in scene.tree.path(queue):
                    out[q] = out[q] + scene.ledger.row(sums)
        return out

    @cached_property
    def _least(self) -> Measures:
        return self._measures(self._held)

    def _most_of(self, queue: QueueName) -> Measures:
        if queue not in self._most:
            self._most[queue] = self._measures({queue: self._held[queue]})
        return self._most[queue]

    def _measures(self, held: Mapping[QueueName, Mapping[str, int]]) -> Measures:
        scene, limits, columns = self._scene, limits_of(self._scene), self._columns
        own = scene.own_sums(scene.columns.running & scene.columns.ours)
        for of in (held, self._new):
            for queue, sums in of.items():
                if queue in own:
                    own[queue] = own[queue] + scene.ledger.row(sums)
        demand = demand_of(scene, limits, columns, own)
        due = dues_of(scene, limits, columns)
        shares = entitlements_of(scene, limits, columns, demand, due)
        claims = {
            q: {r: due[q][r] if r in limits.named else e for r, e in of.items()}
            for q, of in shares.items()
        }
        return [
            {q: {r: int(v) for r, v in of.items()} for q, of in m.items()} for m in (claims, shares)
        ]


def _sums(pods: Iterable[tuple[QueueName, Pod]]) -> dict[QueueName, Counter[str]]:
    """Return what the pods ask for together, by queue, pod slots included."""
    out: defaultdict[QueueName, Counter[str]] = defaultdict(Counter)
    for queue, pod in pods:
        out[queue].update(pod.spec.requests.entries)
        out[queue]["pods"] += 1
    return dict(out)


def _summed(
    now: Snapshot, takings: Takings, waits: Iterable[Mapping[QueueName, Mapping[str, int]]]
) -> Snapshot:
    """Return a snapshot with one pod for all that runs of a queue, and one for all that waits."""
    nodes = {n.takes_pods: n.name for n in now.nodes}
    made = [
        _heap(f"runs{i}", queue, of, nodes[is_open])
        for i, ((queue, is_open), of) in enumerate(takings.heaps.items())
        if of["pods"] > 0 and is_open in nodes
    ]
    made += [
        _heap(f"waits{i}-{queue}", queue, sums, None)
        for i, of in enumerate(waits)
        for queue, sums in of.items()
    ]
    return snapshot_of(
        taken_at_s=now.taken_at_s, nodes=now.nodes, queues=now.queues,
        groups=[g for _, g in made if g is not None], pods=[p for p, _ in made],
    )  # fmt: skip


def _heap(
    name: str, queue: QueueName | None, sums: Mapping[str, int], node: str | None
) -> tuple[Pod, Group | None]:
    spec = PodSpec(Amounts({**sums, "pods": sums["pods"] - 1}))
    group = None if queue is None else Group("", name, queue)
    state = PodState.PENDING if node is None else PodState.RUNNING
    key = None if group is None else group.key
    return Pod("", name, spec, state, key, node=node), group  # type: ignore[arg-type]
