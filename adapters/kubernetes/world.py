"""What pods and groups are read against: priorities, namespaces, defaults, the moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...models import Namespace
from ..paths import below
from .body_pod import PodSpecBody
from .body_rare import LimitRange, PriorityClass
from .cards import Cards
from .device_charges import Charges
from .faults import Faults, Ledger
from .meta import Thing
from .numa import NumaReports
from .options import ReadOptions
from .places import Surroundings
from .queue_nodes import QueueNodes
from .resources import Defaults, amounts
from .storage import Storage
from .topologies import Topologies

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
WORKLOAD_CLASS = "kueue.x-k8s.io/priority-class"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"


@dataclass(frozen=True, slots=True)
class Priority:
    """A priority, and whether its bearer may evict others."""

    value: int = 0
    may_preempt: bool = True


class Priorities:
    """PriorityClasses by name, with the two that every cluster has."""

    def __init__(
        self, things: Iterable[Thing], ledger: Ledger, of_workloads: Iterable[Thing] = ()
    ) -> None:
        """``of_workloads`` are Kueue's WorkloadPriorityClasses."""
        self._of_workloads: dict[str, int] = {t.name: t.body.value for t in of_workloads}
        self._by_name = {name: Priority(value) for name, value in SYSTEM_CLASSES.items()}
        self._default = Priority()
        self._ledger = ledger
        defaults: list[tuple[int, str, Priority]] = []
        for thing in things:
            body: PriorityClass = thing.body
            priority = Priority(body.value, body.preemption_policy != "Never")
            self._by_name[thing.name] = priority
            if body.global_default:
                defaults.append((body.value, thing.name, priority))
        if defaults:
            self._default = min(defaults)[2]

    @property
    def default(self) -> Priority:
        """The global default, else 0."""
        return self._default

    def named(self, name: str, asker: str) -> Priority | None:
        """Return the class; None where there is none of that name, which is warned of once."""
        found = self._by_name.get(name)
        if found is None:
            self._ledger.warn_once(
                asker,
                "spec.priorityClassName",
                f"PriorityClass {name} is not in the input, so it counts for nothing; add it "
                "(kubectl get priorityclasses)",
            )
        return found

    def of_workload(self, things: Iterable[Thing]) -> int | None:
        """Return the priority of the class of Kueue that the first of them that names one names.

        None where none does. A class that is not in the input counts for nothing, and is warned of.
        """
        asker = next((t for t in things if t.labels.get(WORKLOAD_CLASS)), None)
        if asker is None:
            return None
        name = asker.labels[WORKLOAD_CLASS]
        if name not in self._of_workloads:
            said = f"WorkloadPriorityClass {name} is not in the input, so it counts for nothing"
            self._ledger.warn_once(asker.title, below("metadata.labels", WORKLOAD_CLASS), said)
        return self._of_workloads.get(name)

    def of_pod(self, spec: PodSpecBody, asker: str) -> Priority:
        """Return what the pod says, else its class, else the global default."""
        name = spec.priority_class_name
        named = None
        if name and (spec.priority is None or name in self._by_name):
            named = self.named(name, asker)
        base = named or self._default
        value = base.value if spec.priority is None else spec.priority
        may = base.may_preempt if named or spec.priority is None else True
        if spec.preemption_policy:
            may = spec.preemption_policy != "Never"
        return Priority(value, may)


@dataclass(slots=True)
class World:
    """Everything around a pod or a group while it is read."""

    options: ReadOptions
    ledger: Ledger
    taken_at_s: int
    priorities: Priorities
    namespaces: dict[str, Namespace]
    surroundings: Surroundings
    cards: Cards
    topologies: Topologies
    defaults: dict[str, Defaults] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    numa: NumaReports = field(default_factory=NumaReports)
    refusals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By owner, nodes whose kubelets have refused too many of its pods lately."""
    charges: Charges = field(default_factory=Charges)
    """With the device claims that it charges."""
    queue_nodes: QueueNodes = field(default_factory=QueueNodes)


def namespaces_of(things: Iterable[Thing]) -> dict[str, Namespace]:
    """Return the declared namespaces; each bears its own name as a label, as in every cluster."""
    return {
        t.name: Namespace(
            t.name,
            labels={"kubernetes.io/metadata.name": t.name, **t.labels},
            queue=t.annotations.get(QUEUE_ANNOTATION) or None,
        )
        for t in things
    }


def surroundings_of(declared: Mapping[str, Namespace], seen: Iterable[str]) -> Surroundings:
    """Return the labels of all namespaces; those without an object bear only their name."""
    labels = {n: {"kubernetes.io/metadata.name": n} for n in seen}
    labels.update({n: dict(ns.labels) for n, ns in declared.items()})
    return Surroundings(labels)


def defaults_of(things: Iterable[Thing], ledger: Ledger) -> dict[str, Defaults]:
    """Return what LimitRanges fill in for containers, by namespace."""
    parts: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for thing in sorted(things, key=lambda t: t.key):
        body: LimitRange = thing.body
        faults = Faults()
        requests, limits = parts.setdefault(thing.namespace, ({}, {}))
        for i, item in enumerate((body.spec.limits if body.spec else None) or ()):
            if item.type == "Container":
                at = f"spec.limits[{i}]"
                limits |= amounts(item.default, f"{at}.default", faults)
                requests |= amounts(item.default_request, f"{at}.defaultRequest", faults)
        ledger.reject(thing.title, faults)
    return {n: Defaults(requests, limits) for n, (requests, limits) in parts.items()}
