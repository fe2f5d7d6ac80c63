"""The door for Kubernetes objects: from documents to a snapshot."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from ...models import Node, Pod, PodKey, PodState, Snapshot, snapshot_of
from ..files import Document
from .aligned import refusals
from .body_queue import LocalQueueSpec
from .budgets import budget_of, quota_of
from .cards import Cards, names_devices
from .csi_nodes import node_drivers
from .device_charges import Charges
from .device_claims import DeviceClaims
from .drafts import Draft, draft_of, workload_drafts
from .faults import Ledger
from .groups import Grouping, build, foreign_pods
from .membership import DIALECT_OF_API, Dialect
from .meta import Thing
from .nodes import node_of
from .numa import numa_reports
from .options import ReadOptions
from .owners import OWNER_KINDS, Owners
from .part_charges import with_parts_charged
from .pods import Candidate, candidates, scheduler_of
from .queue_drafts import QueueDraft, elastic_quota, kai_queue, volcano_queue
from .queue_names import KOORDINATOR_NAME, QueueNames
from .queue_tree import queues_of
from .queues_kueue import kueue_queues
from .reader import Objects, read_objects
from .storage import Storage
from .topologies import Topologies
from .volcano_jobs import Expansion, expand
from .world import Priorities, World, defaults_of, namespaces_of, surroundings_of

_ELASTIC = ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io")


def snapshot_from(documents: Iterable[Document], options: ReadOptions) -> Snapshot:
    """Return the snapshot of the objects; bad ones are listed in ``rejected`` and left out.

    Documents of apportion.dev (scenarios, snapshots) are passed over.
    """
    with collector_off():
        ledger = Ledger()
        return snapshot_of_objects(read_objects(documents, options, ledger), options, ledger)


@contextmanager
def collector_off() -> Iterator[None]:
    """Spare the cycle collector: a third of the time would go into objects without cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def snapshot_of_objects(objects: Objects, options: ReadOptions, ledger: Ledger) -> Snapshot:
    """Return the snapshot of objects that were read; the ledger has what was said of them."""
    world = _world(objects, options, ledger)
    owners = Owners(_owners(objects))
    drafts = _drafts(objects, ledger)
    jobs = Expansion([], [], {}) if options.live else _expanded(objects, drafts, world)
    pods = candidates([*objects.of("", "Pod"), *jobs.pods], world)
    shares = any(c.spec.share is not None or names_devices(c.thing) for c in pods)
    if shares:
        world.cards.cut(pods)
        pods = world.cards.note_groups(pods)
    grouping = Grouping([*drafts, *jobs.drafts], jobs.aliases, owners, ledger, options)
    members = grouping.place(pods)
    groups, ours = build(members, _queue_names(objects, world), owners, world)
    fixed = foreign_pods(pods, world)
    nodes = _nodes(objects, world, shares)
    _warn_of_missing_nodes([*ours, *fixed], {n.name for n in nodes}, ledger)
    if not options.live:
        _warn_if_none_is_ours(pods, jobs.elsewhere, bool(groups), options, ledger)
    things = {c.thing.key: c.thing for c in pods}
    known = [(things[p.key], p) for p in (*ours, *fixed)]
    budgets = (
        budget_of(t, known, owners, ledger) for t in objects.of("policy", "PodDisruptionBudget")
    )
    quotas = (quota_of(t, ledger) for t in objects.of("", "ResourceQuota"))
    queues = queues_of(_queues(objects, world), ledger)
    nodes, all_pods = with_parts_charged(nodes, [*ours, *fixed], queues)
    return snapshot_of(
        taken_at_s=world.taken_at_s,
        nodes=nodes,
        pods=all_pods,
        groups=groups,
        queues=queues,
        budgets=[b for b in budgets if b is not None],
        namespaces=list(world.namespaces.values()),
        quotas=[q for q in quotas if q is not None],
        topologies=world.topologies.used,
        claims=list(world.charges.claims.named.values()),
        nominations=_promises(ours, {n.name for n in nodes}),
        scheduler_names=options.scheduler_names,
        rejected=ledger.rejected,
        warnings=ledger.warnings,
        counted=dict(sorted(ledger.counted.items())),
    )


def _expanded(objects: Objects, drafts: Iterable[Draft], world: World) -> Expansion:
    volcano = {(d.namespace, d.name): d for d in drafts if d.dialect is Dialect.VOLCANO}
    return expand(
        objects.of("batch.volcano.sh", "Job"),
        objects.pod_keys,
        volcano,
        world.options,
        world.taken_at_s,
        world.ledger,
    )


def _promises(ours: Iterable[Pod], nodes: set[str]) -> list[tuple[PodKey, str]]:
    """Return the places that the cycle before promised our pods, on nodes that are still there."""
    return [
        (p.key, p.nominated)
        for p in ours
        if p.state is PodState.PENDING and p.nominated is not None and p.nominated in nodes
    ]


