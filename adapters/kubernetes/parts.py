"""The parts of a world, each made of the objects of a few kinds."""

from collections.abc import Iterable

from msgspec.structs import replace

from ...models import Node, Queue, ResourceQuota
from .aligned import refusals
from .body_queue import LocalQueueSpec
from .budgets import quota_of
from .cards import Cards
from .csi_nodes import node_drivers
from .device_charges import Charges
from .device_claims import DeviceClaims
from .drafts import Draft, draft_of, workload_drafts
from .faults import Book, Ledger
from .membership import DIALECT_OF_API
from .meta import Thing
from .nodes import node_of
from .numa import NumaReports, numa_reports
from .options import ReadOptions
from .owners import OWNER_KINDS, Owners
from .queue_drafts import QueueDraft, elastic_quota, kai_queue, volcano_queue
from .queue_names import KOORDINATOR_NAME, QueueNames
from .queue_nodes import QueueNodes, places_of_kueue, places_of_volcano
from .queue_paths import with_paths
from .queue_tree import queues_of
from .queues_kueue import kueue_queues
from .reader import Objects
from .storage import Storage
from .topologies import Topologies
from .world import Priorities, World, defaults_of, namespaces_of, surroundings_of

_ELASTIC = ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io")


def world_of(objects: Objects, options: ReadOptions, ledger: Ledger) -> World:
    """Return everything around pods and groups."""
    declared = namespaces_of(objects.of("", "Namespace"))
    seen = {t.namespace for t in objects.of("", "Pod")}
    seen |= {t.namespace for t in objects.of("batch.volcano.sh", "Job")}
    nodes = ((t, n) for t in objects.of("", "Node") if (n := node_of(t, ledger)) is not None)
    taken_at_s = objects.newest_s if options.now_s is None else options.now_s
    return World(
        options=options,
        ledger=ledger,
        taken_at_s=taken_at_s,
        priorities=priorities_of(objects, ledger),
        namespaces=declared,
        surroundings=surroundings_of(declared, seen),
        cards=Cards(nodes, ledger, Book()),
        topologies=topologies_of(objects, options, ledger),
        defaults=defaults_of(objects.of("", "LimitRange"), ledger),
        storage=Storage.of(objects, ledger),
        numa=numa_of(objects, ledger),
        refusals=refusals(objects.of("", "Pod"), taken_at_s),
        charges=Charges.of(objects, DeviceClaims.of(objects, ledger)),
        queue_nodes=queue_nodes_of(objects, options, ledger),
    )


def queue_nodes_of(objects: Objects, options: ReadOptions, ledger: Ledger) -> QueueNodes:
    if options.queues_from == "kueue":
        queues = objects.of("kueue.x-k8s.io", "ClusterQueue")
        flavors = objects.of("kueue.x-k8s.io", "ResourceFlavor")
        return QueueNodes(places_of_kueue(queues, flavors, ledger))
    return QueueNodes(places_of_volcano(objects.of("scheduling.volcano.sh", "Queue"), ledger))


def priorities_of(objects: Objects, ledger: Ledger) -> Priorities:
    return Priorities(
        objects.of("scheduling.k8s.io", "PriorityClass"),
        ledger,
        objects.of("kueue.x-k8s.io", "WorkloadPriorityClass"),
    )


def topologies_of(objects: Objects, options: ReadOptions, ledger: Ledger) -> Topologies:
    return Topologies(
        objects.of("topology.volcano.sh", "HyperNode"),
        objects.of("kai.scheduler", "Topology"),
        objects.of("kueue.x-k8s.io", "Topology"),
        objects.of("", "Node"),
        options.topology_labels,
        ledger,
    )


def numa_of(objects: Objects, ledger: Ledger) -> NumaReports:
    return numa_reports(
        objects.of("topology.node.k8s.io", "NodeResourceTopology"),
        objects.of("nodeinfo.volcano.sh", "Numatopology"),
        ledger,
    )


def nodes_of(objects: Objects, world: World, shares: bool) -> list[Node]:
    """Return the nodes with what others say about them: devices, what is attached there, cells.

    ``shares`` says whether any pod shares devices, or says which it holds.
    """
    drivers = node_drivers(objects, world.storage)
    shard = world.options.shard
    return world.charges.with_devices(
        replace(
            n,
            drivers={**n.drivers, **drivers.get(n.name, {}), **world.storage.local.on(n.labels)},
            numa=world.numa.nodes.get(n.name),
            elsewhere=shard is not None and not shard.matches(n.labels),
        )
        for n in world.cards.nodes(shares)
    )


def owners_of(objects: Objects) -> Owners:
    return Owners(
        objects.owners + [t for group, kind in OWNER_KINDS for t in objects.of(group, kind)]
    )


def drafts_of(objects: Objects, ledger: Ledger) -> list[Draft]:
    """Return the groups that objects declare."""
    declared = [t for api in DIALECT_OF_API for t in objects.of(api, "PodGroup")]
    return drafted([*declared, *objects.of("scheduling.k8s.io", "Workload")], ledger)


def drafted(things: Iterable[Thing], ledger: Ledger) -> list[Draft]:
    """Return the groups that PodGroups and Workloads declare; bad ones are rejected."""
    out: list[Draft] = []
    for thing in things:
        if thing.kind == "Workload":
            out += workload_drafts(thing)
        elif (draft := draft_of(thing, ledger)) is not None:
            out.append(draft)
    return out


def queue_names_of(objects: Objects, world: World) -> QueueNames:
    """Return who knows the queue of every group."""
    elastic = [t for api in _ELASTIC for t in objects.of(api, "ElasticQuota")]
    local: list[tuple[str, str, str]] = []
    stopped: list[tuple[str, str]] = []
    for t in objects.of("kueue.x-k8s.io", "LocalQueue"):
        spec = t.body.spec or LocalQueueSpec()
        local.append((t.namespace, t.name, spec.cluster_queue or t.name))
        if spec.stop_policy in ("Hold", "HoldAndDrain"):
            stopped.append((t.namespace, t.name))
    return QueueNames(world, elastic, local, world.options.queues_from, stopped)


def all_queues(objects: Objects, world: World) -> list[Queue]:
    """Return the queues of all dialects, ``default`` among them."""
    return queues_of(_queues(objects, world), world.ledger)


def _queues(objects: Objects, world: World) -> list[QueueDraft]:
    ledger = world.ledger
    if world.options.queues_from == "kueue":
        return kueue_queues(
            objects.of("kueue.x-k8s.io", "ClusterQueue"),
            objects.of("kueue.x-k8s.io", "Cohort"),
            world.surroundings,
            ledger,
        )
    volcano = [(t, volcano_queue(t, ledger)) for t in objects.of("scheduling.volcano.sh", "Queue")]
    out: list[QueueDraft | None] = []
    out += with_paths(((t, d) for t, d in volcano if d is not None), ledger)
    out += [kai_queue(t, ledger) for t in objects.of("scheduling.run.ai", "Queue")]
    elastic = [t for api in _ELASTIC for t in objects.of(api, "ElasticQuota")]
    keys = {t.labels.get(KOORDINATOR_NAME) or t.name: t.key for t in elastic}
    out += [elastic_quota(t, keys, ledger) for t in elastic]
    return [d for d in out if d is not None]


def quotas_of(objects: Objects, ledger: Ledger) -> list[ResourceQuota]:
    quotas = (quota_of(t, ledger) for t in objects.of("", "ResourceQuota"))
    return [q for q in quotas if q is not None]
