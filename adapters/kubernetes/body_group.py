"""The shape of a PodGroup, of whichever dialect; each fills its own fields."""

from typing import Annotated, Any

import msgspec

from .body_pod import ConditionBody, Int32, Quantities, SelectorBody
from .shape import Hot

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class NetworkTopologyBody(Hot):
    """Volcano: how near to each other the pods must be."""

    mode: str | None = None
    highest_tier_allowed: Int32 | None = None
    highest_tier_name: str | None = None


class SubGroupPolicyBody(Hot):
    """Volcano: a part of the group that is a gang of its own."""

    name: str | None = None
    label_selector: SelectorBody | None = None
    match_label_keys: list[str] | None = None
    sub_group_size: Count | None = None
    min_sub_groups: Count | None = None
    network_topology: NetworkTopologyBody | None = None


class TopologyConstraintBody(Hot):
    """KAI: levels of a topology that the pods must or would like to share."""

    topology: str | None = None
    required_topology_level: str | None = None
    preferred_topology_level: str | None = None


class SubGroupBody(Hot):
    """KAI: a named part of the group with its own minimum."""

    name: str | None = None
    min_member: Count | None = None
    min_sub_group: Count | None = None
    parent: str | None = None
    topology_constraint: TopologyConstraintBody | None = None


class GangBody(Hot):
    """Upstream: all or nothing."""

    min_count: Count | None = None


class PolicyBody(Hot):
    """Upstream: gang or basic."""

    gang: GangBody | None = None
    basic: Any = None


class TopologyKeyBody(Hot):
    """Upstream: one label that the nodes of all pods must share."""

    key: str | None = None


class ConstraintsBody(Hot):
    """Upstream: topology keys that the pods must share."""

    topology: list[TopologyKeyBody] | None = None


class GroupSpecBody(Hot):
    """``spec`` of a PodGroup."""

    min_member: Count | None = None
    min_task_member: dict[str, Count] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    min_resources: Quantities | None = None
    network_topology: NetworkTopologyBody | None = None
    sub_group_policy: list[SubGroupPolicyBody] | None = None
    preemptibility: str | None = None
    sub_groups: list[SubGroupBody] | None = None
    min_sub_group: Count | None = None
    preemption_delay: Any = None
    staleness_grace_period: Any = None
    topology_constraint: TopologyConstraintBody | None = None
    scheduling_policy: PolicyBody | None = None
    scheduling_constraints: ConstraintsBody | None = None
    priority: Int32 | None = None


class GroupConditionBody(ConditionBody):
    """One condition of a PodGroup."""

    message: str | None = None
    transition_id: str | None = msgspec.field(default=None, name="transitionID")


class GroupStatusBody(Hot):
    """``status`` of a PodGroup."""

    phase: str | None = None
    conditions: list[GroupConditionBody] | None = None
    running: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None


class GroupBody(Hot):
    """A PodGroup without its head."""

    spec: GroupSpecBody | None = None
    status: GroupStatusBody | None = None


class WorkloadGroupBody(Hot):
    """One pod group of a Workload (Kubernetes 1.35)."""

    name: str | None = None
    policy: PolicyBody | None = None


class WorkloadSpecBody(Hot):
    """``spec`` of a Workload; its templates (1.36 and later) matter through their PodGroups."""

    pod_groups: list[WorkloadGroupBody] | None = None


class WorkloadBody(Hot):
    """A Workload without its head."""

    spec: WorkloadSpecBody | None = None
