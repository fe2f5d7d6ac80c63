"""The shape of a Node's spec and status."""

from .body_pod import ConditionBody, Quantities
from .shape import Hot


class TaintBody(Hot):
    """One taint."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSpecBody(Hot):
    """``spec`` of a Node."""

    unschedulable: bool | None = None
    taints: list[TaintBody] | None = None


class NodeStatusBody(Hot):
    """``status`` of a Node."""

    allocatable: Quantities | None = None
    capacity: Quantities | None = None
    conditions: list[ConditionBody] | None = None


class NodeBody(Hot):
    """A Node without its head."""

    spec: NodeSpecBody | None = None
    status: NodeStatusBody | None = None
