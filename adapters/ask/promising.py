"""Where more nodes would help, and first: in the domains that lack least."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np

from ...models import Node, Pod, Snapshot
from ...models.edit import edited
from ...models.edit_nodes import HOSTNAME
from ...models.edits import AddNodes
from ...policies.ledger import copies_by_room
from ...policies.members import Members
from ...policies.outcome import Outcome
from ...policies.podset import PodSet
from ...policies.standing import standing_of

MOST_NODES = 1000
"""So many nodes are added at most."""


def most_promising(outcome: Outcome, m: Members, wanted: Sequence[Pod]) -> list[Node]:
    """Return the nodes, of a group that has to share a domain those first where most pods fit.

    Pods are taken to be like the first that is wanted, and counted node by node.
    """
    scene = outcome.scene
    levels = [b.required for b in scene.bonds.of_group(m.key) if b.required is not None]
    if not levels or not wanted:
        return list(scene.nodes)
    row, numbers = scene.row(wanted[0]), levels[0].numbers
    fits = copies_by_room(outcome.room, row, scene.mask(wanted[0]))
    by_domain = np.zeros(len(levels[0].domains) + 1, dtype=np.int64)
    np.add.at(by_domain, numbers, fits)  # the last is of nodes in no domain
    by_domain[-1] = -1
    order = np.argsort(-by_domain[numbers], kind="stable")
    return [scene.nodes[i] for i in order.tolist()]


def models_that_help(outcome: Outcome, m: Members, wanted: Sequence[Pod]) -> Iterator[Node]:
    """Yield a node of each model that would take some pod that is wanted, were it empty.

    Models are told apart by how many of the pods they hold, and by what the pods look at.
    """
    seen: set[object] = set()
    bound = bool(outcome.scene.bonds.of_group(m.key))
    for n in most_promising(outcome, m, wanted):
        kind = (n.taints, n.devices, _labels_seen(n, wanted, bound), _held_by(n, wanted))
        if kind in seen:
            continue
        seen.add(kind)
        (new,) = edited(Snapshot(nodes=(n,)), [AddNodes(n.name)]).nodes[1:]
        for p in wanted:
            refused = (f.refuse(PodSet((p,)), new) for f in outcome.scene.filters)
            if p.footprint.fits(new.allocatable) and not any(refused):
                yield n
                break


def nodes_for_all(outcome: Outcome, m: Members, model: Node, wanted: Sequence[Pod]) -> int:
    """Return how many nodes of a model hold the pods wanted and all else that waits.

    Of others only those that could run, where the group could: no others come before it then.
    One for each pod that is wanted, as it may have to be alone; where even that many do not help,
    more hardly do. At most 1,000.
    """
    mine, could = {p.key for p in wanted}, standing_of(outcome.scene).could_run
    others = Counter(
        p.footprint
        for other in outcome.scene.roster.values()
        if could[other.key] or not could[m.key]
        for p in other.pending
        if p.key not in outcome.places and p.key not in mine
    )
    held = {f: min(model.allocatable[r] // v for r, v in f.items() if v) for f in others}
    beside = ceil(sum(n / held[f] for f, n in others.items() if held[f]))
    return min(MOST_NODES, max(1, len(wanted)) + beside)


def _labels_seen(n: Node, wanted: Sequence[Pod], bound: bool) -> object:
    """Return the node's labels, without those that nothing looks at where that is certain."""
    specs = {p.spec for p in wanted}
    looks = any(s.sees_pods or s.node_affinity or s.volumes or s.claims for s in specs)
    if bound or looks:
        return tuple(sorted(of for of in n.labels.items() if of[0] != HOSTNAME))
    return tuple(sorted({(k, n.labels.get(k)) for s in specs for k, _ in s.node_selector}))


def _held_by(n: Node, wanted: Sequence[Pod]) -> object:
    """Return how many pods of each kind the empty node holds."""
    kinds = {id(p.spec): p.footprint for p in wanted}
    return tuple(
        min((n.allocatable[r] // v for r, v in need.items() if v), default=0)
        for need in kinds.values()
    )
