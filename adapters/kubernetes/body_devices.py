"""The shapes of device objects: slices, classes, claims (resource.k8s.io/v1, and v1beta1)."""

from typing import Any

from pydantic import Field

from .body_rare import Natural, Quantity
from .shape import Outside


class Attribute(Outside):
    """One value of a device, in one of four types."""

    int_: int | None = Field(default=None, alias="int")
    bool_: bool | None = Field(default=None, alias="bool")
    string: str | None = None
    version: str | None = None


class Value(Outside):
    """An amount."""

    value: Quantity = None


class Range(Outside):
    """Amounts that may be asked for: from ``min`` on, in steps, up to ``max``."""

    min: Quantity = None
    max: Quantity = None
    step: Quantity = None


class RequestPolicy(Outside):
    """How much of a capacity one allocation takes."""

    default: Quantity = None
    valid_values: list[Quantity] | None = None
    valid_range: Range | None = None


class Capacity(Value):
    """A capacity of a device."""

    request_policy: RequestPolicy | None = None


class CounterUse(Outside):
    """What a device takes of a set of counters."""

    counter_set: str
    counters: dict[str, Value] = Field(default_factory=dict)


class CounterSet(Outside):
    """Counters that devices of a pool share."""

    name: str
    counters: dict[str, Value] = Field(default_factory=dict)


class Taint(Outside):
    """A mark on a device that requests must tolerate."""

    key: str = ""
    value: str = ""
    effect: str = ""


class TaintedDevices(Outside):
    """Which devices a rule taints; what it does not name may be any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    device_class_name: str | None = None
    selectors: list[Any] | None = None


class TaintRuleSpec(Outside):
    """``spec`` of a DeviceTaintRule."""

    device_selector: TaintedDevices | None = None
    taint: Taint


class TaintRule(Outside):
    """A DeviceTaintRule without its head."""

    spec: TaintRuleSpec


class Toleration(Outside):
    """Which marks a request bears."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class DeviceBody(Outside):
    """A device of a slice; v1beta1 has the most of it under ``basic``."""

    name: str
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    allow_multiple_allocations: bool | None = None
    consumes_counters: list[CounterUse] | None = None
    node_name: str | None = None
    node_selector: Any = None
    all_nodes: bool | None = None
    taints: list[Taint] | None = None
    basic: Any = None


class Pool(Outside):
    """Which pool a slice is a part of."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Outside):
    """``spec`` of a ResourceSlice."""

    driver: str
    pool: Pool
    node_name: str | None = None
    node_selector: Any = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[DeviceBody] | None = None
    shared_counters: list[CounterSet] | None = None


class Slice(Outside):
    """A ResourceSlice without its head."""

    spec: SliceSpec


class Cel(Outside):
    """An expression."""

    expression: str = ""


class SelectorBody(Outside):
    """One selector."""

    cel: Cel | None = None


class ClassSpec(Outside):
    """``spec`` of a DeviceClass."""

    selectors: list[SelectorBody] | None = None
    extended_resource_name: str | None = None


class DeviceClass(Outside):
    """A DeviceClass without its head."""

    spec: ClassSpec | None = None


class CapacityAsked(Outside):
    """How much of the capacities of each device is wanted."""

    requests: dict[str, Quantity] | None = None


class Exactly(Outside):
    """So many devices of a class."""

    device_class_name: str = ""
    selectors: list[SelectorBody] | None = None
    allocation_mode: str | None = None
    count: Natural | None = None
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityAsked | None = None


class SubRequest(Exactly):
    """One of several alternatives."""

    name: str


class Request(Exactly):
    """A request of a claim; v1beta1 has its class beside its name."""

    name: str
    exactly: Exactly | None = None
    first_available: list[SubRequest] | None = None


class Constraint(Outside):
    """What has to be equal, or different, between devices."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class Devices(Outside):
    """What is asked for."""

    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None


class ClaimSpec(Outside):
    """``spec`` of a ResourceClaim."""

    devices: Devices | None = None


class Result(Outside):
    """One device of an allocation."""

    request: str = ""
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None
    consumed_capacity: dict[str, Quantity] | None = None


class Results(Outside):
    """The devices of an allocation."""

    results: list[Result] | None = None


class AllocationBody(Outside):
    """What a claim has."""

    devices: Results | None = None
    node_selector: Any = None


class ClaimStatus(Outside):
    """``status`` of a ResourceClaim."""

    allocation: AllocationBody | None = None


class Claim(Outside):
    """A ResourceClaim without its head."""

    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


class TemplateSpec(Outside):
    """``spec`` of a ResourceClaimTemplate."""

    spec: ClaimSpec | None = None


class Template(Outside):
    """A ResourceClaimTemplate without its head."""

    spec: TemplateSpec | None = None
