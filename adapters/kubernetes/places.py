"""Where a pod may go: everything in its spec that speaks about place, as one PodSpec."""

from collections.abc import Mapping

from ...models import (
    HostPort,
    LabelSelector,
    NodeSelectorTerm,
    PodSpec,
    PodTerm,
    SpreadConstraint,
    Toleration,
)
from .body_pod import (
    AffinityBody,
    ContainerBody,
    NodeAffinityBody,
    PodBody,
    PodSpecBody,
    PodTermBody,
    SelectorBody,
    SpreadBody,
    TolerationBody,
    WeightedPodTermBody,
)
from .faults import Faults
from .resources import Defaults, requests_of
from .selectors import label_selector, node_term, with_label_keys
from .shape import text_map

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Surroundings:
    """What a pod's affinity needs to know of the cluster: its namespaces with their labels."""

    def __init__(self, labels_by_namespace: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels_by_namespace

    def matching(self, selector: LabelSelector) -> frozenset[str] | None:
        """Return the namespaces that the selector selects; None: all there may ever be."""
        if not selector.requirements:
            return None
        return frozenset(n for n, labels in self._labels.items() if selector.matches(labels))


def pod_spec(
    pod: PodBody,
    namespace: str,
    labels: Mapping[str, str],
    around: Surroundings,
    defaults: Defaults | None,
    faults: Faults,
) -> PodSpec:
    """Return requests and placement wishes; only meaningful when no fault was added."""
    spec = pod.spec or PodSpecBody()
    affinity = spec.affinity or AffinityBody()
    nodes = affinity.node_affinity or NodeAffinityBody()
    terms = _Terms(namespace, labels, around, faults)
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    near_path, apart_path = "spec.affinity.podAffinity", "spec.affinity.podAntiAffinity"
    return PodSpec(
        requests=requests_of(pod, defaults, faults),
        node_selector=tuple(sorted(text_map(spec.node_selector).items())),
        node_affinity=_required_nodes(nodes, faults),
        preferred_nodes=_preferred_nodes(nodes, faults),
        tolerations=_tolerations(spec.tolerations, faults),
        host_ports=_host_ports(spec, faults),
        affinity=terms.required(near.required if near else None, near_path),
        anti_affinity=terms.required(apart.required if apart else None, apart_path),
        preferred_affinity=terms.preferred(near.preferred if near else None, near_path),
        preferred_anti_affinity=terms.preferred(apart.preferred if apart else None, apart_path),
        spread=_spread(spec.topology_spread_constraints, labels, faults),
    )


def _required_nodes(nodes: NodeAffinityBody, faults: Faults) -> tuple[NodeSelectorTerm, ...] | None:
    if nodes.required is None:
        return None
    path = (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms"
    )
    terms = nodes.required.node_selector_terms or ()
    return tuple(node_term(t, f"{path}[{i}]", faults) for i, t in enumerate(terms))


def _preferred_nodes(
    nodes: NodeAffinityBody, faults: Faults
) -> tuple[tuple[int, NodeSelectorTerm], ...]:
    path = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    out = []
    for i, wish in enumerate(nodes.preferred or ()):
        if wish.preference is not None:
            term = node_term(wish.preference, f"{path}[{i}].preference", faults)
            out.append((_weight(wish.weight, f"{path}[{i}]", faults), term))
    return tuple(out)


def _weight(weight: int | None, path: str, faults: Faults) -> int:
    if weight is None or not 1 <= weight <= 100:
        faults.add(f"{path}.weight", f"must be 1 to 100, got {weight}")
        return 1
    return weight


class _Terms:
    """Reads the terms of pod affinity of one pod."""

    def __init__(
        self, namespace: str, labels: Mapping[str, str], around: Surroundings, faults: Faults
    ) -> None:
        self._namespace = namespace
        self._labels = labels
        self._around = around
        self._faults = faults

    def required(self, bodies: list[PodTermBody] | None, path: str) -> tuple[PodTerm, ...]:
        path += ".requiredDuringSchedulingIgnoredDuringExecution"
        return tuple(self._term(b, f"{path}[{i}]") for i, b in enumerate(bodies or ()))

    def preferred(
        self, bodies: list[WeightedPodTermBody] | None, path: str
    ) -> tuple[tuple[int, PodTerm], ...]:
        path += ".preferredDuringSchedulingIgnoredDuringExecution"
        return tuple(
            (
                _weight(b.weight, f"{path}[{i}]", self._faults),
                self._term(b.pod_affinity_term or PodTermBody(), f"{path}[{i}].podAffinityTerm"),
            )
            for i, b in enumerate(bodies or ())
        )

    def _term(self, body: PodTermBody, path: str) -> PodTerm:
        if not body.topology_key:
            self._faults.add(f"{path}.topologyKey", "is missing; write a label key of nodes")
        selector = label_selector(body.label_selector, f"{path}.labelSelector", self._faults)
        selector = with_label_keys(
            selector, self._labels, body.match_label_keys, body.mismatch_label_keys
        )
        namespaces = self._namespaces(body, path)
        return PodTerm(body.topology_key or "", selector, namespaces)

    def _namespaces(self, body: PodTermBody, path: str) -> frozenset[str] | None:
        named = frozenset(body.namespaces or ())
        if body.namespace_selector is None:
            return named or frozenset((self._namespace,))
        selector = label_selector(
            body.namespace_selector, f"{path}.namespaceSelector", self._faults
        )
        matching = self._around.matching(selector or LabelSelector())
        return None if matching is None else named | matching


def _tolerations(bodies: list[TolerationBody] | None, faults: Faults) -> tuple[Toleration, ...]:
    out = []
    for i, body in enumerate(bodies or ()):
        path = f"spec.tolerations[{i}]"
        operator = body.operator or "Equal"
        if operator not in ("Equal", "Exists", "Lt", "Gt"):
            faults.add(f"{path}.operator", f"{operator!r} is no operator; write Equal or Exists")
        if not body.key and operator != "Exists":
            faults.add(f"{path}.operator", "must be Exists where no key is given")
        if body.effect and body.effect not in _EFFECTS:
            faults.add(f"{path}.effect", f"{body.effect!r} is no effect; write {_EFFECTS}")
        out.append(Toleration(body.key or "", operator, body.value or "", body.effect or ""))
    return tuple(sorted(set(out)))


def _host_ports(spec: PodSpecBody, faults: Faults) -> tuple[HostPort, ...]:
    out: set[HostPort] = set()
    sidecars = [
        (f"spec.initContainers[{i}]", c)
        for i, c in enumerate(spec.init_containers or ())
        if c.restart_policy == "Always"
    ]
    apps = [(f"spec.containers[{i}]", c) for i, c in enumerate(spec.containers or ())]
    for path, container in apps + sidecars:
        out |= _ports_of(container, bool(spec.host_network), path, faults)
    return tuple(sorted(out))


def _ports_of(
    container: ContainerBody, host_network: bool, path: str, faults: Faults
) -> set[HostPort]:
    out = set()
    for j, p in enumerate(container.ports or ()):
        port = p.host_port or (p.container_port if host_network else 0) or 0
        if not 0 <= port <= 65535:
            faults.add(f"{path}.ports[{j}].hostPort", f"must be 0 to 65535, got {port}")
        elif port:
            out.add(HostPort(port, p.protocol or "TCP", p.host_ip or "0.0.0.0"))
    return out


def _spread(
    bodies: list[SpreadBody] | None, labels: Mapping[str, str], faults: Faults
) -> tuple[SpreadConstraint, ...]:
    out = []
    for i, body in enumerate(bodies or ()):
        path = f"spec.topologySpreadConstraints[{i}]"
        _check_spread(body, path, faults)
        selector = label_selector(body.label_selector, f"{path}.labelSelector", faults)
        out.append(
            SpreadConstraint(
                max_skew=body.max_skew or 1,
                topology_key=body.topology_key or "",
                hard=body.when_unsatisfiable != "ScheduleAnyway",
                selector=with_label_keys(selector, labels, body.match_label_keys),
                min_domains=body.min_domains or 1,
                honor_affinity=body.node_affinity_policy != "Ignore",
                honor_taints=body.node_taints_policy == "Honor",
            )
        )
    return tuple(out)


def _check_spread(body: SpreadBody, path: str, faults: Faults) -> None:
    if body.max_skew is None or body.max_skew < 1:
        faults.add(f"{path}.maxSkew", f"must be at least 1, got {body.max_skew}")
    if not body.topology_key:
        faults.add(f"{path}.topologyKey", "is missing; write a label key of nodes")
    if body.when_unsatisfiable not in (None, "", "DoNotSchedule", "ScheduleAnyway"):
        faults.add(
            f"{path}.whenUnsatisfiable",
            f"{body.when_unsatisfiable!r} is unknown; write DoNotSchedule or ScheduleAnyway",
        )
    if body.min_domains is not None and body.min_domains < 1:
        faults.add(f"{path}.minDomains", f"must be at least 1, got {body.min_domains}")
    for key, policy in (
        ("nodeAffinityPolicy", body.node_affinity_policy),
        ("nodeTaintsPolicy", body.node_taints_policy),
    ):
        if policy not in (None, "", "Honor", "Ignore"):
            faults.add(f"{path}.{key}", f"{policy!r} is unknown; write Honor or Ignore")


def selects_own_labels(spec: PodSpecBody) -> bool:
    """Say whether the placement wishes read the pod's own labels or namespace."""
    return spec.affinity is not None or bool(spec.topology_spread_constraints)


__all__ = ["SelectorBody", "Surroundings", "pod_spec", "selects_own_labels"]
