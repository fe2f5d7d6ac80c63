"""The shape of a Pod's spec and status: the fields that scheduling reads."""

from typing import Annotated, Any

import msgspec

from .shape import Hot

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Quantities = dict[str, str | int | float | None]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class ResourcesBody(Hot):
    """Requests and limits of a container or of a pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class PortBody(Hot):
    """One port of a container."""

    host_port: Int32 | None = None
    container_port: Int32 | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class ContainerBody(Hot):
    """One container; ``restartPolicy: Always`` makes an init container a sidecar."""

    name: str | None = None
    resources: ResourcesBody | None = None
    ports: list[PortBody] | None = None
    restart_policy: str | None = None


class ExpressionBody(Hot):
    """One expression of a selector."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class SelectorBody(Hot):
    """A label selector."""

    match_labels: dict[str, str | None] | None = None
    match_expressions: list[ExpressionBody] | None = None


class NodeTermBody(Hot):
    """One term of a node selector."""

    match_expressions: list[ExpressionBody] | None = None
    match_fields: list[ExpressionBody] | None = None


class NodeSelectorBody(Hot):
    """Terms, any of which suffices."""

    node_selector_terms: list[NodeTermBody] | None = None


class PreferredNodeBody(Hot):
    """A weighted term."""

    weight: Int32 | None = None
    preference: NodeTermBody | None = None


class NodeAffinityBody(Hot):
    """Which nodes a pod must and would like to have."""

    required: NodeSelectorBody | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[PreferredNodeBody] | None = msgspec.field(default=None, name=_PREFERRED)


class PodTermBody(Hot):
    """One term of pod affinity."""

    label_selector: SelectorBody | None = None
    namespaces: list[str] | None = None
    namespace_selector: SelectorBody | None = None
    topology_key: str | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodTermBody(Hot):
    """A weighted term of pod affinity."""

    weight: Int32 | None = None
    pod_affinity_term: PodTermBody | None = None


class PodAffinityBody(Hot):
    """Which pods a pod must and would like to be with."""

    required: list[PodTermBody] | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[WeightedPodTermBody] | None = msgspec.field(default=None, name=_PREFERRED)


class AffinityBody(Hot):
    """All three kinds of affinity."""

    node_affinity: NodeAffinityBody | None = None
    pod_affinity: PodAffinityBody | None = None
    pod_anti_affinity: PodAffinityBody | None = None


class TolerationBody(Hot):
    """One toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SpreadBody(Hot):
    """One topology spread constraint."""

    max_skew: Int32 | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: SelectorBody | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class NamedBody(Hot):
    """Something with a name."""

    name: str | None = None


class VolumeBody(Hot):
    """A volume, as far as it is a claim or a disk that a CSI driver attaches."""

    name: str | None = None
    persistent_volume_claim: Any = None
    ephemeral: Any = None
    aws_elastic_block_store: Any = None
    gce_persistent_disk: Any = None
    azure_disk: Any = None
    cinder: Any = None
    vsphere_volume: Any = None


class ResourceClaimBody(Hot):
    """A device claim of a pod; in its status: which object was made for it."""

    name: str | None = None
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroupBody(Hot):
    """Which PodGroup of Kubernetes 1.36 and later the pod belongs to."""

    pod_group_name: str | None = None


class WorkloadRefBody(Hot):
    """Which pod group of a Workload of Kubernetes 1.35 the pod belongs to."""

    name: str | None = None
    pod_group: str | None = None
    pod_group_replica_key: str | None = None


class PodSpecBody(Hot):
    """``spec`` of a Pod."""

    containers: list[ContainerBody] | None = None
    init_containers: list[ContainerBody] | None = None
    overhead: Quantities | None = None
    resources: ResourcesBody | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    active_deadline_seconds: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: dict[str, str | None] | None = None
    affinity: AffinityBody | None = None
    tolerations: list[TolerationBody] | None = None
    topology_spread_constraints: list[SpreadBody] | None = None
    host_network: bool | None = None
    scheduling_gates: list[NamedBody] | None = None
    scheduling_group: SchedulingGroupBody | None = None
    workload_ref: WorkloadRefBody | None = None
    resource_claims: list[ResourceClaimBody] | None = None
    volumes: list[VolumeBody] | None = None


class ConditionBody(Hot):
    """One condition of a status."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    last_transition_time: str | None = None


class ContainerStatusBody(Hot):
    """What a container was given; differs from its spec while it is resized."""

    name: str | None = None
    resources: ResourcesBody | None = None
    allocated_resources: Quantities | None = None


class ExtendedClaimBody(Hot):
    """Which claim serves the extended resources of the pod."""

    resource_claim_name: str | None = None


class PodStatusBody(Hot):
    """``status`` of a Pod."""

    phase: str | None = None
    reason: str | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    conditions: list[ConditionBody] | None = None
    container_statuses: list[ContainerStatusBody] | None = None
    init_container_statuses: list[ContainerStatusBody] | None = None
    resources: ResourcesBody | None = None
    allocated_resources: Quantities | None = None
    resize: str | None = None
    resource_claim_statuses: list[ResourceClaimBody] | None = None
    extended_resource_claim_status: ExtendedClaimBody | None = None


class PodBody(Hot):
    """A Pod without its head."""

    spec: PodSpecBody | None = None
    status: PodStatusBody | None = None
