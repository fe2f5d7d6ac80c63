"""The shapes of what node agents publish about NUMA cells."""

from pydantic import Field

from .body_rare import Natural, Quantity
from .shape import Outside


class ZoneResource(Outside):
    """One resource of a zone."""

    name: str
    capacity: Quantity = None
    allocatable: Quantity = None
    available: Quantity = None


class Zone(Outside):
    """One zone of a NodeResourceTopology."""

    name: str
    type: str | None = None
    resources: list[ZoneResource] | None = None


class Attribute(Outside):
    """A name and a value."""

    name: str
    value: str


class NodeResourceTopology(Outside):
    """A NodeResourceTopology; its fields stand beside the head, not in a spec."""

    topology_policies: list[str] | None = None
    attributes: list[Attribute] | None = None
    zones: list[Zone] | None = None


class NumaResource(Outside):
    """What Volcano's exporter says of one resource: which CPUs are free."""

    allocatable: str | None = None
    capacity: Natural | None = None


class CpuDetail(Outside):
    """Where a CPU lies."""

    numa: Natural = 0
    socket: Natural = 0
    core: Natural = 0


class ContainerAllocation(Outside):
    """What a container was given."""

    name: str | None = None
    allocations: dict[str, str] | None = None


class PodAllocation(Outside):
    """What a pod was given."""

    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    container_allocations: list[ContainerAllocation] | None = None


class NumatopologySpec(Outside):
    """``spec`` of a Numatopology."""

    policies: dict[str, str] | None = None
    res_reserved: dict[str, Quantity] | None = None
    numares: dict[str, NumaResource] | None = None
    cpu_detail: dict[str, CpuDetail] | None = None
    pod_allocations: list[PodAllocation] | None = None


class Numatopology(Outside):
    """A Numatopology of Volcano without its head."""

    spec: NumatopologySpec | None = Field(default=None)
