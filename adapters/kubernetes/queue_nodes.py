"""Which nodes the work of a queue may go to: flavors of Kueue, node groups of Volcano.

A workload of Kueue runs on nodes with the labels of a flavor of its ClusterQueue, and bears that
flavor's taints; work of a Volcano Queue runs in the node groups that its affinity names, or that
of the nearest queue above that has one. Both are put into the pods' specs as further node affinity,
as if their owner had written it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from msgspec.structs import replace

from ...models import NodeSelectorTerm, PodSpec, Requirement, Toleration
from ..paths import below
from .body_queue import KueueQueue, KueueSpec, ResourceFlavorSpec, VolcanoQueue
from .faults import Ledger
from .meta import Thing

NODE_GROUP = "volcano.sh/nodegroup-name"
GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OF_REQUIRED, _OF_PREFERRED, _OF_NOT_AVOIDED = 100, 50, 1
"""What a place in such a group is worth to a pod, beside its own wishes of 1 to 100."""
_MOST_KEPT = 10_000
"""Specs that are remembered at most, so that a long life does not fill the memory."""
Terms = tuple[NodeSelectorTerm, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Where one queue's work may go."""

    choices: tuple[Terms, ...] = ()
    """Of each choice one term must hold."""
    tolerations: tuple[Toleration, ...] = ()
    wishes: tuple[tuple[int, NodeSelectorTerm], ...] = ()


@dataclass(slots=True)
class QueueNodes:
    """Where the work of queues may go; those that are not in it may use any node."""

    places: Mapping[str, Places] = field(default_factory=dict)
    _made: dict[tuple[int, str], tuple[PodSpec, PodSpec]] = field(default_factory=dict)

    def narrowed(self, spec: PodSpec, queue: str) -> PodSpec:
        """Return the spec of a pod in that queue; equal ones stay one object."""
        found = self.places.get(queue)
        if found is None:
            return spec
        memo = (id(spec), queue)
        if memo not in self._made:
            if len(self._made) >= _MOST_KEPT:
                self._made.clear()
            self._made[memo] = (spec, _narrowed(spec, found))
        return self._made[memo][1]


def _narrowed(spec: PodSpec, places: Places) -> PodSpec:
    choices = places.choices
    if places.wishes:
        spec = replace(spec, preferred_nodes=(*spec.preferred_nodes, *places.wishes))
    if spec.node_affinity is not None:
        choices = (spec.node_affinity, *choices)
    terms = [
        NodeSelectorTerm(
            tuple(sorted({r for t in chosen for r in t.labels})),
            tuple(sorted({r for t in chosen for r in t.fields})),
        )
        for chosen in product(*choices)
        if all(t.labels or t.fields for t in chosen)
    ]
    return replace(
        spec,
        node_affinity=tuple(sorted(set(terms))) if choices else None,
        tolerations=tuple(sorted({*spec.tolerations, *places.tolerations})),
    )


def places_of_kueue(
    queues: Iterable[Thing], flavors: Iterable[Thing], ledger: Ledger
) -> dict[str, Places]:
    """Return where ClusterQueues' work goes; a flavor without labels may be any node."""
    known = {t.name: t.body.spec or ResourceFlavorSpec() for t in flavors}
    out: dict[str, Places] = {}
    for thing in queues:
        body: KueueQueue = thing.body
        choices: list[Terms] = []
        bears: set[Toleration] = set()
        for group in (body.spec or KueueSpec()).resource_groups or ():
            named = [f.name for f in group.flavors or ()]
            for name in named:
                if name not in known and known:
                    said = (
                        f"ResourceFlavor {name} is not in the input, so any node may be its; add it"
                    )
                    ledger.warn_once(thing.title, "spec.resourceGroups", said)
            specs = [known.get(name, ResourceFlavorSpec()) for name in named]
            bears |= {
                Toleration(t.key, t.operator or "Equal", t.value, t.effect)
                for s in specs
                for t in s.tolerations or ()
            }
            if specs and all(s.node_labels for s in specs):
                choices.append(
                    tuple(
                        NodeSelectorTerm(
                            tuple(sorted(Requirement(k, "In", (v,)) for k, v in labels.items()))
                        )
                        for s in specs
                        if (labels := s.node_labels)
                    )
                )
        if choices or bears:
            out[thing.name] = Places(tuple(choices), tuple(sorted(bears)))
    return out


def places_of_volcano(queues: Iterable[Thing], ledger: Ledger) -> dict[str, Places]:
    """Return where Volcano Queues' work goes by the node groups that they ask for."""
    things = {t.name: t for t in queues}
    out: dict[str, Places] = {}
    for name, thing in things.items():
        if GROUP_LIMITS in thing.annotations:
            path = below("metadata.annotations", GROUP_LIMITS)
            ledger.warn(thing.title, path, "is not used yet")
        found = _places(_affinity(thing, things))
        if found is not None:
            out[name] = found
    return out


def _affinity(thing: Thing | None, things: Mapping[str, Thing]) -> Mapping[str, Any]:
    """Return what the queue asks for, else the nearest one above that asks for something."""
    seen: set[str] = set()
    while thing is not None and thing.name not in seen:
        body: VolcanoQueue = thing.body
        affinity: Any = body.spec.affinity if body.spec is not None else None
        if isinstance(affinity, dict):
            return affinity
        seen.add(thing.name)
        thing = things.get((body.spec.parent if body.spec is not None else None) or "")
    return {}


def _places(affinity: Mapping[str, Any]) -> Places | None:
    """Return the nodes of the groups; those that are preferred may be used, as in Volcano.

    Among them required ones are wished for before preferred ones, and what is rather avoided last.
    """

    def names(key: str, how: str) -> set[str]:
        part = affinity.get(key)
        found = part.get(how) if isinstance(part, dict) else None
        return set(map(str, found)) if isinstance(found, list) else set()

    required, preferred = (names("nodeGroupAffinity", h) for h in (_REQUIRED, _PREFERRED))
    refused, avoided = (names("nodeGroupAntiAffinity", h) for h in (_REQUIRED, _PREFERRED))
    allowed: NodeSelectorTerm | None
    if required or preferred:
        left = ((required | preferred) - refused) | avoided
        allowed = _in("In", left) or NodeSelectorTerm(())  # which no node matches
    else:
        allowed = _in("NotIn", refused - avoided)
    first, second = required - avoided, preferred - avoided
    wishes = (
        (_OF_REQUIRED, _in("In", first if second else ())),
        (_OF_PREFERRED, _in("In", second)),
        (_OF_NOT_AVOIDED, _in("NotIn", avoided)),
    )
    granted = tuple((w, t) for w, t in wishes if t is not None)
    if allowed is None and not granted:
        return None
    return Places(((allowed,),) if allowed is not None else (), wishes=granted)


def _in(operator: str, names: Iterable[str]) -> NodeSelectorTerm | None:
    listed = tuple(sorted(names))
    return NodeSelectorTerm((Requirement(NODE_GROUP, operator, listed),)) if listed else None