def _world(objects: Objects, options: ReadOptions, ledger: Ledger) -> World:
    declared = namespaces_of(objects.of("", "Namespace"))
    seen = {t.namespace for t in objects.of("", "Pod")}
    seen |= {t.namespace for t in objects.of("batch.volcano.sh", "Job")}
    nodes = ((t, n) for t in objects.of("", "Node") if (n := node_of(t, ledger)) is not None)
    taken_at_s = objects.newest_s if options.now_s is None else options.now_s
    return World(
        options=options,
        ledger=ledger,
        taken_at_s=taken_at_s,
        priorities=Priorities(objects.of("scheduling.k8s.io", "PriorityClass"), ledger),
        namespaces=declared,
        surroundings=surroundings_of(declared, seen),
        cards=Cards(nodes, ledger),
        topologies=Topologies(
            objects.of("topology.volcano.sh", "HyperNode"),
            objects.of("kai.scheduler", "Topology"),
            objects.of("kueue.x-k8s.io", "Topology"),
            objects.of("", "Node"),
            options.topology_labels,
            ledger,
        ),
        defaults=defaults_of(objects.of("", "LimitRange"), ledger),
        storage=Storage.of(objects, ledger),
        numa=numa_reports(
            objects.of("topology.node.k8s.io", "NodeResourceTopology"),
            objects.of("nodeinfo.volcano.sh", "Numatopology"),
            ledger,
        ),
        refusals=refusals(objects.of("", "Pod"), taken_at_s),
        charges=Charges.of(objects, DeviceClaims.of(objects, ledger)),
    )


def _nodes(objects: Objects, world: World, shares: bool) -> list[Node]:
    """Return the nodes with what others say about them: devices, what is attached there, cells."""
    drivers = node_drivers(objects, world.storage)
    return world.charges.with_devices(
        replace(
            n,
            drivers={**n.drivers, **drivers.get(n.name, {})},
            numa=world.numa.nodes.get(n.name),
        )
        for n in world.cards.nodes(shares)
    )


def _owners(objects: Objects) -> list[Thing]:
    return objects.owners + [t for group, kind in OWNER_KINDS for t in objects.of(group, kind)]


def _drafts(objects: Objects, ledger: Ledger) -> list[Draft]:
    out = [
        draft
        for api in DIALECT_OF_API
        for thing in objects.of(api, "PodGroup")
        if (draft := draft_of(thing, ledger)) is not None
    ]
    for thing in objects.of("scheduling.k8s.io", "Workload"):
        out += workload_drafts(thing)
    return out


def _queue_names(objects: Objects, world: World) -> QueueNames:
    elastic = [t for api in _ELASTIC for t in objects.of(api, "ElasticQuota")]
    local: list[tuple[str, str, str]] = []
    for t in objects.of("kueue.x-k8s.io", "LocalQueue"):
        spec = t.body.spec or LocalQueueSpec()
        local.append((t.namespace, t.name, spec.cluster_queue or t.name))
        if spec.stop_policy in ("Hold", "HoldAndDrain"):
            said = "is not used yet; stop the ClusterQueue to hold its pods"
            world.ledger.warn(t.title, "spec.stopPolicy", said)
    return QueueNames(world, elastic, local, world.options.queues_from)


def _queues(objects: Objects, world: World) -> list[QueueDraft]:
    ledger = world.ledger
    if world.options.queues_from == "kueue":
        return kueue_queues(
            objects.of("kueue.x-k8s.io", "ClusterQueue"),
            objects.of("kueue.x-k8s.io", "Cohort"),
            world.surroundings,
            ledger,
        )
    out = [volcano_queue(t, ledger) for t in objects.of("scheduling.volcano.sh", "Queue")]
    out += [kai_queue(t, ledger) for t in objects.of("scheduling.run.ai", "Queue")]
    elastic = [t for api in _ELASTIC for t in objects.of(api, "ElasticQuota")]
    keys = {t.labels.get(KOORDINATOR_NAME) or t.name: t.key for t in elastic}
    out += [elastic_quota(t, keys, ledger) for t in elastic]
    return [d for d in out if d is not None]


def _warn_of_missing_nodes(pods: Iterable[Pod], nodes: set[str], ledger: Ledger) -> None:
    missing = Counter(p.node for p in pods if p.holds and p.node and p.node not in nodes)
    for node, n in missing.items():
        ledger.warn(
            f"Node {node}", "", f"is not in the input, though {n} of the pods run on it; add it"
        )


def _warn_if_none_is_ours(
    pods: Iterable[Candidate],
    to_be_made: Mapping[str, int],
    any_group: bool,
    options: ReadOptions,
    ledger: Ledger,
) -> None:
    pods = list(pods)
    waiting = Counter(scheduler_of(c.thing) for c in pods if c.state is PodState.PENDING)
    waiting.update(to_be_made)
    if any_group or any(c.ours for c in pods) or not waiting:
        return
    whose = ", ".join(f"{n} for {name}" for name, n in waiting.most_common())
    flags = " ".join(f"--scheduler-name {name}" for name, _ in waiting.most_common(1))
    ours = " or ".join(options.scheduler_names)
    ledger.warn(
        "Pods",
        "spec.schedulerName",
        f"no pod asks for {ours}, so there is nothing to plan; pending are {whose}; "
        f"pass {flags} to plan those",
    )
