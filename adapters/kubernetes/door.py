"""The door for Kubernetes objects: from documents to a snapshot."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from ...models import Node, Pod, PodKey, PodState, Snapshot, snapshot_of
from ..files import Document
from .budgets import budget_of
from .cards import names_devices
from .drafts import Draft
from .faults import Ledger
from .groups import Grouping, build, foreign_pods
from .manifests import Made, made_from_manifests
from .membership import Dialect
from .options import ReadOptions
from .owners import Owners
from .part_charges import with_parts_charged
from .parts import all_queues, drafts_of, nodes_of, owners_of, queue_names_of, quotas_of, world_of
from .pods import Candidate, candidates, scheduler_of
from .reader import Objects, read_objects
from .volcano_jobs import Expansion, expand
from .world import World


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
    world = world_of(objects, options, ledger)
    owners = owners_of(objects)
    drafts = drafts_of(objects, ledger)
    jobs = Expansion([], [], {}) if options.live else _expanded(objects, drafts, world)
    made = Made() if options.live else _made(objects, owners, world)
    pods = candidates([*objects.of("", "Pod"), *jobs.pods, *made.pods], world)
    shares = any(c.spec.share is not None or names_devices(c.thing) for c in pods)
    if shares:
        world.cards.cut(pods)
        pods = world.cards.note_groups(pods)
    grouping = Grouping([*drafts, *jobs.drafts], jobs.aliases, owners, ledger, options)
    members = grouping.place(pods)
    groups, ours = build(members, queue_names_of(objects, world), owners, world)
    fixed = foreign_pods(pods, world)
    nodes = nodes_of(objects, world, shares)
    if shares:
        ledger.take(world.cards.book)
    names: set[str] = {n.name for n in nodes}
    held = (p.node for p in (*ours, *fixed) if p.holds and p.node)
    warn_of_missing_nodes(Counter(n for n in held if n not in names), ledger)
    if not options.live:
        _warn_if_none_is_ours(pods, jobs.elsewhere + made.elsewhere, bool(groups), options, ledger)
        _warn_of_levels_without_nodes(nodes, options, ledger)
    things = {c.thing.key: c.thing for c in pods}
    known = [(things[p.key], p) for p in (*ours, *fixed)]
    budgets = (
        budget_of(t, known, owners, ledger) for t in objects.of("policy", "PodDisruptionBudget")
    )
    queues = all_queues(objects, world)
    nodes, all_pods = with_parts_charged(nodes, [*ours, *fixed], queues)
    return snapshot_of(
        taken_at_s=world.taken_at_s,
        nodes=nodes,
        pods=all_pods,
        groups=groups,
        queues=queues,
        budgets=[b for b in budgets if b is not None],
        namespaces=list(world.namespaces.values()),
        quotas=quotas_of(objects, ledger),
        topologies=world.topologies.used,
        claims=list(world.charges.claims.named.values()),
        nominations=_promises(ours, names),
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


def _made(objects: Objects, owners: Owners, world: World) -> Made:
    return made_from_manifests(objects, owners, world.options, world.taken_at_s, world.ledger)


def _promises(ours: Iterable[Pod], nodes: set[str]) -> list[tuple[PodKey, str]]:
    """Return the places that the cycle before promised our pods, on nodes that are still there."""
    return [
        (p.key, p.nominated)
        for p in ours
        if p.state is PodState.PENDING and p.nominated is not None and p.nominated in nodes
    ]


def warn_of_missing_nodes(missing: Mapping[str, int], ledger: Ledger) -> None:
    """Say which nodes are not there, and how many pods run on each."""
    for node, n in missing.items():
        ledger.warn(
            f"Node {node}", "", f"is not in the input, though {n} of the pods run on it; add it"
        )


def _warn_of_levels_without_nodes(
    nodes: Iterable[Node], options: ReadOptions, ledger: Ledger
) -> None:
    labels = [n.labels for n in nodes]
    for name in options.topology_labels if labels else ():
        if not any(name in of for of in labels):
            said = f"no node has the label {name} of --topology-labels, so it is no level"
            ledger.warn("Nodes", "metadata.labels", f"{said}; kubectl get nodes --show-labels")


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
