"""Where volumes are, and where a class can make them, as terms of node selectors."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...models import NodeSelectorTerm, Requirement
from ...models.quantity import parse
from . import body_storage as body
from .body_pod import NodeSelectorBody, SelectorBody
from .faults import Faults, Ledger
from .meta import Thing
from .selectors import label_selector, node_term
from .shape import shaped

Terms = tuple[NodeSelectorTerm, ...]
Places = tuple[Terms, ...]
"""Of each tuple some term has to match."""

_ZONES = (
    ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
)


@dataclass(slots=True)
class Sites:
    """Volumes, capacities and drivers of the input, asked for places."""

    volumes: dict[str, Thing] = field(default_factory=dict)
    capacities: list[Thing] = field(default_factory=list)
    drivers: dict[str, Thing] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    _bound: dict[str, tuple[Places, str]] = field(default_factory=dict)

    def forget(self) -> None:
        """Find every volume's place anew, and tell again what is wrong with it."""
        self._bound.clear()

    def of_volume(self, thing: Thing) -> tuple[Places, str]:
        """Return where a volume can be used, and its driver."""
        if thing.name not in self._bound:
            spec = thing.body.spec or body.VolumeSpec()
            places = [*self._affinity(thing, spec), *_zones(thing)]
            self._bound[thing.name] = (tuple(places), spec.csi.driver if spec.csi else "")
        return self._bound[thing.name]

    def _affinity(self, thing: Thing, spec: body.VolumeSpec) -> Iterable[Any]:
        required = spec.node_affinity.required if spec.node_affinity else None
        if required is None:
            return
        path, faults = "spec.nodeAffinity.required", Faults()
        selector, found = shaped(required, NodeSelectorBody)
        faults.extend(found, under=path)
        bodies = (selector.node_selector_terms if selector else None) or ()
        terms = [node_term(t, f"{path}.nodeSelectorTerms[{i}]", faults)
                 for i, t in enumerate(bodies)]  # fmt: skip
        self.ledger.reject(thing.title, faults)
        yield () if faults else tuple(terms)

    def with_capacity(
        self, kind: str, driver: str, spec: body.ClaimSpec
    ) -> tuple[NodeSelectorTerm, ...] | None:
        """Return where the driver has room for the claim; None: anywhere, or it does not say."""
        thing = self.drivers.get(driver)
        if thing is None or not (thing.body.spec and thing.body.spec.storage_capacity):
            return None
        size, terms = size_of(spec), []
        for t in self.capacities:
            told: body.StorageCapacity = t.body
            most = told.maximum_volume_size if told.maximum_volume_size is not None else (
                told.capacity
            )  # fmt: skip
            if told.storage_class_name != kind or most is None or parse(most, "storage") < size:
                continue
            faults = Faults()
            selector, found = shaped(told.node_topology, SelectorBody)
            faults.extend(found, under="nodeTopology")
            topology = label_selector(selector, "nodeTopology", faults)
            self.ledger.reject(t.title, faults)
            if topology is not None and not topology.requirements and told.node_topology == {}:
                return None
            if topology is not None and not faults:
                terms.append(NodeSelectorTerm(topology.requirements))
        return tuple(sorted(set(terms)))

    def ready_made(self, kind: str, spec: body.ClaimSpec) -> tuple[NodeSelectorTerm, ...] | None:
        """Return where free volumes of a class without provisioner are; None: anywhere."""
        terms: set[NodeSelectorTerm] = set()
        for thing in self.volumes.values():
            if self.suits(thing, kind, spec):
                places, _ = self.of_volume(thing)
                if not places:
                    return None
                terms.update(places[0])
        return tuple(sorted(terms))

    def suits(self, thing: Thing, kind: str, spec: body.ClaimSpec) -> bool:
        """Say whether a volume is free, of the class, and enough for the claim."""
        has: body.VolumeSpec = thing.body.spec or body.VolumeSpec()
        if not is_free(thing) or (has.storage_class_name or "") != kind:
            return False
        if (has.volume_mode or "Filesystem") != (spec.volume_mode or "Filesystem"):
            return False
        if not set(spec.access_modes or ()) <= set(has.access_modes or ()):
            return False
        selector = label_selector(
            shaped(spec.selector or {}, SelectorBody)[0], "spec.selector", Faults()
        )
        if selector is not None and not selector.matches(thing.labels):
            return False
        return size_of_volume(thing) >= size_of(spec)


def is_free(thing: Thing) -> bool:
    """Say whether a volume is there for whatever claim it suits."""
    phase = thing.body.status.phase if thing.body.status else None
    claimed = thing.body.spec is not None and thing.body.spec.claim_ref is not None
    return not claimed and phase in (None, "", "Available") and thing.deleted_s is None


def size_of(spec: body.ClaimSpec) -> int:
    asked = (spec.resources.requests if spec.resources else None) or {}
    return parse(asked.get("storage") or 0, "storage")


def size_of_volume(thing: Thing) -> int:
    has: body.VolumeSpec = thing.body.spec or body.VolumeSpec()
    return parse((has.capacity or {}).get("storage") or 0, "storage")


def topology_term(term: body.TopologyTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        tuple(
            sorted(
                Requirement(e.key, "In", tuple(sorted(set(e.values or ()))))
                for e in term.match_label_expressions or ()
            )
        )
    )


def _zones(thing: Thing) -> Iterable[tuple[NodeSelectorTerm, ...]]:
    """Zone labels of a volume hold for nodes that have any such label; ``a__b`` means a or b."""
    none = tuple(sorted(Requirement(k, "DoesNotExist") for keys in _ZONES for k in keys))
    for keys in _ZONES:
        value = next((thing.labels[k] for k in keys if k in thing.labels), "")
        if value:
            values = tuple(sorted(set(value.split("__"))))
            here = [NodeSelectorTerm((Requirement(k, "In", values),)) for k in keys]
            yield (*here, NodeSelectorTerm(none))
