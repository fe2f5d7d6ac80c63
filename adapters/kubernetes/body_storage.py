"""The shapes of storage objects: claims, volumes, classes, drivers, capacities."""

from typing import Any

from .body_rare import Quantity
from .shape import Outside


class Resources(Outside):
    """What a claim asks for."""

    requests: dict[str, Quantity] | None = None


class ClaimSpec(Outside):
    """``spec`` of a PersistentVolumeClaim, or of a generic ephemeral volume's template."""

    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    volume_name: str | None = None
    volume_mode: str | None = None
    resources: Resources | None = None
    selector: Any = None


class Phase(Outside):
    """``status`` of a claim or volume."""

    phase: str | None = None


class VolumeClaim(Outside):
    """A PersistentVolumeClaim without its head."""

    spec: ClaimSpec | None = None
    status: Phase | None = None


class VolumeAffinity(Outside):
    """``nodeAffinity`` of a PersistentVolume; the node selector is read apart."""

    required: Any = None


class Source(Outside):
    """The CSI volume behind a PersistentVolume."""

    driver: str = ""


class ClaimRef(Outside):
    """Whose a PersistentVolume is."""

    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class VolumeSpec(Outside):
    """``spec`` of a PersistentVolume."""

    capacity: dict[str, Quantity] | None = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    node_affinity: VolumeAffinity | None = None
    claim_ref: ClaimRef | None = None
    csi: Source | None = None
    aws_elastic_block_store: Any = None
    gce_persistent_disk: Any = None
    azure_disk: Any = None
    cinder: Any = None
    vsphere_volume: Any = None


class PersistentVolume(Outside):
    """A PersistentVolume without its head."""

    spec: VolumeSpec | None = None
    status: Phase | None = None


class TopologyExpression(Outside):
    """A label of nodes and the values that are allowed."""

    key: str
    values: list[str] | None = None


class TopologyTerm(Outside):
    """One of ``allowedTopologies``."""

    match_label_expressions: list[TopologyExpression] | None = None


class StorageClass(Outside):
    """A StorageClass; its fields stand beside the head."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class NodeDriverCount(Outside):
    """How many volumes a driver attaches."""

    count: int | None = None


class NodeDriver(Outside):
    """A CSI driver of a node."""

    name: str
    topology_keys: list[str] | None = None
    allocatable: NodeDriverCount | None = None


class NodeDrivers(Outside):
    """``spec`` of a CSINode."""

    drivers: list[NodeDriver] | None = None


class CsiNode(Outside):
    """A CSINode without its head; its name is the node's."""

    spec: NodeDrivers | None = None


class DriverSpec(Outside):
    """``spec`` of a CSIDriver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None


class CsiDriver(Outside):
    """A CSIDriver without its head."""

    spec: DriverSpec | None = None


class StorageCapacity(Outside):
    """A CSIStorageCapacity; its fields stand beside the head."""

    storage_class_name: str = ""
    node_topology: Any = None
    capacity: Quantity = None
    maximum_volume_size: Quantity = None


class AttachmentSource(Outside):
    """What is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Outside):
    """``spec`` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource | None = None


class Attachment(Outside):
    """A VolumeAttachment without its head."""

    spec: AttachmentSpec | None = None
