"""Which nodes the work of a queue may go to: flavors of Kueue, node groups of Volcano.

A workload of Kueue runs on nodes with the labels of a flavor of its ClusterQueue, and bears that
flavor's taints; work of a Volcano Queue runs in the node groups that its affinity names. Both are
put into the pods' specs as further node affinity, as if their owner had written it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from msgspec.structs import replace

from ...models import NodeSelectorTerm, PodSpec, Requirement, Toleration
from .body_queue import KueueQueue, KueueSpec, ResourceFlavorSpec, VolcanoQueue
from .faults import Ledger
from .meta import Thing

NODE_GROUP = "volcano.sh/nodegroup-name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_KEPT = 10_000
"""Specs that are remembered at most, so that a long life does not fill the memory."""
Terms = tuple[NodeSelectorTerm, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Where one queue's work may go."""

    choices: tuple[Terms, ...] = ()
    """Of each choice one term must hold."""
    tolerations: tuple[Toleration, ...] = ()


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
    """Return where Volcano Queues' work goes by the node groups that they require."""
    out: dict[str, Places] = {}
    for thing in queues:
        body: VolcanoQueue = thing.body
        affinity: Any = body.spec.affinity if body.spec is not None else None
        if not isinstance(affinity, dict):
            continue
        wanted: list[Requirement] = []
        for key, operator in (("nodeGroupAffinity", "In"), ("nodeGroupAntiAffinity", "NotIn")):
            part = affinity.get(key)
            names = part.get(_REQUIRED) if isinstance(part, dict) else None
            if isinstance(names, list) and names:
                wanted.append(Requirement(NODE_GROUP, operator, tuple(sorted(map(str, names)))))
            if isinstance(part, dict) and part.get(_PREFERRED):
                ledger.warn(thing.title, f"spec.affinity.{key}.{_PREFERRED}", "is not used yet")
        if wanted:
            out[thing.name] = Places((((NodeSelectorTerm(tuple(wanted))),),))
    return out
